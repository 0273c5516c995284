// What the waves of a workgroup execute: prologue, n iterations of the kernel, epilogue, as one list of instances that
// all roles share. Roles differ in how many barriers they have passed at an instance (the stagger) and in the places
// that they touch. The validators read this, nothing else.
#pragma once
#include "warpwright/schedule/access.h"
#include "warpwright/schedule/entry.h"
#include "warpwright/schedule/target.h"

namespace warpwright::schedule {

inline constexpr int kMaxRoles = 2;

// How a kernel runs the phases of a schedule.
struct RunShape {
  int roles = 1;
  bool staggered = false;  // role 1 passes a barrier at warp_stagger_index, role 0 one at the end
  bool barrier_after_prologue = false;
  bool drain_before_epilogue = false;  // all counters to zero and a barrier
  bool barriers_fence = false;         // a barrier completes the accesses before it
};

struct Instance {
  OpDesc op = {};
  Phase phase = Phase::kernel;
  int iteration = 0;    // the kernel's iteration; 0 in the other phases
  int16_t source = -1;  // as in ScheduleEntry
  int16_t shift = 0;
};

// Which counter tells that an op is complete, and by how much the op raises it. Counter::none: the op is complete when
// it is issued. Where groups are counted, the commit is what raises the counter.
struct OpTicks {
  Counter counter = Counter::none;
  int count = 0;
};

// What a validator must know of the ops beside their order. The slots of accesses must be physical; a model may compute
// them from the iteration.
template <class M>
concept AccessModel = requires(const M& m, const Instance& i) {
  AccessList(m.accesses(i));
  OpTicks(m.ticks(i.op));
};

struct Trace {
  List<Instance> instances = {};
  int roles = 1;
  int stagger_at = -1;  // role 1 passes its extra barrier before this instance
  bool barriers_fence = false;

  // Barriers that a role has passed before an instance.
  constexpr List<int> barriers_before(int role) const {
    List<int> counts;
    int n = 0;
    for (int i = 0; i < int(instances.size()); ++i) {
      if (role == 1 && i == stagger_at) ++n;
      counts.push_back(n);
      n += instances[size_t(i)].op.is_barrier();
    }
    return counts;
  }
};

constexpr Trace make_trace(const Schedule& s, const RunShape& shape, int iterations) {
  Trace t;
  t.roles = shape.roles;
  t.barriers_fence = shape.barriers_fence;
  if (shape.staggered) t.stagger_at = s.warp_stagger_index;
  for (const ScheduleEntry& e : s.prologue) {
    t.instances.push_back({e.op, Phase::prologue, 0, e.source, e.shift});
  }
  if (shape.barrier_after_prologue) t.instances.push_back({OpDesc::barrier(), Phase::prologue, 0});
  for (int i = 0; i < iterations; ++i) {
    for (const ScheduleEntry& e : s.kernel) t.instances.push_back({e.op, Phase::kernel, i, e.source, e.shift});
  }
  if (shape.drain_before_epilogue) {
    for (const OpDesc& op : {OpDesc::wait_vm(0), OpDesc::wait_lgkm(0), OpDesc::barrier()}) {
      t.instances.push_back({op, Phase::epilogue, 0});
    }
  }
  for (const ScheduleEntry& e : s.epilogue) {
    t.instances.push_back({e.op, Phase::epilogue, 0, e.source, e.shift});
  }
  return t;
}

}  // namespace warpwright::schedule

// Roles that run programs of their own. Where copies have a warp to themselves, the two programs share nothing but
// rings of slots, each slot with two mbarriers. For each tile:
//
//   producer   empty.wait   full.arrive   copies
//   consumer   full.wait    MMAs          and, when they are known to be retired, empty.arrive
//
// A ring of S slots holds tile t in slot t mod S, and the slot's barriers are then in phase t / S. A barrier tells only
// the parity of its phase, so a wait for phase u asks for parity u mod 2. The producer waits for the phase before the
// one of its tile: a slot that was never filled counts as free, which is the other parity.
#pragma once
#include "warpwright/schedule/peel.h"

namespace warpwright::schedule {

struct PhaseRing {
  Name name = {};  // the name of its buffers
  uint8_t id = 0;
  int slots = 1;
  int full_arrivals = 1;   // the thread that issues the copies, which expects their bytes
  int64_t tile_bytes = 0;  // bytes that a full phase expects
  int empty_arrivals = 1;  // one for each copy of the consumer's program
  constexpr int phase_of(int tile) const { return tile / slots; }
  constexpr int slot_of(int tile) const { return tile % slots; }
};

struct RoleProgram {
  Name name = {};
  int copies = 1;  // how often it runs: one warp, or this many warpgroups
  KernelOrder order = {};
  Schedule schedule = {};
  List<Schedule> short_runs = {};  // schedules for 0 .. stages - 2 iterations
  Diagnostic error = {};

  constexpr int stages() const { return order.stages; }
  // -1: the run is short_runs[iterations].
  constexpr int kernel_iterations(int iterations) const {
    return iterations < stages() - 1 ? -1 : iterations - (stages() - 1);
  }
};

constexpr List<PhaseRing> phase_rings(const List<SharedBuffer>& buffers, const List<BufferDepth>& depths,
                                      int consumers) {
  List<PhaseRing> rings;
  for (const SharedBuffer& b : buffers) {
    PhaseRing* ring = nullptr;
    for (PhaseRing& r : rings)
      if (r.id == b.ring) ring = &r;
    if (ring == nullptr) {
      Access place;
      place.buffer = b.id;
      rings.push_back({.id = b.ring, .slots = depth_of(depths, place), .empty_arrivals = consumers});
      ring = &rings.back();
    }
    if (!ring->name.empty()) ring->name.add('+');
    ring->name.add(b.name.c_str());
    ring->tile_bytes += b.tile_bytes;
  }
  return rings;
}

constexpr bool in_ring(const List<SharedBuffer>& buffers, int ring, const Access& a) {
  if (a.space != Space::shared) return false;
  for (const SharedBuffer& b : buffers)
    if (b.id == a.buffer) return b.ring == ring;
  return false;
}

// The ops of one role with the waits and arrivals of its rings among them, each at a start of its own.
class RoleBody {
 public:
  constexpr RoleBody(const LoopBody& body, const Target& target, const List<int>& start,
                     const List<SharedBuffer>& buffers, const List<PhaseRing>& rings)
      : body_(body), target_(target), start_(start), buffers_(buffers), rings_(rings) {}

  constexpr RoleProgram producer(int interval) {
    for (const PhaseRing& r : rings_) {
      for (int tile = 0; tile < body_.tiles_per_iteration; ++tile) {
        const int first = first_touch(r.id, tile, true);
        if (first < 0) continue;
        add_phase(OpDesc::phase_wait(PhaseBarrier::empty, r.id, r.slots, 1), first, start_[size_t(first)]);
        add_phase(OpDesc::phase_arrive(PhaseBarrier::full, r.id, r.slots), first, start_[size_t(first)]);
        for (int i = 0; i < body_.size(); ++i)
          if (is_copy(i) && touches(i, r.id, tile)) add_op(i);
      }
    }
    return program("producer", interval);
  }

  // `deps`: what the consumer's ops require of each other. A slot is handed back when its last reader is known to be
  // done: after the MMAs that are issued then, and before anything that would keep the wave busy.
  constexpr RoleProgram consumer(int interval, const List<SyncDep>& deps) {
    for (int i = 0; i < body_.size(); ++i)
      if (!is_copy(i) && is_asynchronous(i)) add_with_waits(i);
    for (const PhaseRing& r : rings_) {
      for (int tile = 0; tile < body_.tiles_per_iteration; ++tile) add_release(r, tile);
    }
    for (int i = 0; i < body_.size(); ++i)
      if (!is_copy(i) && !is_asynchronous(i)) add_with_waits(i);
    for (const SyncDep& d : deps) {
      SyncDep mine = d;
      mine.producer = place_of(d.producer);
      mine.consumer = place_of(d.consumer);
      deps_.push_back(mine);
    }
    return program("consumer", interval);
  }

 private:
  constexpr bool is_copy(int i) const { return body_.ops[size_t(i)].op.role == OpRole::global_load; }
  constexpr bool is_asynchronous(int i) const {
    return target_.counter_of(body_.ops[size_t(i)].op.role) != Counter::none;
  }
  constexpr bool touches(int i, int ring, int tile) const {
    for (const Access& a : body_.ops[size_t(i)].accesses)
      if (in_ring(buffers_, ring, a) && a.tile == tile) return true;
    return false;
  }
  constexpr int first_touch(int ring, int tile, bool copies) const {
    int first = -1;
    for (int i = 0; i < body_.size(); ++i) {
      if (is_copy(i) != copies || !touches(i, ring, tile)) continue;
      if (first < 0 || start_[size_t(i)] < start_[size_t(first)]) first = i;
    }
    return first;
  }
  constexpr int place_of(int op) const {
    for (int x = 0; x < own_.size(); ++x)
      if (source_[size_t(x)] == op && own_.ops[size_t(x)].op.tag.is_data()) return x;
    return -1;
  }
  constexpr void add_op(int i) {
    own_.ops.push_back(body_.ops[size_t(i)]);
    source_.push_back(i);
    own_start_.push_back(start_[size_t(i)]);
  }
  constexpr void add_phase(const OpDesc& op, int source, int at) {
    OpNode n(op);
    n.ticks = 0;
    own_.ops.push_back(n);
    source_.push_back(source);
    own_start_.push_back(at);
  }
  constexpr void add_with_waits(int i) {
    for (const PhaseRing& r : rings_) {
      for (int tile = 0; tile < body_.tiles_per_iteration; ++tile) {
        if (first_touch(r.id, tile, false) != i) continue;
        add_phase(OpDesc::phase_wait(PhaseBarrier::full, r.id, r.slots), i, start_[size_t(i)]);
      }
    }
    add_op(i);
  }
  constexpr void add_release(const PhaseRing& r, int tile) {
    int last = -1, done = 0;
    for (int i = 0; i < body_.size(); ++i) {
      if (is_copy(i) || !touches(i, r.id, tile)) continue;
      const int at = start_[size_t(i)] + body_.ops[size_t(i)].latency;
      if (last < 0 || at >= done) last = i, done = at;
    }
    if (last < 0) return;
    const int release = own_.size();
    add_phase(OpDesc::phase_arrive(PhaseBarrier::empty, r.id, r.slots), last, done);
    for (int i = 0; i < body_.size(); ++i) {
      if (is_copy(i) || !touches(i, r.id, tile) || !is_asynchronous(i)) continue;
      deps_.push_back({place_of(i), release, 0, 0, DepKind::anti});
    }
  }

  constexpr RoleProgram program(const char* name, int interval) {
    RoleProgram p;
    p.name = name;
    own_.tiles_per_iteration = body_.tiles_per_iteration;
    p.order = kernel_order(own_start_, interval);
    Peeler peeler(own_, target_, p.order, deps_, {});
    Checked<Schedule> whole = peeler.schedule();
    p.schedule = static_cast<Schedule&&>(whole.value);
    p.error = whole.error;
    rename(p.schedule);
    for (int n = 0; n < peeler.peeled(); ++n) {
      Checked<Schedule> run = peeler.short_run(n);
      rename(run.value);
      p.short_runs.push_back(run.value);
      if (p.error.ok()) p.error = run.error;
    }
    return p;
  }
  // Entries name the op of the whole body that they stand for, or whose tile they wait for or hand over.
  constexpr void rename(Schedule& s) const {
    for (EntryList* list : {&s.prologue, &s.kernel, &s.epilogue}) {
      for (ScheduleEntry& e : *list)
        if (e.source >= 0) e.source = int16_t(source_[size_t(e.source)]);
    }
  }

  const LoopBody& body_;
  const Target& target_;
  const List<int>& start_;
  const List<SharedBuffer>& buffers_;
  const List<PhaseRing>& rings_;
  LoopBody own_ = {};
  List<int> own_start_ = {};
  List<int> source_ = {};  // for each of its ops the op of the body
  List<SyncDep> deps_ = {};
};

}  // namespace warpwright::schedule

// ScheduleEntry: an op at its place in a phase. Entries are in a List while they are made and in arrays,
// usable as template arguments, once they are frozen for a kernel.
#pragma once
#include "warpwright/schedule/cost.h"

namespace warpwright::schedule {

struct ScheduleEntry {
  OpDesc op = {};
  int time_slot = 0;  // ordinal in its phase
  Phase phase = Phase::kernel;
  bool is_prefetch = false;
  // In a modulo schedule: which op of the body this is (-1: made by the compiler), and the iteration of the body that
  // it belongs to: in the prologue counted from the first, in the kernel from the kernel's own, in the epilogue from
  // the number of iterations (so negative).
  int16_t source = -1;
  int16_t shift = 0;
  constexpr bool operator==(const ScheduleEntry&) const = default;
};
using EntryList = List<ScheduleEntry>;

constexpr void append(EntryList& list, const OpDesc& op, Phase phase, bool prefetch = false) {
  list.push_back({op, int(list.size()), phase, prefetch});
}

// Appends to an array of N. One entry too many is an error that stays.
template <int N, Phase P>
class EntryBuilder {
 public:
  constexpr void emit(const OpDesc& op, bool prefetch = false) {
    if (count_ < N) {
      entries_[size_t(count_)] = {op, count_, P, prefetch};
    } else if (error.ok()) {
      error = {.code = Code::entry_overflow, .a = op_name(op), .have = count_ + 1, .need = N, .phase = P};
    }
    ++count_;
  }
  constexpr void emit_if(const OpDesc& op, bool prefetch = false) {
    if (op.is_present()) emit(op, prefetch);
  }
  constexpr void emit_flag(const OpDesc& op, bool wanted) {
    if (wanted) emit(op);
  }
  constexpr int position() const { return count_ < N ? count_ : N; }
  constexpr const stdx::array<ScheduleEntry, size_t(N)>& entries() const { return entries_; }

  Diagnostic error = {};

 private:
  stdx::array<ScheduleEntry, size_t(N)> entries_ = {};
  int count_ = 0;
};

// N ops joined by >>; for short phases that are written down.
template <int N>
struct Pipe {
  stdx::array<OpDesc, size_t(N)> ops = {};

  constexpr Pipe<N + 1> operator>>(const OpDesc& op) const { return *this >> Pipe<1>{{op}}; }
  template <int M>
  constexpr Pipe<N + M> operator>>(const Pipe<M>& other) const {
    Pipe<N + M> joined;
    for (int i = 0; i < N; ++i) joined.ops[size_t(i)] = ops[size_t(i)];
    for (int i = 0; i < M; ++i) joined.ops[size_t(N + i)] = other.ops[size_t(i)];
    return joined;
  }
  template <Phase P>
  constexpr stdx::array<ScheduleEntry, size_t(N)> as_schedule(int offset = 0) const {
    stdx::array<ScheduleEntry, size_t(N)> out = {};
    for (int i = 0; i < N; ++i) out[size_t(i)] = {ops[size_t(i)], offset + i, P, false};
    return out;
  }
  template <int Room, Phase P>
  constexpr void emit_into(EntryBuilder<Room, P>& b) const {
    for (const OpDesc& op : ops) b.emit(op);
  }
};
constexpr Pipe<1> pipe(const OpDesc& op) { return {{op}}; }

struct WaitCounts {
  int vm = 0;
  int lgkm = 0;
  int combined = 0;  // a vm wait directly followed by an lgkm wait: one instruction
  int barrier = 0;
  int sched_barrier = 0;
  int set_prio = 0;
  int data = 0;
  constexpr bool operator==(const WaitCounts&) const = default;
};

constexpr WaitCounts count_waits(const EntryList& list) {
  WaitCounts c;
  for (size_t i = 0; i < list.size(); ++i) {
    const OpDesc& op = list[i].op;
    c.vm += op.is_wait_vm();
    c.lgkm += op.is_wait_lgkm();
    c.combined += op.is_wait_vm() && i + 1 < list.size() && list[i + 1].op.is_wait_lgkm();
    c.barrier += op.is_barrier();
    c.sched_barrier += op.tag == tags::schedule_barrier;
    c.set_prio += op.tag == tags::set_prio;
    c.data += op.tag.is_data();
  }
  return c;
}

// What a compiler of schedules hands to a kernel, and to the validators.
struct Schedule {
  EntryList prologue = {};
  EntryList kernel = {};
  EntryList epilogue = {};
  int warp_stagger_index = 0;  // prologue entries before the extra barrier of the trailing group
  constexpr bool operator==(const Schedule&) const = default;
};

template <size_t P, size_t K, size_t E>
struct FrozenSchedule {
  stdx::array<ScheduleEntry, P> prologue = {};
  stdx::array<ScheduleEntry, K> kernel = {};
  stdx::array<ScheduleEntry, E> epilogue = {};
  int warp_stagger_index = 0;
  constexpr bool operator==(const FrozenSchedule&) const = default;
};

// Make is a constexpr function without arguments that returns a Schedule (or what derives from one). Evaluated twice:
// once for the sizes, once for the entries.
template <auto Make>
consteval auto freeze() {
  struct Sizes {
    size_t p, k, e;
  };
  constexpr Sizes n = [] {
    const Schedule s = Make();
    return Sizes{s.prologue.size(), s.kernel.size(), s.epilogue.size()};
  }();
  const Schedule s = Make();
  FrozenSchedule<n.p, n.k, n.e> f;
  for (size_t i = 0; i < n.p; ++i) f.prologue[i] = s.prologue[i];
  for (size_t i = 0; i < n.k; ++i) f.kernel[i] = s.kernel[i];
  for (size_t i = 0; i < n.e; ++i) f.epilogue[i] = s.epilogue[i];
  f.warp_stagger_index = s.warp_stagger_index;
  return f;
}

}  // namespace warpwright::schedule

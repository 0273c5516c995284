// The schedule of an mma.sync GEMM as the kernel expands it: entries that are constants of the program, proven before
// they are used.
#pragma once
#include "warpwright/kernel/sm80/config.h"

namespace warpwright::inline WW_WORLD::kernel::sm80 {

// Configurations that differ only in types share a schedule.
template <MmaSyncSchedule C>
struct DenseSchedule {
  static constexpr int kRoom = 160;  // entries of a phase
  struct EntriesOfPhase {
    schedule::ScheduleEntry entries[kRoom] = {};
    int count = 0;
  };
  // All that the kernel needs, from one constant evaluation: it is the costly part of compiling a kernel.
  struct Compiled {
    EntriesOfPhase phases[3] = {};
    int depth = 1, peeled = 0;
    bool ok = false;
    constexpr const EntriesOfPhase& phase(schedule::Phase p) const { return phases[int(p)]; }
  };
  static constexpr Compiled make() {
    const schedule::Pipeline p = mma_sync_pipeline(C);
    Compiled c;
    c.ok = p.ok();
    if (!c.ok) return c;
    c.depth = p.depths[0].depth;
    c.peeled = p.stages() - 1;
    const schedule::EntryList* const lists[3] = {&p.schedule.prologue, &p.schedule.kernel, &p.schedule.epilogue};
    for (int i = 0; i < 3; ++i) {
      for (const schedule::ScheduleEntry& e : *lists[i]) {
        if (c.phases[i].count < kRoom) c.phases[i].entries[c.phases[i].count] = e;
        ++c.phases[i].count;
      }
      c.ok = c.ok && c.phases[i].count <= kRoom;
    }
    return c;
  }
  static constexpr Compiled compiled = make();
  static_assert(compiled.ok, "mma_sync_gemm: schedule::compile has no schedule for this configuration");

  static constexpr int depth = compiled.depth;
  // Iterations before the first whole one; a run has at least this many.
  static constexpr int peeled = compiled.peeled;

  // Each question in a constant evaluation of its own: together they exceed what nvcc evaluates at once.
  template <int Iterations, schedule::Question Q>
  static constexpr bool answered = schedule::verify(mma_sync_pipeline(C), Iterations, Q).empty();
  template <int Iterations>
  static constexpr bool proven() {
    using enum schedule::Question;
    return answered<Iterations, shared_memory> && answered<Iterations, registers> && answered<Iterations, versions> &&
           answered<Iterations, entries>;
  }
  // Without the loop, and so long that every slot is used again: a longer run repeats what this one does.
  static_assert(proven<peeled>(), "mma_sync_gemm: schedule::verify finds a hazard in the shortest run");
  static_assert(proven<peeled + depth + 1>(), "mma_sync_gemm: schedule::verify finds a hazard in the loop");

  static constexpr int count(schedule::Phase p) { return compiled.phase(p).count; }
  // Copies that come before the first wait: they need nothing but free slots.
  static constexpr int fill() {
    int n = 0;
    for (; n < count(schedule::Phase::prologue); ++n) {
      const schedule::OpDesc& op = compiled.phases[0].entries[n].op;
      if (op.is_wait() || op.is_barrier()) break;
    }
    return n;
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm80

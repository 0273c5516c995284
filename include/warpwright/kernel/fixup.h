// Adds the sums of clusters that share the depth of a tile: every part but the last leaves its sums in the workspace
// and moves on; the last one waits for them, adds them in the order of k and finishes the tile. Only a last part
// waits, and the order of the additions is fixed, so the result has the same bits in every run. Threads with the
// same place in their CTA hold the same elements, so a warp hands over to one warp and no barrier of the block is
// needed.
//   Fixup<F> fixup(args.workspace, tiles, rank, thread, job);   the last part waits here for the others
//   for each group of registers: fixup.exchange(values, first);  leaves them behind, or adds what the others left
//   fixup.finish();                                              tells the last part, or makes the counter zero again
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/fixup_config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"
#include "warpwright/tile/source.h"

namespace warpwright::inline WW_WORLD::kernel {

// By whole warps. `Registers` has get(i) and set(i, Value); whole numbers wrap around.
template <FixupConfig F, class Value = float>
class Fixup {
 public:
  static_assert(F.threads % 32 == 0, "fixup: sums are handed over by whole warps");
  static_assert(F.values % 4 == 0, "fixup: sums move four at a time");

  // `tiles` of the whole launch; `rank` of the CTA in its cluster, `thread` among those that hold sums.
  WW_FN Fixup(void* workspace, int64_t tiles, uint32_t rank, uint32_t thread, const tile::Job& job,
              machine::here at = {})
      : part_(job.part), parts_(job.parts) {
    if (parts_ == 1) return;
    auto* const bytes = static_cast<uint8_t*>(workspace);
    const int64_t counter = (int64_t(job.index) * F.ctas + rank) * F.warps() + thread / 32;
    counter_ = {reinterpret_cast<uint32_t*>(bytes) + counter};
    auto* const sums = reinterpret_cast<Value*>(bytes + F.counter_bytes(tiles));
    slots_ = {sums + (int64_t(job.slot) * F.ctas + rank) * F.cta_values() + int64_t(thread) * 4};
    if (last()) wait(at);
  }
  Fixup(const Fixup&) = delete;
  Fixup& operator=(const Fixup&) = delete;

  WW_FN bool last() const { return part_ + 1 == parts_; }

  // Registers 0 to Count of `values` are this thread's sums from `first` on.
  template <int Count, class Registers>
  WW_FN void exchange(Registers& values, int first, machine::here at = {}) const {
    static_assert(Count % 4 == 0, "fixup: sums move four at a time");
    if (parts_ == 1) return;
    if (last()) {
      take<Count>(values, first, at);
    } else {
      give<Count>(values, first, at);
    }
  }

  WW_FN void finish(machine::here at = {}) const {
    if (parts_ == 1) return;
    // One lane publishes the stores of its warp, or waits for those that the warp will load.
    machine::sync_warp(machine::kFullMask, at);
    if (machine::lane_index() != 0) return;
    if (last()) {
      machine::store(counter_, 0u, at);
    } else {
      machine::atomic_add<Order::release>(counter_, 1u, at);
    }
  }

 private:
  static_assert(sizeof(Value) == 4, "fixup: a sum has four bytes");
  using Four = Vec<Value, 4>;
  static constexpr int64_t kSlot = F.ctas * F.cta_values();

  WW_FN static Value sum_of(Value a, Value b) {
    if constexpr (stdx::is_same_v<Value, float>) {
      return tile::add(a, b);
    } else {
      return Value(uint32_t(a) + uint32_t(b));
    }
  }
  // Four values of each thread lie beside those of the next thread.
  WW_FN Global<Four> at_slot(int part, int first) const {
    return (slots_ + part * kSlot + int64_t(first) * F.threads).template as<Four>();
  }
  WW_FN void wait(machine::here at) const {
    if (machine::lane_index() == 0) {
      while (machine::load_acquire(counter_, at) != uint32_t(parts_ - 1)) {
      }
    }
    machine::sync_warp(machine::kFullMask, at);
  }
  template <int Count, class Registers>
  WW_FN void give(const Registers& values, int first, machine::here at) const {
    WW_UNROLL
    for (int i = 0; i < Count; i += 4) {
      machine::store(at_slot(part_, first + i),
                     Four{{values.get(i), values.get(i + 1), values.get(i + 2), values.get(i + 3)}}, at);
    }
  }
  template <int Count, class Registers>
  WW_FN void take(Registers& values, int first, machine::here at) const {
    // All values of one part are loaded together.
    Four sums[Count / 4];
    WW_UNROLL
    for (int i = 0; i < Count / 4; ++i) sums[i] = machine::load(at_slot(0, first + 4 * i), at);
    WW_ROLLED
    for (int part = 1; part < part_; ++part) {
      Four more[Count / 4];
      WW_UNROLL
      for (int i = 0; i < Count / 4; ++i) more[i] = machine::load(at_slot(part, first + 4 * i), at);
      WW_UNROLL
      for (int i = 0; i < Count; ++i) sums[i / 4][i % 4] = sum_of(sums[i / 4][i % 4], more[i / 4][i % 4]);
    }
    WW_UNROLL
    for (int i = 0; i < Count; ++i) values.set(i, sum_of(sums[i / 4][i % 4], values.get(i)));
  }

  int part_;
  int parts_;
  Global<uint32_t> counter_{};
  Global<Value> slots_{};
};

}  // namespace warpwright::inline WW_WORLD::kernel

// Scales on their way to the MMA warps: one warp copies them, block by block along k, into a ring of its own. They may
// lie anywhere: a copy takes four bytes.
#pragma once
#include "warpwright/kernel/config_grouped_sm90.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/pipeline/unroll.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// The copies of a thread arrive when they have landed.
struct PublishCopies {
  static constexpr bool expects_bytes = false;
  WW_FN static void acquired(machine::here) {}
  WW_FN static void publish(Shared<Mbarrier> full, machine::here at) {
    machine::cp_async_mbarrier_arrive_noinc(full, at);
  }
};
// Read by ordinary loads and written again by copies, which are ordinary accesses too: no fence between proxies.
struct ReleaseLoads {
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    machine::sync_warp(machine::kFullMask, at);
    if (machine::lane_index() == 0) machine::mbarrier_arrive(empty, 1, at);
  }
};

constexpr void declare_scales(Plan& plan, const ScaleRing& ring, int mma_warps) {
  plan.region("scales", ring.slot_bytes(), ring.slots, 16);
  plan.barrier("scales.full", ring.slots, 32, "mma", {"scales", 32});
  plan.barrier("scales.empty", ring.slots, mma_warps, "scales", {"mma", mma_warps});
}

// A matrix of scales: `lines` by blocks along k.
struct ScaleMatrix {
  Global<const float> at;
  int64_t stride = 0;
  int lines = 0;
};

template <ScaleRing R>
struct Scales {
  using Ring = pipeline::Ring<R.slots>;
  using Producer = pipeline::Producer<R.slots, PublishCopies>;
  using Consumer = pipeline::Consumer<R.slots, ReleaseLoads>;

  // Behind the lines of `many`.
  WW_FN static Shared<float> few_of(Shared<float> slot) { return slot + R.lines; }

  // By the whole warp: the scales of one product of depth `blocks` from block `first` on, both along k. Line i of the
  // slot is line many_first + i of `many`; what the matrix does not have is zero. few_line(i) gives the line of `few`
  // for the i-th of `few_count` in a slot, and is called for those only.
  template <class FewLine>
  WW_FN static void bring(Producer& ring, Shared<float> slots, const ScaleMatrix& many, int many_first,
                          const ScaleMatrix& few, int few_count, FewLine few_line, int first, int blocks) {
    const int lane = int(machine::lane_index());
    for (int k = first; k < first + blocks; ++k) {
      ring.produce([&](auto stage) {
        const Shared<float> slot = slots.plus_bytes(R.slot_bytes() * uint32_t(stage->index()));
        const Global<const float> from = many.at + ((many_first + lane) * many.stride + k);
        WW_UNROLL
        for (int i = 0; i < R.lines; i += 32) {
          if (R.lines % 32 != 0 && i + lane >= R.lines) break;
          const bool inside = many_first + i + lane < many.lines;
          machine::cp_async_4(slot + (i + lane), inside ? from + i * many.stride : many.at, inside);
        }
        for (int i = lane; i < few_count; i += 32) {
          const int of = few_line(i);
          const bool inside = of < few.lines;
          machine::cp_async_4(few_of(slot) + R.side_place(i), inside ? few.at + (of * few.stride + k) : few.at, inside);
        }
        return stdx::move(stage).release();
      });
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

// The scale factors of the second operand of an MMA with fewer than 64 columns. tcgen05.cp places the factors of whole
// 128 rows; here one warp brings the rows of the tile by TMA and four warps put them into tensor memory, each into its
// quarter of the lanes. A slot, in both memories, is free when the four warps have read it and the MMAs that use it are
// complete. Both say so: a commit vouches for MMAs, not for what threads have read.
//
//   sfb.full    bytes of the TMA                            -> the four warps
//   sfb.ready   their threads                               -> the MMA warp
//   sfb.empty   commit of the MMA warp, and the four warps  -> the warp that loads
#pragma once
#include "warpwright/kernel/sm100/dense/dense_gemm.h"
#include "warpwright/kernel/sm100/grouped/config.h"
#include "warpwright/tile/group_scheduler.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

namespace detail {
// What was read from shared memory is in tensor memory, where an MMA will read it; the next write to shared memory is
// the TMA's. `EmptyFrom`: where the barriers sfb.empty begin, counted from those of sfb.ready.
template <int32_t EmptyFrom>
struct HandOnScales {
  WW_FN static void acquired(machine::here at) { machine::tcgen05_fence_after(at); }
  WW_FN static void release(Shared<Mbarrier> ready, machine::here at) {
    machine::fence_proxy_async<ProxySpace::shared_cta>(at);
    machine::tcgen05_fence_before(at);
    machine::mbarrier_arrive(ready, 1, at);
    machine::sync_warp(machine::kFullMask, at);
    if (machine::lane_index() == 0) machine::mbarrier_arrive(ready.plus_bytes(uint32_t(EmptyFrom)), 1, at);
  }
};
// The TMA fills the slot. The warps that wait for its bytes will then write to tensor memory that MMAs have read: the
// loading thread, which knows that these are complete, passes that on.
struct PublishScales : pipeline::PublishByTma {
  WW_FN static void acquired(machine::here at) {
    machine::tcgen05_fence_after(at);
    machine::tcgen05_fence_before(at);
  }
};
// By the whole MMA warp.
struct FreeScales {
  WW_FN static void acquired(machine::here at) { machine::tcgen05_fence_after(at); }
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    if (machine::elect_one(at)) machine::tcgen05_commit<1>(empty, at);
  }
};
}  // namespace detail

// Adds the barriers and the slots to the block plan, after its roles.
constexpr void declare_sfb(BlockPlan& plan, const GroupedGemmSm100Config& c) {
  const int warps = tile::detail::role_warps(plan, "sfb_load"), writers = kWarpThreads * warps;
  plan.region("sfb", c.sfb_box().bytes(), c.stages, 128);
  plan.barrier("sfb.full", c.stages, 1, "sfb_load", {"sfb_tma_load", 1});
  plan.barrier("sfb.ready", c.stages, writers, "mma", {"sfb_load", writers});
  plan.barrier("sfb.empty", c.stages, 1 + warps, "sfb_tma_load", {"mma", 1}, {"sfb_load", warps});
  plan.named_barrier("sfb.allocated", writers + kWarpThreads * tile::detail::role_warps(plan, "mma"))
      .used_once("sfb.allocated");
}

// K is the kernel, C its configuration.
template <GroupedGemmSm100Config C, class K>
struct GroupedScales {
  static constexpr DenseGemmSm100Config kDense = C.dense();
  static constexpr int kStages = C.stages;
  using Scaled = BlockScaledMultiply<kDense>;
  using Loader = pipeline::Producer<kStages, detail::PublishScales>;
  static constexpr int32_t kEmptyFrom =
      int32_t(K::plan.barrier("sfb.empty").offset) - int32_t(K::plan.barrier("sfb.ready").offset);
  using Writer = pipeline::Consumer<kStages, detail::HandOnScales<kEmptyFrom>>;
  using Reader = pipeline::Consumer<kStages, detail::FreeScales>;

  WW_FN static Loader loader(uint32_t base) {
    return Loader(pipeline::ring_at<kStages>(base, offset_of_full(), offset_of_empty()));
  }
  WW_FN static Writer writer(uint32_t base) {
    return Writer(pipeline::ring_at<kStages>(base, offset_of_full(), offset_of_ready()));
  }
  WW_FN static Reader reader(uint32_t base) {
    return Reader(pipeline::ring_at<kStages>(base, offset_of_ready(), offset_of_empty()));
  }
  WW_FN static Shared<uint8_t> slot(uint32_t base, int stage) {
    constexpr uint32_t at = K::plan.region("sfb").offset, bytes = K::plan.region("sfb").stage_bytes;
    return {base + at + bytes * uint32_t(stage)};
  }
  static constexpr int kThreads = K::plan.named_barrier("sfb.allocated").threads;
  using Allocated = pipeline::WarpGroupBarrier<kThreads, K::plan.named_barrier("sfb.allocated").id>;

  // The whole warp.
  WW_FN static void load(const typename K::Args& args, uint32_t base, const KernelContext& self) {
    auto ring = loader(base);
    auto tiles = K::tiles(base);
    int group = -1;
    for (tile::GroupTile tile; tiles.next(tile);) {
      if (!self.elect_one_thread) continue;
      const auto maps = K::maps(args, tile);
      if (tile.group != group) K::acquire(maps);
      group = tile.group;
      const int row = K::second_scale_row(args, tile);
      for (int step = 0; step < K::k_steps(args, tile); ++step) {
        ring.produce([&](auto stage) {
          stage->expect_bytes(C.sfb_box().bytes());
          // Sixteen bytes hold the factors of rows r, r + 32, r + 64 and r + 96.
          machine::tma_load(slot(base, stage->index()), maps.b_scales,
                            machine::Coords<3>{{row % 32 * 4, step * kDense.scale_tiles(), row / kScaleTileRows}},
                            stage->full());
          return stdx::move(stage).release();
        });
      }
    }
  }

  // All threads of the four warps.
  WW_FN static void write(const typename K::Args& args, uint32_t base) {
    using Memory = typename K::MmaWarp::Tmem;
    [[maybe_unused]] const auto allocated = Allocated::wait();
    const Tmem memory = Memory::from_shared(warp::output_storage<K, K::output>(base).tmem_address).base();
    // A warp reaches the quarter of the lanes that its place in the block gives it.
    const Tmem quarter = memory.lane(kWarpThreads * (machine::warp_index() % kTmemWarps));
    const int lane = int(machine::lane_index());
    auto ring = writer(base);
    auto tiles = K::tiles(base);
    for (tile::GroupTile tile; tiles.next(tile);) {
      const uint32_t of_row = uint32_t(16 * lane + 4 * (K::second_scale_row(args, tile) % kScaleTileRows / 32));
      for (int step = 0; step < K::k_steps(args, tile); ++step) {
        ring.consume([&](auto stage) {
          const Tmem to = Scaled::b_scales(Scaled::scales(quarter, stage->index()));
          WW_UNROLL
          for (int i = 0; i < kDense.scale_tiles(); ++i) {
            machine::TmemRegisters<1> factors;
            factors.set(0, 0u);
            if (lane < C.tile_n) {
              const Shared<uint8_t> from = slot(base, stage->index()).plus_bytes(uint32_t(i * C.tile_n * 16) + of_row);
              factors.set(0, machine::load(from.template as<uint32_t>()));
            }
            machine::sync_warp();
            machine::tcgen05_st<machine::TmemShape::b32x32, 1>(to.column(uint32_t(i * kScaleTileTmemColumns)), factors);
          }
          machine::tcgen05_wait_st();
          return stdx::move(stage).release();
        });
      }
    }
  }

 private:
  static constexpr uint32_t offset_of_full() { return K::plan.barrier("sfb.full").offset; }
  static constexpr uint32_t offset_of_ready() { return K::plan.barrier("sfb.ready").offset; }
  static constexpr uint32_t offset_of_empty() { return K::plan.barrier("sfb.empty").offset; }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

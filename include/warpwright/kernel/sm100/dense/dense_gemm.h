// D = epilogue(A * B^T) on Blackwell. A load warp fills the input ring by TMA, each CTA its slice of what the cluster
// shares; the MMA warp of the leading CTA multiplies into one of several accumulators in tensor memory while four
// epilogue warps store the one before. With cta_group 2 a pair of CTAs is one such machine: the even CTA issues the
// MMAs, both load, both hold half of the rows and store them. Tails are the TMA's, which reads zeros beyond a matrix,
// and the epilogue's, which stores nothing there.
//
// Every role takes its jobs from walk(): tiles in the configured order, handed out by position in a persistent grid or
// by a scheduler warp, whole or in parts of their depth. One file for each role: dense_load.h, dense_multiply.h,
// dense_epilogue.h; tile/clc.h has the scheduler's.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/refusal.h"
#include "warpwright/kernel/sm100/dense/dense_epilogue.h"
#include "warpwright/kernel/sm100/dense/dense_load.h"
#include "warpwright/kernel/sm100/dense/dense_multiply.h"
#include "warpwright/kernel/sm100/input.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

WW_HD constexpr ClusterConfig cluster_of(const DenseGemmSm100Config& c) {
  return {c.cluster_m, c.cluster_n, c.cta_group};
}

// The smallest legal allocation that has this many columns of tensor memory.
WW_HD constexpr uint32_t allocation_of(int columns) {
  return OutputPipelineConfig{.num_stages = 1, .stage_stride_cols = columns}.allocated_columns();
}

struct DenseGemmDesign {
  BlockPlan plan;
  OutputPipelineConfig output;
};
constexpr DenseGemmDesign dense_gemm_design(const DenseGemmSm100Config& c) {
  BlockPlan plan("dense_gemm_sm100", Arch::sm100, c.cluster());
  // The roles are ordered as in warp::WarpRole. Warp i may read lanes 32 * (i % 4) and up, so four epilogue warps that
  // begin at a multiple of four cover all lanes.
  plan.role("epilogue", c.epilogue_warps);
  if (c.clc().scheduled()) plan.role("scheduler", 1);
  plan.role("load", 1).role("mma", 1);
  declare_epilogue_roles(plan, c);
  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_bytes() * uint32_t(c.k_group), c.stages, alignment);
  plan.region("input.b", c.b_bytes() * uint32_t(c.k_group), c.stages, alignment);
  if (c.scaled()) {
    plan.region("input.a_scales", c.a_scale_bytes() * uint32_t(c.k_group), c.stages, 128);
    plan.region("input.b_scales", c.b_scale_bytes() * uint32_t(c.k_group), c.stages, 128);
  }
  const int releases = cluster_of(c).input_empty_arrivals();
  plan.barrier("input.full", c.stages, 1, "mma", {"load", 1});
  plan.barrier("input.empty", c.stages, releases, "load", {"mma", releases});
  const OutputPipelineConfig output = declare_output(plan, {.num_stages = c.accumulators,
                                                            .stage_stride_cols = c.accumulator_columns(),
                                                            .cta_group = c.cta_group,
                                                            .tmem_columns = allocation_of(c.tmem_columns())});
  declare_epilogue_rings(plan, c);
  tile::add_clc(plan, c.clc(), "scheduler", "load", "mma", "epilogue", c.store_stages > 0 ? "store" : nullptr,
                c.epilogue_load_stages > 0 ? "epilogue_load" : nullptr);
  return {plan, output};
}

template <DenseGemmSm100Config C>
struct DenseGemm {
  static_assert(Refusal<refuse(C)>::none);

  using Epilogue = DenseEpilogue<C>;
  using Args = DenseGemmSm100Args;
  static constexpr BlockPlan plan = dense_gemm_design(C).plan;
  static constexpr OutputPipelineConfig output = dense_gemm_design(C).output;
  static_assert(plan.shared_memory_fits(), "dense_gemm: the stages of the rings exceed the shared memory of a CTA");

  using Load = DenseLoad<C>;
  using Multiply = DenseMultiply<C>;
  static constexpr TileBytes kTileBytes{.a = C.a_bytes(),
                                        .b = C.b_bytes(),
                                        .a_scales = C.scaled() ? C.a_scale_bytes() : 0,
                                        .b_scales = C.scaled() ? C.b_scale_bytes() : 0,
                                        .gaps = C.gap_bytes()};
  using Payload = typename PayloadOf<C.scaled(), kTileBytes>::type;
  using FreeInput = FreeInputOf<C>;
  using Input = pipeline::InputTilePipeline<Payload, C.stages, C.k_group, FreeInput>;
  static constexpr int kMmaThreads = plan.role("mma").threads(), kEpilogueThreads = plan.role("epilogue").threads();

  static constexpr const char* kBScales = "input.b_scales";
  WW_FN static pipeline::Ring<C.stages> input_ring(uint32_t base) { return input_ring_of<DenseGemm, C.stages>(base); }
  WW_FN static Payload payload(uint32_t base) { return payload_of<DenseGemm, C.scaled()>(base); }

  // The tiles of a raster are those of a whole cluster.
  WW_FN static auto raster(const Args& args) {
    const auto matrix =
        tile::raster_of<C.raster>(tile::ceil_div(C.rows(args.m, args.n), C.tile_m * C.cluster_m),
                                  tile::ceil_div(C.columns(args.m, args.n), C.tile_n * C.cluster_n), C.raster_group);
    if constexpr (C.batched) {
      return tile::Batched{matrix, args.batches};
    } else {
      return matrix;
    }
  }
  // The jobs of this cluster, the same for every role. `Signals`: set for the load role, which the scheduler follows.
  template <tile::Walker W, bool Signals = false>
  WW_FN static auto walk(const Args& args, [[maybe_unused]] uint32_t base) {
    const auto tiles = raster(args);
    using R = stdx::remove_const_t<decltype(tiles)>;
    const int depth = k_steps(args);
    if constexpr (C.split == DepthSplit::stream_k) {
      return tile::StreamTiles<R>(tiles, depth);
    } else if constexpr (C.split == DepthSplit::split_k) {
      return walk_over<W, Signals>(tile::SplitTiles<R>{tiles, {tiles.count(), depth, args.splits, 1}}, base);
    } else {
      return walk_over<W, Signals>(tile::WholeTiles<R>{tiles, depth}, base);
    }
  }
  template <tile::Walker W, bool Signals, class S>
  WW_FN static auto walk_over(S jobs, [[maybe_unused]] uint32_t base) {
    if constexpr (C.source == TileSource::clc) {
      return tile::ClcTiles<C.clc(), S, W, Signals>(jobs, tile::clc_at<DenseGemm, C.clc()>(base));
    } else {
      return tile::PersistentTilesOver<S>(jobs);
    }
  }
  WW_FN static int first_row(tile::TileCoord tile, const KernelContext& self) {
    return (tile.m * C.cluster_m + int(self.rank_m)) * C.tile_m;
  }
  WW_FN static int first_column(tile::TileCoord tile, const KernelContext& self) {
    return (tile.n * C.cluster_n + int(self.rank_n)) * C.tile_n;
  }
  // Stages that one tile of the result takes.
  WW_FN static int k_steps(const Args& args) { return C.steps(args.k); }

  WW_FN static void body(const Args& args) {
    check_block_plan<DenseGemm>();
    constexpr int load_warp = plan.role("load").first_warp, mma_warp = plan.role("mma").first_warp;
    constexpr bool has_scheduler = C.clc().scheduled();
    constexpr int scheduler_warp = plan.role("epilogue").warps;
    if constexpr (has_scheduler && C.epilogue_warps * kWarpThreads == warp::WarpRole::NUM_EPILOGUE_THREADS) {
      using Usual = warp::WarpRole;
      static_assert(scheduler_warp * kWarpThreads == Usual::SCHEDULER_WARP_START &&
                        load_warp * kWarpThreads == Usual::LOAD_WARP_START &&
                        mma_warp * kWarpThreads == Usual::MMA_WARP_START,
                    "dense_gemm: the roles stand as WarpRole has them");
    }
    const uint32_t base = machine::shared_base();
    const KernelContext self = warp::kernel_context<cluster_of(C)>();
    const int warp = int(machine::warp_uniform(self.warp));
    if (warp == load_warp && args.k > 0 && self.elect_one_thread) {
      machine::tma_prefetch_map(&args.a);
      machine::tma_prefetch_map(&args.b);
      if constexpr (C.scaled()) {
        machine::tma_prefetch_map(&args.a_scales);
        machine::tma_prefetch_map(&args.b_scales);
      }
    }
    pipeline::run_block<DenseGemm>(base, [&] {
      if (warp == load_warp) {
        if (self.elect_one_thread) Load::template run<DenseGemm>(args, base, self);
      } else if (warp == mma_warp) {
        Multiply::template run<DenseGemm>(args, base, self);
      } else if (has_scheduler && warp == scheduler_warp) {
        if (self.elect_one_thread) tile::run_clc_scheduler<C.clc()>(tile::clc_at<DenseGemm, C.clc()>(base));
      } else {
        Epilogue::template run<DenseGemm>(warp, args, base, self);
      }
    });
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

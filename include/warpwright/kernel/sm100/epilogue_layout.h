// Which thread of the epilogue has which results, and where the rings of the epilogue lie in shared memory. A
// warpgroup has its columns of a tile and, where the TMA moves matrices, its own rings, store warp and load warp.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/refusal.h"
#include "warpwright/epilogue/ops.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/raster.h"
#include "warpwright/warp/kernel_context.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// Adds the roles that serve the epilogue, after those of the kernel.
constexpr void declare_epilogue_roles(BlockPlan& plan, const DenseGemmSm100Config& c) {
  if (c.epilogue_load_stages > 0) plan.role("epilogue_load", c.epilogue_groups());
  if (c.store_stages > 0) plan.role("store", c.epilogue_groups());
}

// One stage of the ring `source`: the boxes of C, the residual and the bias, each once for either half of the columns.
struct SourceStage {
  uint32_t c = 0, residual = 0, bias = 0, up_bias = 0;  // where the boxes begin
  uint32_t stage_bytes = 0;
  uint32_t tma_bytes = 0;  // that arrive
  uint32_t bias_stride = 0;
};
WW_HD constexpr SourceStage source_stage(const DenseGemmSm100Config& c) {
  SourceStage s;
  const uint32_t halves = uint32_t(c.halves());
  const auto place = [&](bool is, uint32_t bytes, uint32_t stride, uint32_t& at) {
    at = s.stage_bytes;
    if (!is) return;
    s.stage_bytes += halves * stride;
    s.tma_bytes += halves * bytes;
  };
  s.bias_stride = (c.bias_box().bytes() + 127) / 128 * 128;
  place(c.epilogue.source, c.c_box().bytes(), c.c_box().bytes(), s.c);
  place(c.epilogue.residual, c.residual_box().bytes(), c.residual_box().bytes(), s.residual);
  place(c.loads_bias(), c.bias_box().bytes(), s.bias_stride, s.bias);
  place(c.loads_bias() && c.epilogue.pair(), c.bias_box().bytes(), s.bias_stride, s.up_bias);
  s.stage_bytes = (s.stage_bytes + 1023) / 1024 * 1024;
  return s;
}

// Adds the rings `output` and `source`, one of each for every warpgroup.
constexpr void declare_epilogue_rings(BlockPlan& plan, const DenseGemmSm100Config& c) {
  const int groups = c.epilogue_groups();
  constexpr int threads = kTmemLanes;  // of a warpgroup
  const uint32_t alignment = smem_alignment(Swizzle::b128);
  if (c.store_stages > 0) {
    plan.region("output", c.d_box().bytes() * uint32_t(c.halves()), c.store_stages * groups, alignment);
    plan.barrier("output.full", c.store_stages * groups, threads, "store", {"epilogue", threads});
    plan.barrier("output.empty", c.store_stages * groups, 1, "epilogue", {"store", 1});
  }
  if (c.epilogue_load_stages > 0) {
    plan.region("source", source_stage(c).stage_bytes, c.epilogue_load_stages * groups, alignment);
    plan.barrier("source.full", c.epilogue_load_stages * groups, 1, "epilogue", {"epilogue_load", 1});
    plan.barrier("source.empty", c.epilogue_load_stages * groups, kTmemWarps, "epilogue_load",
                 {"epilogue", kTmemWarps});
  }
}

template <DenseGemmSm100Config C>
struct EpilogueLayout {
  static constexpr EpilogueConfig epilogue_config() {
    EpilogueConfig e = C.epilogue;
    e.out = C.out_type;
    return e;
  }
  static constexpr EpilogueConfig kNodes = epilogue_config();
  static constexpr bool kStores = C.store_stages > 0, kLoads = C.epilogue_load_stages > 0;
  static constexpr int kHalves = C.halves();
  static constexpr int kWidth = C.group_columns();   // accumulators of a thread
  static constexpr int kColumns = C.step_columns();  // of one step
  static constexpr int kResults = C.step_results();  // of one step
  static constexpr int kSteps = kWidth / kColumns;
  static constexpr int kGroupResults = kSteps * kResults;

  static_assert(Refusal<refuse_epilogue(C)>::none);

  // Where a thread of the epilogue finds its results: one lane of tensor memory is one row of the tile.
  struct Share {
    uint32_t lanes;  // first lane of the warp
    int row;         // of this thread, in the CTA's part of the tile
    int group;       // its warpgroup
    int half;        // of the columns, where 64 rows lie in two halves of the lanes
    bool used;
    WW_FN uint32_t first_accumulator() const { return uint32_t(group * kWidth); }  // a column of tensor memory
    WW_FN int column() const { return first_column(group, half); }
  };
  // Coordinates in the tile of the result.
  WW_FN static int first_column(int group, int half) { return (half * C.epilogue_groups() + group) * kGroupResults; }
  // The epilogue has the first warps of the CTA.
  WW_FN static Share share() {
    const int warp = int(machine::warp_index()) % kTmemWarps, group = int(machine::warp_index()) / kTmemWarps;
    const int lane = int(machine::lane_index());
    const uint32_t lanes = uint32_t(warp) * kWarpThreads;
    if constexpr (C.tile_m == kTmemLanes) {
      return {lanes, warp * kWarpThreads + lane, group, 0, true};
    } else if constexpr (C.cta_group == 1) {
      return {lanes, warp * 16 + lane, group, 0, lane < 16};
    } else {
      return {lanes, warp % 2 * kWarpThreads + lane, group, warp / 2, true};
    }
  }

  template <class K, class Tile>
  WW_FN static int first_result_column(const Tile& tile, const KernelContext& self) {
    return K::first_column(tile, self) / C.operands();
  }
  // Where the TMA finds an element of a matrix.
  WW_FN static auto corner(int column, int row, [[maybe_unused]] int batch) {
    if constexpr (C.batched) {
      return machine::Coords<3>{{column, row, batch}};
    } else {
      return machine::Coords<2>{{column, row}};
    }
  }

  template <class K>
  WW_FN static pipeline::Ring<C.store_stages> output_ring(uint32_t base, int group) {
    constexpr uint32_t full = K::plan.barrier("output.full").offset, empty = K::plan.barrier("output.empty").offset;
    return pipeline::ring_at<C.store_stages>(base, full, empty, group * C.store_stages);
  }
  template <class K>
  WW_FN static Shared<uint8_t> output_stage(uint32_t base, int group, int stage) {
    constexpr uint32_t at = K::plan.region("output").offset, bytes = K::plan.region("output").stage_bytes;
    return {base + at + bytes * uint32_t(group * C.store_stages + stage)};
  }
  template <class K>
  WW_FN static pipeline::Ring<C.epilogue_load_stages> source_ring(uint32_t base, int group) {
    constexpr uint32_t full = K::plan.barrier("source.full").offset, empty = K::plan.barrier("source.empty").offset;
    return pipeline::ring_at<C.epilogue_load_stages>(base, full, empty, group * C.epilogue_load_stages);
  }
  template <class K>
  WW_FN static Shared<uint8_t> source_stage_at(uint32_t base, int group, int stage) {
    constexpr uint32_t at = K::plan.region("source").offset, bytes = K::plan.region("source").stage_bytes;
    return {base + at + bytes * uint32_t(group * C.epilogue_load_stages + stage)};
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

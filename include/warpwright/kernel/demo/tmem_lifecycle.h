// D = A * B^T on Blackwell, the life of tensor memory from allocation to free: the MMA warp allocates, publishes the
// address, fills two accumulators in turn and frees them after the epilogue warps have said that they are done. Written
// flat, from create to release; the other kernels have the scoped forms, which every compiler enforces.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/kernel/demo/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/convert.h"
#include "warpwright/tile/persistent.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/mma_warp.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

constexpr OutputPipelineConfig tmem_lifecycle_output(const TmemLifecycleConfig& c) {
  return {.num_stages = c.accumulators, .stage_stride_cols = c.tile_n};
}

constexpr BlockPlan tmem_lifecycle_plan(const TmemLifecycleConfig& c) {
  BlockPlan plan("tmem_lifecycle", Arch::sm100);
  warp::WarpRole1D1D<>::declare(plan, false);
  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_box().bytes(), c.stages, alignment);
  plan.region("input.b", c.b_box().bytes(), c.stages, alignment);
  plan.barrier("input.full", c.stages, 1, "mma", {"load", 1});
  plan.barrier("input.empty", c.stages, 1, "load", {"mma", 1});
  declare_output(plan, tmem_lifecycle_output(c));
  return plan;
}

template <TmemLifecycleConfig C>
struct TmemLifecycle {
  using Args = TmemLifecycleArgs;
  using InputRing = pipeline::Ring<C.stages>;
  static constexpr BlockPlan plan = tmem_lifecycle_plan(C);
  static constexpr OutputPipelineConfig opc = tmem_lifecycle_output(C);
  static constexpr int kEpilogueThreads = plan.role("epilogue").threads();
  using Role = warp::WarpRole1D1D<>;
  using MmaWarp = warp::MmaWarp<opc, Role::NUM_MMA_THREADS, kEpilogueThreads>;
  using EpilogueWarp = warp::EpilogueWarp<opc, Role::NUM_MMA_THREADS, kEpilogueThreads>;
  using Storage = warp::OutputStorage<opc>;
  static constexpr uint16_t kOneCta = 1;  // where a finished accumulator is announced

  static_assert(C.type == DType::bf16 || C.type == DType::fp16, "operands are bf16 or fp16");
  static_assert(C.out_type == DType::fp32 || C.out_type == DType::bf16 || C.out_type == DType::fp16,
                "fp32, bf16 or fp16");
  static constexpr int kColumns = 32;  // columns of one tcgen05.ld: a thread holds this many results of its row
  static_assert(C.tile_n % kColumns == 0 && C.tile_n <= 256, "tile_n is a multiple of 32 up to 256");

  static constexpr uint32_t kA = plan.region("input.a").offset, kABytes = plan.region("input.a").stage_bytes;
  static constexpr uint32_t kB = plan.region("input.b").offset, kBBytes = plan.region("input.b").stage_bytes;

  using Element = storage_t<C.type>;
  WW_FN static Shared<Element> a_stage(uint32_t base, int stage) { return {base + kA + kABytes * uint32_t(stage)}; }
  WW_FN static Shared<Element> b_stage(uint32_t base, int stage) { return {base + kB + kBBytes * uint32_t(stage)}; }

  WW_FN static tile::PersistentTiles tiles(const Args& args) {
    return tile::PersistentTiles({tile::ceil_div(args.m, C.tile_m), tile::ceil_div(args.n, C.tile_n), C.raster_group});
  }
  WW_FN static int k_tiles(const Args& args) { return tile::ceil_div(args.k, C.tile_k()); }

  // One thread.
  WW_FN static void load(const Args& args, uint32_t base, InputRing ring) {
    pipeline::Producer<C.stages, pipeline::PublishByTma> input(ring);
    const int depth = k_tiles(args);
    tile::PersistentTiles walk = tiles(args);
    for (tile::TileCoord tile; walk.next(tile);) {
      for (int k = 0; k < depth; ++k) {
        input.produce([&](auto stage) {
          stage->expect_bytes(kABytes + kBBytes);
          machine::tma_load(a_stage(base, stage->index()), &args.a,
                            machine::Coords<2>{k * C.tile_k(), tile.m * C.tile_m}, stage->full());
          machine::tma_load(b_stage(base, stage->index()), &args.b,
                            machine::Coords<2>{k * C.tile_k(), tile.n * C.tile_n}, stage->full());
          return stdx::move(stage).release();
        });
      }
    }
  }

  using Input = pipeline::Consumer<C.stages, pipeline::ReleaseByWarpCommit<1>>;

  // One thread: adds the product of one stage to the accumulator.
  WW_FN static void issue(Tmem sums, uint32_t base, int stage, bool fresh) {
    constexpr uint32_t shape = encode_idesc(InstrDesc{.a = C.type, .b = C.type, .m = C.tile_m, .n = C.tile_n});
    constexpr int step = mma_k(C.type);
    constexpr uint32_t step_bytes = SmemTile{C.type, C.tile_m, C.tile_k()}.linear(0, step);
    const uint64_t a = encode_sm100(k_major_desc(C.type, Swizzle::b128, C.tile_m, a_stage(base, stage).address));
    const uint64_t b = encode_sm100(k_major_desc(C.type, Swizzle::b128, C.tile_n, b_stage(base, stage).address));
    WW_UNROLL
    for (int i = 0; i < C.tile_k() / step; ++i) {
      const uint32_t along_k = step_bytes * uint32_t(i);
      machine::tcgen05_mma<machine::MmaKind::f16, 1>(sums, advance_desc(a, along_k), advance_desc(b, along_k), shape,
                                                     i != 0 || !fresh);
    }
  }

  // The whole warp owns the tensor memory; one lane of it multiplies. An accumulator without a product (k = 0) is
  // passed on all the same: the epilogue knows not to read it.
  WW_FN static void multiply(const Args& args, uint32_t base, InputRing input_ring, Storage at) {
    auto mma = MmaWarp::create(at.tmem_address, at.accum, at.done, kOneCta);
    Input input(input_ring);
    const int depth = k_tiles(args);
    for (int left = tiles(args).remaining(); left > 0; --left) {
      auto sums = mma.output().acquire_mma_linear();
      for (int k = 0; k < depth; ++k) {
        input.consume([&](auto stage) {
          if (machine::elect_one()) issue(Tmem{sums->tmem_offset()}, base, stage->index(), k == 0);
          return stdx::move(stage).release();
        });
      }
      pipeline::commit<1>(sums->mbar());  // emits nothing: the one commit is release()'s
      stdx::move(sums).release();
    }
    stdx::move(mma).release();
  }

  // Elements first..first+7 of the row that starts at `row`.
  template <class Values>
  WW_FN static void store_eight(const Args& args, int64_t row, int column, const Values& value) {
    if constexpr (C.out_type == DType::fp32) {
      const Global<Vec<float, 4>> to =
          Global<float>{static_cast<float*>(args.d) + row + column}.template as<Vec<float, 4>>();
      machine::store(to, Vec<float, 4>{{value(0), value(1), value(2), value(3)}});
      machine::store(to + 1, Vec<float, 4>{{value(4), value(5), value(6), value(7)}});
    } else {
      const Global<uint16_t> to{static_cast<uint16_t*>(args.d) + row + column};
      Vec<uint32_t, 4> packed;
      WW_UNROLL
      for (int i = 0; i < 4; ++i) packed[i] = tile::pack2<C.out_type>(value(2 * i), value(2 * i + 1));
      machine::store(to.template as<Vec<uint32_t, 4>>(), packed);
    }
  }

  // All threads of the role; each has one row of the tile.
  WW_FN static void epilogue(const Args& args, Storage at) {
    constexpr int first_warp = plan.role("epilogue").first_warp;
    static_assert(first_warp % 4 == 0, "the warp's place in its warpgroup decides which lanes it may read");
    const uint32_t warp_lanes = (machine::warp_index() - first_warp) * 32;
    auto epilogue = EpilogueWarp::create(EpilogueWarp::Sync::wait(), at.tmem_address, at.accum, at.done, kOneCta);
    tile::PersistentTiles walk = tiles(args);
    for (tile::TileCoord tile; walk.next(tile);) {
      auto sums = epilogue.output().acquire_epilogue_linear();
      store_tile(args, tile, Tmem{sums->tmem_offset()}, warp_lanes);
      stdx::move(sums).release();
    }
    stdx::move(epilogue).release();
  }
  // A row of the tile, this many columns at a time.
  WW_FN static void store_tile(const Args& args, tile::TileCoord tile, Tmem sums, uint32_t warp_lanes) {
    const int row = tile.m * C.tile_m + int(warp_lanes + machine::lane_index());
    const bool has_product = k_tiles(args) > 0;
    for (int column = 0; column < C.tile_n; column += kColumns) {
      machine::TmemRegisters<kColumns> values;
      if (has_product) {
        machine::tcgen05_ld<machine::TmemShape::b32x32, kColumns>(values,
                                                                  sums.column(uint32_t(column)).lane(warp_lanes));
        machine::tcgen05_wait_ld();
      }
      WW_UNROLL
      for (int i = 0; i < kColumns; i += 8) {
        const int at = tile.n * C.tile_n + column + i;
        if (row < args.m && at < args.n) {
          store_eight(args, int64_t(row) * args.n, at, [&](int e) { return has_product ? values.get(i + e) : 0.f; });
        }
      }
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<TmemLifecycle>();
    constexpr uint32_t input_full = plan.barrier("input.full").offset, input_empty = plan.barrier("input.empty").offset;
    const uint32_t base = machine::shared_base();
    const InputRing input = pipeline::ring_at<C.stages>(base, input_full, input_empty);
    const Storage output = warp::output_storage<TmemLifecycle, opc>(base);
    pipeline::run_block<TmemLifecycle>(base, [&] {
      if (Role::is_load()) {
        if (machine::elect_one()) load(args, base, input);
      } else if (Role::is_mma()) {
        multiply(args, base, input, output);
      } else if (Role::is_epilogue()) {
        epilogue(args, output);
      }
    });
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

// y = alpha * x + beta through two rings: the load warp fills the input ring by TMA, the compute warps turn input
// stages into output stages, the store warp empties the output ring by TMA. Tails are the TMA's: it reads zeros beyond
// the matrix and writes nothing there.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/kernel/demo/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/bulk_store.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/convert.h"
#include "warpwright/tile/persistent.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan ring_copy_plan(const RingCopyConfig& c) {
  BlockPlan plan("ring_copy", Arch::sm90);
  plan.role("compute", c.compute_warps).role("load", 1).role("store", 1);
  plan.region("input", c.box().bytes(), c.stages, 128);
  plan.region("output", c.box().bytes(), c.output_stages, 128);
  const int threads = c.compute_warps * 32;
  plan.barrier("input.full", c.stages, 1, "compute", {"load", 1});
  plan.barrier("input.empty", c.stages, c.compute_warps, "load", {"compute", c.compute_warps});
  plan.barrier("output.full", c.output_stages, threads, "store", {"compute", threads});
  plan.barrier("output.empty", c.output_stages, 1, "compute", {"store", 1});
  return plan;
}

template <RingCopyConfig C>
struct RingCopy {
  using Args = RingCopyArgs;
  using InputRing = pipeline::Ring<C.stages>;
  using OutputRing = pipeline::Ring<C.output_stages>;
  static constexpr BlockPlan plan = ring_copy_plan(C);

  // 16 bytes move at once; the threads of the compute role take them in turn.
  using Vector = Vec<uint32_t, 4>;
  static constexpr int kVectors = int(C.box().bytes() / sizeof(Vector));
  static constexpr int kThreads = plan.role("compute").threads();
  static_assert(C.type == DType::fp32 || C.type == DType::bf16 || C.type == DType::fp16, "fp32, bf16 or fp16");
  static_assert(kVectors % kThreads == 0, "a tile is a whole number of vectors for each compute thread");
  static_assert(C.tile_columns <= 256 && C.tile_rows <= 256, "a TMA box has at most 256 elements along a dimension");

  static constexpr uint32_t kInput = plan.region("input").offset;
  static constexpr uint32_t kOutput = plan.region("output").offset;
  static constexpr uint32_t kStageBytes = plan.region("input").stage_bytes;
  WW_FN static Shared<Vector> input_stage(uint32_t base, int stage) { return {base + kInput + kStageBytes * stage}; }
  WW_FN static Shared<Vector> output_stage(uint32_t base, int stage) { return {base + kOutput + kStageBytes * stage}; }

  WW_FN static tile::PersistentTiles tiles(const Args& args) {
    return tile::PersistentTiles(
        {tile::ceil_div(args.rows, C.tile_rows), tile::ceil_div(args.columns, C.tile_columns), 1});
  }
  WW_FN static machine::Coords<2> origin(tile::TileCoord tile) {
    return {tile.n * C.tile_columns, tile.m * C.tile_rows};
  }

  WW_FN static Vector transform(Vector x, float alpha, float beta) {
    Vector y;
    WW_UNROLL
    for (int i = 0; i < 4; ++i) {
      if constexpr (C.type == DType::fp32) {
        y[i] = stdx::bit_cast<uint32_t>(tile::multiply_add(alpha, stdx::bit_cast<float>(x[i]), beta));
      } else {
        const tile::FloatPair pair = tile::unpack2<C.type>(x[i]);
        y[i] =
            tile::pack2<C.type>(tile::multiply_add(alpha, pair.low, beta), tile::multiply_add(alpha, pair.high, beta));
      }
    }
    return y;
  }

  // One thread.
  WW_FN static void load(const Args& args, uint32_t base, InputRing ring) {
    pipeline::Producer<C.stages, pipeline::PublishByTma> input(ring);
    tile::PersistentTiles walk = tiles(args);
    for (tile::TileCoord tile; walk.next(tile);) {
      input.produce([&](auto stage) {
        stage->expect_bytes(kStageBytes);
        machine::tma_load(input_stage(base, stage->index()), &args.x, origin(tile), stage->full());
        return stdx::move(stage).release();
      });
    }
  }

  // All threads of the role; both stages are held while a tile is turned over.
  WW_FN static void compute(const Args& args, uint32_t base, InputRing input_ring, OutputRing output_ring) {
    pipeline::Consumer<C.stages, pipeline::ReleaseByWarp<pipeline::Readers::threads>> input(input_ring);
    pipeline::Producer<C.output_stages, pipeline::PublishByThread<pipeline::To::async>> output(output_ring);
    constexpr int first = plan.role("compute").first_thread();
    const int thread = int(machine::thread_index()) - first;
    for (int left = tiles(args).remaining(); left > 0; --left) {
      input.consume([&](auto from) {
        output.produce([&](auto to) {
          const Shared<Vector> x = input_stage(base, from->index());
          const Shared<Vector> y = output_stage(base, to->index());
          WW_UNROLL
          for (int i = 0; i < kVectors; i += kThreads) {
            machine::store(y + (i + thread), transform(machine::load(x + (i + thread)), args.alpha, args.beta));
          }
          return stdx::move(to).release();
        });
        return stdx::move(from).release();
      });
    }
  }

  // One thread.
  WW_FN static void store(const Args& args, uint32_t base, OutputRing ring) {
    tile::PersistentTiles walk = tiles(args);
    pipeline::bulk_store_all(ring, walk.remaining(), [&](int stage) {
      tile::TileCoord tile;
      walk.next(tile);
      machine::tma_store(&args.y, origin(tile), output_stage(base, stage));
    });
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<RingCopy>();
    constexpr uint32_t input_full = plan.barrier("input.full").offset, input_empty = plan.barrier("input.empty").offset;
    constexpr uint32_t output_full = plan.barrier("output.full").offset,
                       output_empty = plan.barrier("output.empty").offset;
    constexpr int load_warp = plan.role("load").first_warp;
    constexpr int store_warp = plan.role("store").first_warp;
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    const InputRing input = pipeline::ring_at<C.stages>(base, input_full, input_empty);
    const OutputRing output = pipeline::ring_at<C.output_stages>(base, output_full, output_empty);
    pipeline::set_up_barriers<RingCopy>(base);
    if (warp == load_warp) {
      if (machine::elect_one()) load(args, base, input);
    } else if (warp == store_warp) {
      if (machine::elect_one()) store(args, base, output);
    } else {
      compute(args, base, input, output);
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

// A ring that a whole cluster fills: of every tile each CTA loads its share of the rows and multicasts it to all CTAs.
// A stage is refilled only after the compute warps of every CTA have handed it back to every CTA. Each CTA sums the
// tiles of its cluster and stores the sum times its own factor.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/kernel/demo/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/persistent.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan cluster_ring_plan(const ClusterRingConfig& c) {
  BlockPlan plan("cluster_ring", Arch::sm90, c.cluster);
  plan.role("compute", c.compute_warps).role("load", 1);
  plan.region("tile", c.box().bytes() * uint32_t(c.cluster), c.stages, 128);
  // One warp of every CTA hands a stage back to each of them.
  const int releases = c.compute_warps * c.cluster;
  plan.barrier("tile.full", c.stages, 1, "compute", {"load", 1});
  plan.barrier("tile.empty", c.stages, releases, "load", {"compute", releases});
  return plan;
}

template <ClusterRingConfig C>
struct ClusterRing {
  using Args = ClusterRingArgs;
  using TileRing = pipeline::Ring<C.stages>;
  static constexpr BlockPlan plan = cluster_ring_plan(C);

  using Vector = Vec<float, 4>;
  static constexpr int kThreads = plan.role("compute").threads();
  static constexpr int kVectors = C.tile_elements() / 4 / kThreads;  // vectors that each thread handles
  static_assert(C.cluster >= 2 && C.cluster <= Args::kMaxCluster, "this ring is about clusters of 2 to 8");
  static_assert(C.tile_rows % C.cluster == 0, "each CTA loads an equal share of the rows");
  static_assert(C.tile_elements() == kVectors * 4 * kThreads,
                "a tile is a whole number of vectors for each compute thread");
  static_assert(C.box().bytes() % 128 == 0, "a share starts at a multiple of 128 bytes");

  static constexpr uint32_t kTile = plan.region("tile").offset;
  static constexpr uint32_t kStageBytes = plan.region("tile").stage_bytes;
  WW_FN static Shared<Vector> tile_stage(uint32_t base, int stage) { return {base + kTile + kStageBytes * stage}; }

  WW_FN static tile::PersistentTiles tiles(const Args& args) {
    return tile::PersistentTiles(
        {tile::ceil_div(args.rows, C.tile_rows), tile::ceil_div(args.columns, C.tile_columns), 1});
  }

  // One thread. The compute threads of the peers read with ordinary loads, so their releases are acquired at cluster
  // scope.
  WW_FN static void load(const Args& args, uint32_t base, TileRing ring) {
    constexpr uint16_t everyone = (1u << C.cluster) - 1;
    constexpr int share = C.box().outer;
    constexpr uint32_t share_bytes = C.box().bytes();
    pipeline::Producer<C.stages, pipeline::PublishByTma, Scope::cluster> input(ring);
    const int rank = int(machine::cluster_rank());
    tile::PersistentTiles walk = tiles(args);
    for (tile::TileCoord tile; walk.next(tile);) {
      input.produce([&](auto stage) {
        // The bytes of all shares arrive here, those from the peers too.
        stage->expect_bytes(kStageBytes);
        const machine::Coords<2> origin{tile.n * C.tile_columns, tile.m * C.tile_rows + rank * share};
        machine::tma_load_multicast(tile_stage(base, stage->index()).plus_bytes(share_bytes * uint32_t(rank)), &args.x,
                                    origin, stage->full(), everyone);
        return stdx::move(stage).release();
      });
    }
  }

  // All threads of the role.
  WW_FN static void compute(const Args& args, uint32_t base, TileRing ring) {
    pipeline::Consumer<C.stages, pipeline::ReleaseToCluster<C.cluster, pipeline::Readers::threads>> input(ring);
    constexpr int first = plan.role("compute").first_thread();
    const int thread = int(machine::thread_index()) - first;
    const uint32_t rank = machine::cluster_rank();
    Vector sum[kVectors] = {};
    for (int left = tiles(args).remaining(); left > 0; --left) {
      input.consume([&](auto stage) {
        WW_UNROLL
        for (int i = 0; i < kVectors; ++i) {
          const Vector x = machine::load(tile_stage(base, stage->index()) + (i * kThreads + thread));
          WW_UNROLL
          for (int e = 0; e < 4; ++e) sum[i][e] += x[e];
        }
        return stdx::move(stage).release();
      });
    }
    const int64_t block = int64_t(machine::cluster_index()) * C.cluster + rank;
    const Global<Vector> out = Global<float>{args.sums + block * C.tile_elements()}.template as<Vector>();
    const float scale = args.scale[rank];
    WW_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      Vector scaled;
      WW_UNROLL
      for (int e = 0; e < 4; ++e) scaled[e] = sum[i][e] * scale;
      machine::store(out + (i * kThreads + thread), scaled);
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<ClusterRing>();
    constexpr uint32_t full = plan.barrier("tile.full").offset, empty = plan.barrier("tile.empty").offset;
    constexpr int load_warp = plan.role("load").first_warp;
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    const TileRing ring = pipeline::ring_at<C.stages>(base, full, empty);
    pipeline::set_up_barriers<ClusterRing>(base);
    if (warp == load_warp) {
      if (machine::elect_one()) load(args, base, ring);
    } else {
      compute(args, base, ring);
    }
    pipeline::leave_cluster<ClusterRing>();
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

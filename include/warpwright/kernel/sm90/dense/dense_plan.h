// What the roles of the Hopper GEMM agree on: the plan, and the jobs that each of them walks.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/sm90/dense/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/source.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan dense_gemm_plan(const DenseGemmConfig& c) {
  BlockPlan plan("dense_gemm", Arch::sm90, c.cluster);
  const int groups = c.warpgroups();
  const bool threads_load = c.load == Mover::threads, tma_stores = c.store == Mover::tma;
  // With one MMA warpgroup every thread has 168 registers or more from the start; with more, load and store give theirs
  // away: 2*232 + 40, 2*240 + 24 for many sums or, where threads load, 2*216 + 72 and 2*200 + 104 for few sums make the
  // 3*168 of the launch, 3*160 + 32 its 4*128; more would wait for ever. setmaxnreg takes whole warpgroups, hence the
  // idle warps.
  const bool crowded = c.accumulators() > 160, few = c.accumulators() <= 128;
  const int mma = groups == 1 ? 0 : groups == 3 ? 160 : threads_load ? (few ? 200 : 216) : crowded ? 240 : 232;
  const int others = groups == 1 ? 0 : groups == 3 ? 32 : threads_load ? (few ? 104 : 72) : crowded ? 24 : 40;
  plan.role("mma", groups * 4, mma).role("load", c.load_warps(), others);
  const int stores = tma_stores ? groups : 0;
  if (tma_stores) plan.role("store", stores, others);
  if (!threads_load && stores < 3) plan.role("idle", 3 - stores, others);

  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_bytes(), c.stages, alignment);
  plan.region("input.b", c.b_bytes(), c.stages, alignment);
  if (c.raw_slots() > 0) plan.region("input.raw", c.raw_slot_bytes(), c.raw_slots(), alignment);
  if (tma_stores) plan.region("output", c.output_stage_bytes(), c.output_stages * groups, alignment);

  // Every MMA warp that multiplies this tile, in every CTA that receives a share from this CTA, hands the stage back.
  const int multiplying = c.sharing == TileSharing::ping_pong ? 1 : groups;
  const int releases = multiplying * 4 * c.fillers();
  const int publishes = threads_load ? c.load_warps() * 32 : 1;
  plan.barrier("input.full", c.stages, publishes, "mma", {"load", publishes});
  plan.barrier("input.empty", c.stages, releases, "load", {"mma", releases});
  if (tma_stores) {
    // One ring for each warpgroup and its store warp.
    plan.barrier("output.full", c.output_stages * groups, 128, "store", {"mma", 128});
    plan.barrier("output.empty", c.output_stages * groups, 1, "mma", {"store", 1});
  }
  if (c.cluster == 1) plan.named_barrier("start", plan.threads()).used_once("start");
  if (c.sharing == TileSharing::ping_pong) plan.named_barrier("turn.0", 256).named_barrier("turn.1", 256);
  return plan;
}

// The raster of the transposed matrix.
template <tile::Raster R>
struct Transposed {
  R raster{};
  WW_HD constexpr int count() const { return raster.count(); }
  WW_HD constexpr tile::TileCoord at(int i) const {
    const tile::TileCoord tile = raster.at(i);
    return {tile.n, tile.m, tile.batch};
  }
};

template <DenseGemmConfig C>
struct DenseTiles {
  using Args = DenseGemmArgs;

  WW_FN static int depth(const Args& args) { return tile::ceil_div(args.k, C.tile_k()); }
  WW_HD static constexpr auto raster(const Args& args) {
    const int rows = tile::ceil_div(args.m, C.tile_m * C.cluster_m());
    const int columns = tile::ceil_div(args.n, C.tile_n * C.cluster_n());
    const auto one = [&] {
      if constexpr (C.raster_by_columns) {
        const auto turned = tile::raster_of<C.raster>(columns, rows, C.raster_group);
        return Transposed<stdx::remove_const_t<decltype(turned)>>{turned};
      } else {
        return tile::raster_of<C.raster>(rows, columns, C.raster_group);
      }
    }();
    if constexpr (C.batched) {
      return tile::Batched<stdx::remove_const_t<decltype(one)>>{one, args.batches};
    } else {
      return one;
    }
  }
  using Raster = decltype(raster(stdx::declval<const Args&>()));

  // Walks the jobs of this cluster.
  WW_FN static auto jobs(const Args& args) {
    if constexpr (C.split == DepthSplit::stream_k) {
      return tile::StreamTiles<Raster>(raster(args), depth(args));
    } else if constexpr (C.split == DepthSplit::split_k) {
      const Raster r = raster(args);
      using Split = tile::SplitTiles<Raster>;
      return tile::PersistentTilesOver<Split>(Split{r, {r.count(), depth(args), args.splits}});
    } else {
      return tile::PersistentTilesOver<tile::WholeTiles<Raster>>({raster(args), depth(args)});
    }
  }
  // Jobs that finish a tile, of warpgroup `group`.
  WW_FN static int finished(const Args& args, [[maybe_unused]] int group) {
    auto walk = jobs(args);
    if constexpr (C.split == DepthSplit::none) {
      if constexpr (C.sharing == TileSharing::ping_pong) return (walk.remaining() + 1 - group) / 2;
      return walk.remaining();
    } else {
      int count = 0;
      for (tile::Job job; walk.next(job);) count += job.last();
      return count;
    }
  }

  // Where this CTA is in its cluster. Its rank counts along n first.
  WW_FN static int row_in_cluster() {
    if constexpr (C.cluster_m() == 1) return 0;
    const int rank = int(machine::cluster_rank());
    return C.cluster_n() == 1 ? rank : rank / C.cluster_n();
  }
  WW_FN static int column_in_cluster() {
    if constexpr (C.cluster_n() == 1) return 0;
    const int rank = int(machine::cluster_rank());
    return C.cluster_m() == 1 ? rank : rank % C.cluster_n();
  }
  // The first row of this CTA's tile.
  WW_FN static int first_row(const tile::TileCoord& tile) {
    return (tile.m * C.cluster_m() + row_in_cluster()) * C.tile_m;
  }
  WW_FN static int first_column(const tile::TileCoord& tile) {
    return (tile.n * C.cluster_n() + column_in_cluster()) * C.tile_n;
  }
  // The same for a warpgroup's part of it. The step from one warpgroup to the next, along the sides of the MMA:
  static constexpr int kGroupM = C.sharing == TileSharing::cooperative ? C.group_rows : 0;
  static constexpr int kGroupN = C.sharing == TileSharing::halves ? C.group_n() : 0;
  WW_FN static int first_row(const tile::TileCoord& tile, int group) {
    return first_row(tile) + group * (C.swapped ? kGroupN : kGroupM);
  }
  WW_FN static int first_column(const tile::TileCoord& tile, int group) {
    return first_column(tile) + group * (C.swapped ? kGroupM : kGroupN);
  }
  // The map of a batch has a third coordinate.
  WW_FN static auto corner(int inner, int outer, [[maybe_unused]] int batch) {
    if constexpr (C.batched) {
      return machine::Coords<3>{inner, outer, batch};
    } else {
      return machine::Coords<2>{inner, outer};
    }
  }
  // The same for B of swiglu: blocks of 8 rows of each half (launch/dense.cpp).
  WW_FN static auto paired_corner(int k, int line, [[maybe_unused]] int batch) {
    if constexpr (C.batched) {
      return machine::Coords<5>{k, 0, 0, line / kPairedRows, batch};
    } else {
      return machine::Coords<4>{k, 0, 0, line / kPairedRows};
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

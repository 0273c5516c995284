// The side of the MMA on which rows and columns of a tile are, who has which of them, and how a cluster shares loads.
#include <gtest/gtest.h>

#include "sim/dense_sweep.h"

namespace warpwright {

using dense_variant::sweep;
using Config = DenseGemmConfig;
constexpr TileSharing kHalves = TileSharing::halves;

TEST(GemmSm90Sides, SwapsTheOperands) {
  sweep<Config{.tile_m = 8, .tile_n = 64, .stages = 2, .cluster = 1, .swapped = true}>();
  sweep<Config{
      .tile_m = 72, .tile_n = 128, .stages = 2, .epilogue = dense_variant::kFused, .swapped = true, .batched = true}>();
  sweep<Config{.tile_m = 136, .tile_n = 64, .stages = 2, .cluster = 1, .swapped = true, .store = Mover::threads}>();
  sweep<Config{.type = DType::e4m3,
               .tile_m = 24,
               .tile_n = 192,
               .stages = 2,
               .axis = ClusterAxis::n,
               .swapped = true,
               .promote_k = 128,
               .scaling = Scaling::row_column}>();
}
TEST(GemmSm90Sides, SwapsOperandsOfEveryLayout) {
  sweep<Config{.tile_m = 64, .tile_n = 128, .stages = 2, .swapped = true, .a_major = Major::MN}>();
  sweep<Config{.tile_m = 40, .tile_n = 64, .stages = 2, .cluster = 1, .swapped = true, .b_major = Major::MN}>();
  sweep<Config{.tile_m = 40,
               .tile_n = 64,
               .stages = 2,
               .cluster = 1,
               .swapped = true,
               .load = Mover::threads,
               .store = Mover::threads}>();
}
// Threads load: lines that a lane moves, rows that only one of eight warps has, parts of a tile's depth.
TEST(GemmSm90Sides, RealignsTheRowsOfSwappedOperands) {
  constexpr Mover threads = Mover::threads;
  static_assert(Config{.tile_m = 8, .tile_n = 64, .swapped = true, .load = threads, .store = threads}.load_warps() ==
                8);
  static_assert(Config{.tile_m = 128, .tile_n = 256, .load = threads, .store = threads}.raw_slots() == 0);
  sweep<Config{.tile_m = 8,
               .tile_n = 128,
               .stages = 3,
               .cluster = 1,
               .swapped = true,
               .group_rows = 128,
               .batched = true,
               .load = threads,
               .store = threads,
               .split = DepthSplit::split_k}>();
  sweep<Config{.type = DType::e4m3,
               .tile_m = 136,
               .tile_n = 64,
               .stages = 2,
               .cluster = 1,
               .swapped = true,
               .promote_k = 128,
               .scaling = Scaling::row_column,
               .load = threads,
               .store = threads}>();
}
TEST(GemmSm90Sides, SwapsOperandsOfSharedDepthAndInTurns) {
  sweep<Config{.tile_m = 48, .tile_n = 64, .stages = 2, .swapped = true, .split = DepthSplit::split_k}>();
  sweep<Config{
      .tile_m = 40, .tile_n = 64, .stages = 3, .cluster = 1, .swapped = true, .sharing = TileSharing::ping_pong}>();
}

TEST(GemmSm90Sides, HalvesTheNSideBetweenTwoWarpgroups) {
  sweep<Config{.tile_m = 64, .tile_n = 96, .stages = 2, .sharing = kHalves}>();
  sweep<Config{.tile_m = 80,
               .tile_n = 192,
               .stages = 2,
               .axis = ClusterAxis::n,
               .epilogue = dense_variant::kFused,
               .swapped = true,
               .group_rows = 192,
               .sharing = kHalves}>();
  sweep<Config{.tile_m = 128,
               .tile_n = 64,
               .stages = 2,
               .cluster = 1,
               .group_rows = 128,
               .sharing = kHalves,
               .store = Mover::threads,
               .split = DepthSplit::split_k}>();
}

// Two rows of B, 8 apart in its tile, give one column of D.
TEST(GemmSm90Sides, PairsTheRowsOfB) {
  using dense_variant::kSwiglu;
  sweep<Config{.tile_m = 64, .tile_n = 96, .stages = 2, .cluster = 1, .epilogue = kSwiglu}>();
  sweep<Config{.tile_m = 64, .tile_n = 64, .stages = 2, .epilogue = kSwiglu, .batched = true}>();
  sweep<Config{.tile_m = 64, .tile_n = 64, .stages = 2, .epilogue = kSwiglu, .sharing = kHalves}>();
  sweep<Config{.type = DType::e4m3,
               .tile_m = 64,
               .tile_n = 64,
               .stages = 2,
               .cluster = 1,
               .epilogue = {.out = DType::fp32, .activation = Activation::swiglu},
               .scaling = Scaling::row_column}>();
  sweep<Config{.tile_m = 64,
               .tile_n = 32,
               .stages = 2,
               .cluster = 1,
               .epilogue = kSwiglu,
               .load = Mover::threads,
               .store = Mover::threads}>();
}
TEST(GemmSm90Sides, PairsTheRowsOfBOnTheOtherSide) {
  using dense_variant::kSwiglu;
  sweep<Config{.tile_m = 56, .tile_n = 128, .stages = 2, .epilogue = kSwiglu, .swapped = true}>();
  sweep<Config{.tile_m = 72,
               .tile_n = 64,
               .stages = 2,
               .cluster = 1,
               .epilogue = kSwiglu,
               .swapped = true,
               .store = Mover::threads,
               .split = DepthSplit::split_k}>();
  sweep<Config{.tile_m = 48,
               .tile_n = 128,
               .stages = 2,
               .axis = ClusterAxis::n,
               .epilogue = kSwiglu,
               .swapped = true,
               .group_rows = 128,
               .sharing = kHalves}>();
}

TEST(GemmSm90Sides, SharesLoadsInPartsThatNeedNotBeEqual) {
  static_assert(Config{.tile_m = 104, .tile_n = 64, .cluster = 4, .axis = ClusterAxis::n, .swapped = true}.a_part() ==
                8);
  static_assert(Config{.tile_m = 208, .tile_n = 64, .cluster = 2, .axis = ClusterAxis::n, .swapped = true}.a_part() ==
                104);
  static_assert(Config{.tile_m = 64, .tile_n = 48, .cluster = 4}.b_part() == 8);
  sweep<Config{.tile_m = 64, .tile_n = 48, .stages = 2, .cluster = 4}>();
  sweep<Config{.tile_m = 40, .tile_n = 64, .stages = 2, .cluster = 8, .across = 4, .swapped = true}>();
}

}  // namespace warpwright

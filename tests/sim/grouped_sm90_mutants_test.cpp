// Every synchronization that the modes of the grouped Hopper kernel perform, dropped or altered: each mutant is
// reported, except for those that change nothing, which are listed with the reason.
#include "sim/grouped_sm90_mutants.h"

#include <string>
#include <vector>

namespace warpwright {
namespace {

using namespace grouped_sm90;

// Before the barrier at the start lanes of a warp converge, which those of the simulator do by themselves; it does not
// count registers either.
std::vector<std::string> with(std::vector<std::string> more, std::initializer_list<const char*> converging) {
  for (const char* role : converging) more.push_back(std::string("drop sync_warp by ") + role);
  return more;
}

TEST(GroupedSm90Mutants, OfGroupsAlongKThatEndInsideAStage) {
  constexpr GroupedGemmConfig c{.type = DType::bf16,
                                .out = DType::fp32,
                                .tile_m = 128,
                                .tile_n = 16,
                                .stages = 2,
                                .cluster = 2,
                                .groups = Groups::by_depth};
  GroupedProduct p = spec<c>({200, 48, 400}, {0, 70, 390});
  p.accumulate = true;
  // Without scales their warp does nothing after the barrier at the start. The barrier after the cleared tail also
  // orders the lanes of a warp.
  expect_all_reported<c>(
      p, with({"drop cluster_sync by scales", "drop registers_increase by mma"}, {"load", "mma", "scales"}), 25);
}
// The second warpgroup has one block of rows and passes on the turns of the other one. Scales come by TMA, twice per
// tile.
TEST(GroupedSm90Mutants, OfBlocksWithoutRows) {
  constexpr GroupedGemmConfig c{.tile_m = 256, .tile_n = 16, .stages = 2, .group_rows = 128, .groups = Groups::masked};
  expect_all_reported<c>(spec<c>({200, 48, 1536}, {170}), with({"drop registers_increase by mma"}, {"load"}), 25);
}
// Scales of both operands come by TMA.
TEST(GroupedSm90Mutants, OfGroupsAlongKWithScales) {
  constexpr GroupedGemmConfig c{
      .out = DType::fp32, .tile_m = 128, .tile_n = 16, .stages = 2, .groups = Groups::by_depth, .b_scale_rows = 1};
  expect_all_reported<c>(spec<c>({120, 48, 1536}, {0, 1280, 1536}), with({"drop registers_increase by mma"}, {"load"}),
                         25);
}
TEST(GroupedSm90Mutants, OfScalesOfRows) {
  constexpr GroupedGemmConfig c{.tile_m = 64, .tile_n = 16, .stages = 2, .b_scale_rows = 1};
  expect_all_reported<c>(spec<c>({120, 32, 1536}), with({}, {"load", "idle"}), 25);
}
TEST(GroupedSm90Mutants, OfSwigluToE4m3) {
  constexpr GroupedGemmConfig c{.out = DType::e4m3,
                                .tile_m = 64,
                                .tile_n = 256,
                                .stages = 2,
                                .groups = Groups::contiguous,
                                .any_rows = true,
                                .swiglu = true,
                                .bias = true};
  GroupedProduct p = spec<c>({150, 256, 1536}, {0, 70, 150});
  p.bias = true;
  expect_all_reported<c>(p, with({}, {"load", "idle"}), 25);
}

}  // namespace
}  // namespace warpwright

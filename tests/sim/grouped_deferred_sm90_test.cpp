// Grouped Hopper products in which two warpgroups keep the results while they begin the next tile, in clusters whose
// CTAs take tiles above each other, beside each other, or halves of them.
#include <initializer_list>

#include "sim/grouped_sm90_mutants.h"

namespace warpwright {
namespace {

using namespace grouped_sm90;

template <Groups G>
constexpr GroupedGemmConfig kPaired{
    .type = DType::bf16, .tile_m = 128, .tile_n = 128, .stages = 3, .cluster = 2, .groups = G};
constexpr GroupedGemmConfig kTall{.type = DType::bf16,
                                  .tile_m = 256,
                                  .tile_n = 128,
                                  .stages = 2,
                                  .cluster = 2,
                                  .axis = ClusterAxis::n,
                                  .group_rows = 128,
                                  .groups = Groups::masked};
static_assert(kPaired<Groups::masked>.paired() && kPaired<Groups::masked>.defers() && kTall.defers());

TEST(GroupedDeferred, PairsTakeEveryFormOfTile) {
  constexpr GroupedGemmConfig contiguous = kPaired<Groups::contiguous>, masked = kPaired<Groups::masked>;
  // Two and a half rows of tiles; three of them; half a row; one.
  expect_exact<contiguous>(spec<contiguous>({800, 392, 72}, {0, 300, 640, 680, 800}));
  expect_exact<masked>(spec<masked>({3 * 400, 136, 200}, {300, 384, 40}));
  constexpr GroupedGemmConfig one = kPaired<Groups::none>;
  expect_exact<one>({.shape = {300, 136, 136}, .type = one.type, .out = one.out});
}
TEST(GroupedDeferred, PairsOfScaledProductsDoToo) {
  constexpr GroupedGemmConfig e4m3{
      .tile_m = 128, .tile_n = 64, .stages = 3, .cluster = 2, .groups = Groups::contiguous};
  expect_exact<e4m3>(spec<e4m3>({700, 136, 144}, {0, 300, 640, 680}));
}
// Fewer stages than a tile has output stages: nothing is written after MMAs that do not exist.
TEST(GroupedDeferred, ShortDepths) {
  constexpr GroupedGemmConfig c = kPaired<Groups::contiguous>;
  for (int k : {0, 64, 136}) {
    expect_exact<c>(spec<c>({270, 136, k}, {0, 130, 270}));
    expect_exact<kTall>(spec<kTall>({2 * 200, 136, k}, {30, 200}));
  }
}
// A tile of one block of rows waits and one of two comes, and the other way round.
TEST(GroupedDeferred, BlocksOfRowsComeAndGo) {
  expect_exact<kTall>(spec<kTall>({5 * 256, 64, 320}, {20, 256, 150, 0, 192}));
}
TEST(GroupedDeferred, ResultsOfRandomOperandsAreClose) {
  constexpr GroupedGemmConfig c = kPaired<Groups::contiguous>;
  expect_close<c>(spec<c>({400, 264, 520}, {0, 130, 400}));
}

// As with groups along k, registers and warps that converge by themselves make no difference to the simulator, and the
// warp for scales has nothing to do.
TEST(GroupedDeferredMutants, OfPairs) {
  constexpr GroupedGemmConfig c{
      .type = DType::bf16, .tile_m = 128, .tile_n = 16, .stages = 2, .cluster = 2, .groups = Groups::contiguous};
  expect_all_reported<c>(spec<c>({350, 56, 136}, {0, 300, 350}),
                         {"drop registers_increase by mma", "drop cluster_sync by scales", "drop sync_warp by load",
                          "drop sync_warp by mma", "drop sync_warp by scales"},
                         20);
}

}  // namespace
}  // namespace warpwright

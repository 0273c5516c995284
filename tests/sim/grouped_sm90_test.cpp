// The Hopper kernels with blockwise scales and groups: exact where sums and scales are, every mode of the simulator
// silent, rows outside a group neither used nor written.
#include "sim/grouped_sm90.h"

#include <vector>

namespace warpwright {
namespace {

using namespace grouped_sm90;

template <GroupedGemmConfig C>
void sweep_dense() {
  for (const Case& c : {Case{C.tile_m, C.tile_n, 640},
                        {C.tile_m + 12, 2 * C.tile_n + 8, 400},
                        {C.tile_m + 12, 2 * C.tile_n + 8, 1536},
                        {4, 8, 16},
                        {40, 24, 0}}) {
    expect_exact<C>({.shape = c, .type = C.type, .out = C.out});
  }
}

TEST(BlockwiseGemm, IsExactWithScalesThatArePowersOfTwo) {
  sweep_dense<GroupedGemmConfig{.tile_m = 128, .tile_n = 128, .stages = 4}>();
  sweep_dense<GroupedGemmConfig{.out = DType::fp32, .tile_m = 64, .tile_n = 48, .stages = 2}>();
}
TEST(BlockwiseGemm, IsExactWhereATileHasSeveralScalesOfB) {
  sweep_dense<GroupedGemmConfig{.tile_m = 128, .tile_n = 192, .stages = 3}>();
  sweep_dense<GroupedGemmConfig{.tile_m = 64, .tile_n = 144, .stages = 3}>();
  sweep_dense<by_blocks({.tile_m = 128, .tile_n = 192, .stages = 3})>();
}
TEST(BlockwiseGemm, IsExactInClusters) {
  sweep_dense<GroupedGemmConfig{.tile_m = 128, .tile_n = 64, .stages = 3, .cluster = 2}>();
  sweep_dense<by_blocks(
      {.tile_m = 256, .tile_n = 128, .stages = 3, .cluster = 2, .axis = ClusterAxis::n, .group_rows = 128})>();
}

constexpr GroupedGemmConfig kContiguous{
    .tile_m = 128, .tile_n = 64, .stages = 3, .cluster = 2, .groups = Groups::contiguous};
constexpr GroupedGemmConfig kMasked{.tile_m = 64, .tile_n = 64, .stages = 3, .groups = Groups::masked};
constexpr GroupedGemmConfig kContiguousBf16{
    .type = DType::bf16, .tile_m = 128, .tile_n = 64, .stages = 3, .cluster = 2, .groups = Groups::contiguous};
constexpr GroupedGemmConfig kMaskedBf16{
    .type = DType::bf16, .tile_m = 128, .tile_n = 64, .stages = 3, .groups = Groups::masked};

TEST(GroupedGemm, TakesContiguousGroupsOfAnyAlignment) {
  const std::vector<uint32_t> offsets = {0, 1, 1, 150, 279, 300};
  expect_exact<kContiguous>(spec<kContiguous>({310, 136, 400}, offsets));
  expect_exact<kContiguousBf16>(spec<kContiguousBf16>({310, 136, 200}, offsets));
  expect_exact<kContiguous>(spec<kContiguous>({64, 72, 0}, {0, 30, 64}));
  expect_exact<kContiguousBf16>(spec<kContiguousBf16>({64, 72, 0}, {0, 30, 64}));
}
TEST(GroupedGemm, LeavesRowsBehindTheCountAlone) {
  const std::vector<uint32_t> counts = {0, 64, 7, 90};
  expect_exact<kMasked>(spec<kMasked>({4 * 90, 136, 272}, counts));
  expect_exact<kMaskedBf16>(spec<kMaskedBf16>({4 * 90, 136, 136}, counts));
}
// Deeper than both rings: a warpgroup without rows must not hold up its neighbour.
TEST(GroupedGemm, AWarpgroupWithoutRowsHandsBackWhatTheOtherNeeds) {
  constexpr GroupedGemmConfig dense{.tile_m = 128, .tile_n = 64, .stages = 3};
  expect_exact<dense>({.shape = {40, 64, 2176}, .type = dense.type, .out = dense.out});
  expect_exact<kContiguous>(spec<kContiguous>({200, 64, 2176}, {0, 30, 170, 200}));
  expect_exact<kMaskedBf16>(spec<kMaskedBf16>({2 * 128, 64, 512}, {20, 128}));
}
template <DType T>
constexpr GroupedGemmConfig kTall{.type = T,
                                  .tile_m = 256,
                                  .tile_n = 64,
                                  .stages = 3,
                                  .cluster = 2,
                                  .axis = ClusterAxis::n,
                                  .group_rows = 128,
                                  .groups = Groups::masked};
// A warpgroup with two blocks of 64 rows, only one or none of which has rows.
TEST(GroupedGemm, BlocksWithoutRowsAreLeftOut) {
  constexpr GroupedGemmConfig bf16 = kTall<DType::bf16>, e4m3 = kTall<DType::e4m3>;
  const std::vector<uint32_t> counts = {20, 70, 0, 140, 256, 192, 270};
  expect_exact<bf16>(spec<bf16>({7 * 270, 136, 72}, counts));
  expect_exact<bf16>(spec<bf16>({7 * 270, 64, 320}, counts));
  expect_exact<bf16>(spec<bf16>({2 * 64, 64, 0}, {30, 64}));
  expect_exact<e4m3>(spec<e4m3>({7 * 270, 136, 144}, counts));
}
TEST(GroupedGemm, HasNothingToDoWithoutRows) {
  expect_exact<kContiguous>(spec<kContiguous>({40, 64, 128}, {5, 5, 5}));
  expect_exact<kMasked>(spec<kMasked>({40, 64, 128}, {0, 0}));
}
TEST(GroupedGemm, TakesBadNumbersOfRowsAsTheNearestLegalOnes) {
  expect_exact<kContiguous>(spec<kContiguous>({90, 64, 128}, {2, 50, 30, 1000, 20}));
  expect_exact<kMasked>(spec<kMasked>({3 * 70, 64, 128}, {~0u, 1u << 30, 20}));
}

TEST(GroupedGemm, SkipsGroupsWhoseMatrixDoesNotExist) {
  expect_exact<kContiguous>(spec<kContiguous>({90, 64, 128}, {0, 20, 40, 90}, {1, 7, 0}, 2));
  expect_exact<kMaskedBf16>(spec<kMaskedBf16>({3 * 40, 64, 64}, {9, 40, 13}, {1, -1, 0}, 2));
}

template <SkinnyBlockwiseConfig C>
void sweep_skinny() {
  for (const Case& c : {Case{C.tokens, 2 * C.rows, 1152},
                        {C.tokens - 3, 3 * C.rows + 8, 400},
                        {2 * C.tokens + 1, 72, 272},
                        {1, 8, 16},
                        {2, 72, 0}}) {
    expect_exact<C>({.shape = c, .out = C.out});
  }
}
TEST(SkinnyBlockwise, IsExactWithScalesThatArePowersOfTwo) {
  sweep_skinny<deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .split = 1})>();
  sweep_skinny<deepest(SkinnyBlockwiseConfig{.out = DType::fp32, .rows = 128, .tokens = 24, .split = 1}, 4)>();
}
TEST(SkinnyBlockwise, IsExactWhereAClusterSplitsTheDepth) {
  sweep_skinny<deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 16, .split = 4})>();
  sweep_skinny<deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 64, .split = 2}, 3)>();
}

}  // namespace
}  // namespace warpwright

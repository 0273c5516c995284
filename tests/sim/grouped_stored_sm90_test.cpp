// Operands of the grouped Hopper kernel that are stored along m or n, and one product that is added to D: exact where
// sums are, every mode of the simulator silent, and nothing used or written that belongs to no group.
#include <string>
#include <utility>
#include <vector>

#include "sim/grouped_sm90.h"

namespace warpwright {
namespace {

using namespace grouped_sm90;

// Two CTAs above each other share columns of B, or take columns of their own; results wait for the next tile.
constexpr GroupedGemmConfig kPaired{.type = DType::bf16,
                                    .tile_m = 128,
                                    .tile_n = 128,
                                    .stages = 3,
                                    .cluster = 2,
                                    .groups = Groups::contiguous,
                                    .b_major = Major::MN};
static_assert(kPaired.paired() && kPaired.defers());

TEST(TurnedMatrices, OfContiguousGroupsAreExact) {
  // Rows of B that end inside a panel, a depth that ends inside a stage, groups without rows and of one row.
  expect_exact<kPaired>(spec<kPaired>({420, 136, 200}, {0, 1, 1, 150, 410}));
  expect_exact<kPaired>(spec<kPaired>({300, 520, 72}, {5, 120, 300}));
  expect_exact<kPaired>(spec<kPaired>({40, 8, 8}, {0, 40}));
  expect_exact<kPaired>(spec<kPaired>({40, 24, 0}, {0, 10, 40}));
  expect_close<kPaired>(spec<kPaired>({200, 136, 264}, {0, 70, 200}));
}
// Where a stage goes beyond the depth lies the next matrix, which is NaN here because no group has it.
TEST(TurnedMatrices, EndWhereTheNextOneBegins) {
  expect_exact<kPaired>(spec<kPaired>({150, 72, 40}, {0, 70, 150}, {2, 0}, 4));
  expect_exact<kPaired>(spec<kPaired>({150, 64, 72}, {0, 70, 90, 150}, {0, 9, -1}, 2));
}

template <GroupedGemmConfig C>
void expect_masked() {
  expect_exact<C>(spec<C>({4 * 150, 136, 200}, {0, 150, 7, 129}));
  expect_exact<C>(spec<C>({2 * 70, 72, 0}, {70, 9}));
  expect_exact<C>(spec<C>({3 * 20, 64, 40}, {20, ~0u, 3}, {1, 2, -1}, 4));
}
TEST(TurnedMatrices, OfMaskedGroupsAreExact) {
  expect_masked<GroupedGemmConfig{
      .type = DType::bf16, .tile_m = 64, .tile_n = 128, .stages = 3, .groups = Groups::masked, .b_major = Major::MN}>();
  // Two CTAs side by side share A, and a warpgroup has two blocks of rows.
  expect_masked<GroupedGemmConfig{.type = DType::bf16,
                                  .tile_m = 256,
                                  .tile_n = 64,
                                  .stages = 3,
                                  .cluster = 2,
                                  .axis = ClusterAxis::n,
                                  .group_rows = 128,
                                  .groups = Groups::masked,
                                  .b_major = Major::MN}>();
}
TEST(TurnedMatrices, HaveABiasToo) {
  constexpr GroupedGemmConfig c{.type = DType::bf16,
                                .tile_m = 128,
                                .tile_n = 128,
                                .stages = 3,
                                .cluster = 2,
                                .axis = ClusterAxis::n,
                                .groups = Groups::contiguous,
                                .any_rows = true,
                                .bias = true,
                                .b_major = Major::MN};
  GroupedProduct p = spec<c>({140, 136, 136}, {0, 1, 1, 131, 140});
  p.bias = true;
  expect_exact<c>(p);
}

template <GroupedGemmConfig C>
GroupedProduct added(Case shape, std::vector<uint32_t> offsets = {}) {
  GroupedProduct p = spec<C>(shape, std::move(offsets));
  p.accumulate = true;
  return p;
}

constexpr GroupedGemmConfig kDepth{.type = DType::bf16,
                                   .out = DType::fp32,
                                   .tile_m = 128,
                                   .tile_n = 128,
                                   .stages = 3,
                                   .cluster = 2,
                                   .groups = Groups::by_depth,
                                   .a_major = Major::MN,
                                   .b_major = Major::MN};

TEST(TurnedDepthGroups, BeginAndEndAnywhere) {
  // Any depth, ends inside a stage, whole stages, one column, none; columns of no group before and after.
  expect_exact<kDepth>(spec<kDepth>({136, 72, 403}, {3, 3, 70, 71, 199, 263, 390}));
  expect_exact<kDepth>(added<kDepth>({136, 200, 400}, {0, 1, 128, 131, 400}));
  expect_exact<kDepth>(added<kDepth>({8, 8, 1}, {0, 1}));
  expect_close<kDepth>(added<kDepth>({72, 72, 401}, {5, 133, 399}));
}
TEST(TurnedDepthGroups, AreClearedByWarpgroupsWithoutRowsAndWithAnOddPanel) {
  constexpr GroupedGemmConfig narrow{.type = DType::bf16,
                                     .tile_m = 128,
                                     .tile_n = 192,
                                     .stages = 3,
                                     .groups = Groups::by_depth,
                                     .a_major = Major::MN,
                                     .b_major = Major::MN};
  expect_exact<narrow>(spec<narrow>({40, 200, 500}, {0, 201, 201, 498}));
  // Two CTAs share A.
  constexpr GroupedGemmConfig beside{.type = DType::bf16,
                                     .out = DType::fp32,
                                     .tile_m = 128,
                                     .tile_n = 64,
                                     .stages = 3,
                                     .cluster = 2,
                                     .axis = ClusterAxis::n,
                                     .groups = Groups::by_depth,
                                     .a_major = Major::MN,
                                     .b_major = Major::MN};
  expect_exact<beside>(added<beside>({200, 136, 300}, {0, 130, 298}));
}
TEST(TurnedDepthGroups, WithoutColumnsAreZeroOrLeaveDAsItIs) {
  expect_exact<kDepth>(spec<kDepth>({72, 72, 0}, {0, 0, 0}));
  expect_exact<kDepth>(added<kDepth>({72, 72, 64}, {64, 64, 64}));
}
TEST(TurnedDepthGroups, TakeBadOffsetsAsTheNearestLegalOnes) {
  expect_exact<kDepth>(spec<kDepth>({40, 64, 200}, {5, 150, 30, ~0u, 100}));
}

constexpr GroupedGemmConfig kAdded{
    .out = DType::fp32, .tile_m = 128, .tile_n = 64, .stages = 3, .cluster = 2, .adds = true};
constexpr GroupedGemmConfig kAddedRows{
    .out = DType::fp32, .tile_m = 128, .tile_n = 64, .stages = 3, .cluster = 2, .b_scale_rows = 1, .adds = true};

template <GroupedGemmConfig C>
void expect_one_product() {
  // Whole boxes, which the TMA adds; rows that threads add; factors of sixteen blocks, eight of which come at once.
  for (const Case& c : {Case{140, 72, 272}, {4, 8, 16}, {20, 40, 2048}, {40, 24, 0}}) expect_exact<C>(added<C>(c));
  expect_exact<C>(spec<C>({140, 72, 144}));
  expect_close<C>(added<C>({70, 136, 528}));
}
TEST(OneProduct, IsAddedToD) {
  expect_one_product<kAdded>();
  expect_one_product<kAddedRows>();
}

TEST(Configurations, ThatCannotBeAreRefused) {
  const auto why = [](GroupedGemmConfig c, auto change) {
    change(c);
    const char* const text = refuse(c);
    return std::string(text == nullptr ? "" : text);
  };
  using C = GroupedGemmConfig;
  EXPECT_EQ(why(kPaired, [](C&) {}), "");
  EXPECT_EQ(why(kPaired, [](C& c) { c.type = DType::e4m3; }),
            "grouped_gemm: wgmma reads MN-major operands of 16-bit types only");
  EXPECT_EQ(why(kPaired, [](C& c) { c.a_major = Major::MN; }),
            "grouped_gemm: A of groups of rows is stored [m, k], A and B of groups along k the same way");
  EXPECT_EQ(why(kDepth, [](C& c) { c.a_major = Major::K; }),
            "grouped_gemm: A of groups of rows is stored [m, k], A and B of groups along k the same way");
  EXPECT_EQ(why(kPaired, [](C& c) { c.gathered = true; }),
            "grouped_gemm: with swiglu or gathered rows B is stored [n, k]");
  EXPECT_EQ(why(kPaired, [](C& c) { c.tile_n = 64; }),
            "grouped_gemm: a CTA's share of an operand is not made of whole panels");
  EXPECT_EQ(why(kAdded, [](C& c) { c.out = DType::bf16; }),
            "grouped_gemm: adds is a property of one product of e4m3 with an fp32 result");
}

}  // namespace
}  // namespace warpwright

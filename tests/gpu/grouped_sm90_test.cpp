// Every compiled instance of the blockwise and grouped kernels without further modes on a GPU: exact where sums and
// scales are, within rounding of the float64 reference otherwise, nothing written outside the rows of the groups.
#include "gpu/grouped_sm90.h"

namespace warpwright::runtime {
namespace {

// The cases of a way of grouping, for one instance.
std::vector<GroupedProduct> cases(const GroupedGemmConfig& c) {
  GroupedProduct p{.shape = {}, .type = c.type, .out = c.out, .groups = c.groups};
  const auto with = [&](Case shape, std::vector<uint32_t> rows) {
    p.shape = shape;
    p.rows = std::move(rows);
    return p;
  };
  if (c.groups == Groups::none) {
    return {with({513, 776, 1056}, {}), with({4, 8, 16}, {}), with({40, 24, 0}, {}), with({130, 200, 128}, {}),
            // Deeper than the rings, and warpgroups without rows.
            with({40, 200, 2176}, {})};
  }
  if (c.groups == Groups::contiguous) {
    return {with({700, 392, 784}, {0, 1, 1, 300, 457, 690}), with({64, 72, 0}, {0, 30, 64}),
            with({40, 64, 128}, {5, 5, 5}), with({320, 200, 2176}, {0, 30, 170, 320})};
  }
  return {with({4 * 300, 392, 784}, {0, 300, 7, 129}), with({2 * 70, 72, 0}, {70, 9}), with({40, 64, 128}, {0, 0}),
          with({2 * 300, 200, 2176}, {20, 140})};
}

TEST(GroupedOnGpu, EveryInstanceIsExactOnIntegers) {
  WW_NEEDS_A_GPU();
  for (int i = 0; i < int(std::size(device::kGroupedGemmSm90)); ++i) {
    if (has_modes(device::kGroupedGemmSm90[i])) continue;
    for (const GroupedProduct& p : cases(device::kGroupedGemmSm90[i])) EXPECT_EQ(run_grouped(i, p, Data::integers), 0u);
    if (HasFatalFailure()) return;
  }
}

TEST(GroupedOnGpu, RandomOperandsAgreeWithFloat64) {
  WW_NEEDS_A_GPU();
  for (int i = 0; i < int(std::size(device::kGroupedGemmSm90)); ++i) {
    if (has_modes(device::kGroupedGemmSm90[i])) continue;
    run_grouped(i, cases(device::kGroupedGemmSm90[i])[0], Data::normal);
  }
}

TEST(GroupedOnGpu, ATableThatIsNotLegalIsReportedAndNothingElseIsTouched) {
  WW_NEEDS_A_GPU();
  for (int i = 0; i < int(std::size(device::kGroupedGemmSm90)); ++i) {
    const GroupedGemmConfig& c = device::kGroupedGemmSm90[i];
    if (has_modes(c)) continue;
    GroupedProduct p{.shape = {210, 64, 128}, .type = c.type, .out = c.out, .groups = c.groups};
    if (c.groups == Groups::contiguous) {
      p.rows = {2, 50, 30, 1000, 20};
      EXPECT_EQ(run_grouped(i, p, Data::integers), uint32_t(kOffsetsDecrease | kRowsOutOfRange));
      p.rows = {0, 20, 40, 90};
      p.matrices = {1, 7, 0};
      p.matrix_count = 2;
      EXPECT_EQ(run_grouped(i, p, Data::integers), uint32_t(kMatrixOutOfRange));
    } else if (c.groups == Groups::masked) {
      p.rows = {~0u, 1u << 30, 20};
      EXPECT_EQ(run_grouped(i, p, Data::integers), uint32_t(kRowsOutOfRange));
    }
  }
}

TEST(SkinnyBlockwiseOnGpu, EveryInstanceIsExactOnIntegersAndRightOnRandomOperands) {
  WW_NEEDS_A_GPU();
  for (int i = 0; i < int(std::size(device::kSkinnyBlockwiseSm90)); ++i) {
    const SkinnyBlockwiseConfig& c = device::kSkinnyBlockwiseSm90[i];
    SCOPED_TRACE("instance " + std::to_string(i));
    const auto run = [&](Case shape, Data data) {
      expect_right<SkinnyBlockwiseArgs>(c, {.shape = shape, .out = c.out}, data,
                                        [&](const SkinnyBlockwiseArgs& args, void* stream) {
                                          return device::launch_skinny_blockwise_sm90(i, args, stream, 0, i % 2 == 1);
                                        });
    };
    for (const Case& s : {Case{c.tokens, 776, 2064}, {1, 8, 16}, {2, 72, 0}, {c.tokens - 3, 136, 400}}) {
      run(s, Data::integers);
    }
    run({c.tokens - 1, 392, 1040}, Data::normal);
  }
}

}  // namespace
}  // namespace warpwright::runtime

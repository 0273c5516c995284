// Every instance of the blockwise and grouped kernels without further modes on a GPU: exact where sums and
// scales are, within rounding of the float64 reference otherwise, nothing written outside the rows of the groups.
#include "gpu/grouped_sm90.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace warpwright::grouped_sm90 {
namespace {

// The cases of a way of grouping, for one instance.
std::vector<reference::GroupedProduct> cases(const GroupedGemmConfig& c) {
  reference::GroupedProduct p{
      .shape = {}, .type = c.type, .out = c.out, .groups = c.groups, .a_major = c.a_major, .b_major = c.b_major};
  const auto with = [&](reference::Case shape, std::vector<uint32_t> rows) {
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

class EachGrouped : public testing::TestWithParam<std::string> {
 protected:
  static GroupedGemmConfig config() { return *instance_named(GetParam()).as<GroupedGemmConfig>(); }
  static uint32_t run(const reference::GroupedProduct& p, reference::Data data) {
    return run_grouped(GetParam(), p, data);
  }
};

TEST_P(EachGrouped, is_exact_on_integers) {
  WW_NEEDS_A_GPU();
  for (const reference::GroupedProduct& p : cases(config())) EXPECT_EQ(run(p, reference::Data::integers), 0u);
}

TEST_P(EachGrouped, agrees_with_float64_on_random_operands) {
  WW_NEEDS_A_GPU();
  run(cases(config())[0], reference::Data::normal);
}

TEST_P(EachGrouped, reports_a_table_that_is_not_legal_and_touches_nothing_else) {
  WW_NEEDS_A_GPU();
  const GroupedGemmConfig c = config();
  reference::GroupedProduct p{.shape = {210, 64, 128},
                              .type = c.type,
                              .out = c.out,
                              .groups = c.groups,
                              .a_major = c.a_major,
                              .b_major = c.b_major};
  if (c.groups == Groups::contiguous) {
    p.rows = {2, 50, 30, 1000, 20};
    EXPECT_EQ(run(p, reference::Data::integers), uint32_t(kOffsetsDecrease | kRowsOutOfRange));
    p.rows = {0, 20, 40, 90};
    p.matrices = {1, 7, 0};
    p.matrix_count = 2;
    EXPECT_EQ(run(p, reference::Data::integers), uint32_t(kMatrixOutOfRange));
  } else if (c.groups == Groups::masked) {
    p.rows = {~0u, 1u << 30, 20};
    EXPECT_EQ(run(p, reference::Data::integers), uint32_t(kRowsOutOfRange));
  }
}

INSTANTIATE_TEST_SUITE_P(gpu, EachGrouped, testing::ValuesIn(names_where([](const catalog::Instance& instance) {
                           const auto* const c = instance.as<GroupedGemmConfig>();
                           return c != nullptr && !has_modes(*c) && !c->gathered;
                         })),
                         test_name);

class EachSkinnyBlockwise : public testing::TestWithParam<std::string> {};

TEST_P(EachSkinnyBlockwise, is_exact_on_integers_and_right_on_random_operands) {
  WW_NEEDS_A_GPU();
  const SkinnyBlockwiseConfig c = *instance_named(GetParam()).as<SkinnyBlockwiseConfig>();
  // From 65 tokens on another one serves fewer rows.
  const int64_t least = c.tokens > 64 ? 65 : 1;
  const auto run = [&](reference::Case shape, reference::Data data) {
    shape.m = std::max(shape.m, least);
    run_grouped(GetParam(), {.shape = shape, .out = c.out}, data);
  };
  for (const reference::Case& s :
       {reference::Case{c.tokens, 776, 2064}, {1, 8, 16}, {2, 72, 0}, {c.tokens - 3, 136, 400}}) {
    run(s, reference::Data::integers);
  }
  run({c.tokens - 1, 392, 1040}, reference::Data::normal);
}

INSTANTIATE_TEST_SUITE_P(gpu, EachSkinnyBlockwise, testing::ValuesIn(names_where([](const catalog::Instance& instance) {
                           return instance.as<SkinnyBlockwiseConfig>() != nullptr;
                         })),
                         test_name);

}  // namespace
}  // namespace warpwright::grouped_sm90

// The instances for scales of single rows of B, groups along k, sums added to D and fused epilogues on a GPU: exact
// where sums and scales are, within rounding of the float64 reference otherwise; what no group has is NaN, and stays
// untouched.
#include <string>
#include <utility>
#include <vector>

#include "gpu/grouped_sm90.h"

namespace warpwright::grouped_sm90 {
namespace {

std::vector<std::string> instances() {
  return names_where([](const catalog::Instance& instance) {
    const auto* const c = instance.as<GroupedGemmConfig>();
    return c != nullptr && has_modes(*c);
  });
}

reference::GroupedProduct product(const GroupedGemmConfig& c, Groups groups, reference::Case shape,
                                  std::vector<uint32_t> rows) {
  return {.shape = shape,
          .type = c.type,
          .out = c.out,
          .groups = groups,
          .rows = std::move(rows),
          .b_scale_rows = c.b_scale_rows,
          .swiglu = c.swiglu,
          // What is made for more than a conversion is asked for it.
          .bias = c.bias && !c.swiglu && c.out != DType::e4m3,
          .a_major = c.a_major,
          .b_major = c.b_major};
}

// Where a launch may add to D, the same with that.
std::vector<reference::GroupedProduct> and_added(const GroupedGemmConfig& c,
                                                 std::vector<reference::GroupedProduct> list) {
  for (size_t i = 0, count = list.size(); c.adds_to_result() && i < count; ++i) {
    list.push_back(list[i]);
    list.back().accumulate = true;
  }
  return list;
}

std::vector<reference::GroupedProduct> along_k(const GroupedGemmConfig& c) {
  const Groups g = Groups::by_depth;
  std::vector<reference::GroupedProduct> list;
  if (c.scaled()) {
    list = {product(c, g, {300, 392, 2304}, {128, 128, 768, 896, 2176}), product(c, g, {40, 24, 0}, {0, 0, 0}),
            product(c, g, {4, 8, 128}, {0, 128}), product(c, g, {140, 136, 4096}, {0, 0, 3968, 4096})};
  } else if (c.a_major == Major::MN) {
    list = {product(c, g, {304, 392, 1201}, {3, 3, 70, 71, 455, 1190}), product(c, g, {40, 24, 0}, {0, 0}),
            product(c, g, {8, 8, 3}, {0, 1, 3}), product(c, g, {136, 136, 2048}, {0, 64, 1983, 1984, 2048})};
  } else {
    list = {product(c, g, {300, 392, 1200}, {3, 3, 70, 71, 455, 1190}), product(c, g, {40, 24, 0}, {0, 0}),
            product(c, g, {4, 8, 8}, {0, 1, 8}), product(c, g, {140, 136, 2048}, {0, 64, 1983, 1984, 2048})};
  }
  return and_added(c, std::move(list));
}
// One product that may be added to D.
std::vector<reference::GroupedProduct> alone(const GroupedGemmConfig& c) {
  return and_added(c, {product(c, Groups::none, {313, 776, 1056}, {}), product(c, Groups::none, {4, 8, 16}, {}),
                       product(c, Groups::none, {40, 24, 0}, {}), product(c, Groups::none, {140, 200, 4096}, {})});
}

std::vector<reference::GroupedProduct> along_rows(const GroupedGemmConfig& c) {
  // Halves of B with a scale for 128 rows, and scales of D, want multiples.
  const bool whole = c.swiglu || c.out == DType::e4m3;
  const auto n = [&](int64_t any, int64_t blocks) { return whole ? 256 * blocks : any; };
  std::vector<reference::GroupedProduct> list = {
      product(c, Groups::contiguous, {470, n(392, 3), 784}, {0, 1, 1, 200, 331, 460}),
      product(c, Groups::contiguous, {64, n(72, 1), 0}, {0, 30, 64}),
      product(c, Groups::contiguous, {320, n(200, 1), 2176}, {0, 30, 170, 320}),
      product(c, Groups::masked, {4 * 300, n(392, 2), 784}, {0, 300, 7, 129}),
  };
  if (c.scaled()) {  // one product of bf16 is gemm()'s
    list.push_back(product(c, Groups::none, {313, n(776, 3), 1056}, {}));
    list.push_back(product(c, Groups::none, {4, n(8, 1), 16}, {}));
  }
  const size_t plain = list.size();
  if (c.bias) {
    for (size_t i = 0; i < plain; ++i) {
      list.push_back(list[i]);
      list.back().bias = true;
      list.back().bias_type = i % 2 == 0 ? DType::fp32 : DType::bf16;
      list.back().shared_bias = i % 3 == 0;
    }
  }
  if (c.out == DType::e4m3) {
    for (size_t i = 0, count = list.size(); i < count; ++i) {
      list.push_back(list[i]);
      list.back().judge_scales = true;
    }
  }
  return list;
}

std::vector<reference::GroupedProduct> cases(const GroupedGemmConfig& c) {
  return c.by_depth() ? along_k(c) : c.adds ? alone(c) : along_rows(c);
}

class EachGroupedMode : public testing::TestWithParam<std::string> {
 protected:
  static GroupedGemmConfig config() { return *instance_named(GetParam()).as<GroupedGemmConfig>(); }
  static uint32_t run(const reference::GroupedProduct& p, reference::Data data) {
    return run_grouped(GetParam(), p, data);
  }
};

TEST_P(EachGroupedMode, is_exact_on_integers) {
  WW_NEEDS_A_GPU();
  for (const reference::GroupedProduct& p : cases(config())) EXPECT_EQ(run(p, reference::Data::integers), 0u);
}

TEST_P(EachGroupedMode, agrees_with_float64_on_random_operands) {
  WW_NEEDS_A_GPU();
  for (const reference::GroupedProduct& p : cases(config())) {
    if (p.shape.k > 0) run(p, reference::Data::normal);
  }
}

TEST_P(EachGroupedMode, reports_a_table_that_is_not_legal_and_touches_nothing_else) {
  WW_NEEDS_A_GPU();
  const GroupedGemmConfig c = config();
  if (c.groups == Groups::none) return;
  if (c.by_depth()) {
    const uint32_t unaligned = c.scaled() ? uint32_t(kDepthUnaligned) : 0u;
    EXPECT_EQ(run(product(c, Groups::by_depth, {72, 72, 640}, {5, 300, 200, 4000, 100}), reference::Data::integers),
              kOffsetsDecrease | kRowsOutOfRange | unaligned);
    return;
  }
  reference::GroupedProduct p = product(c, Groups::contiguous, {210, 256, 128}, {2, 50, 30, 1000, 20});
  EXPECT_EQ(run(p, reference::Data::integers), uint32_t(kOffsetsDecrease | kRowsOutOfRange));
  p.rows = {0, 20, 40, 90};
  p.matrices = {1, 7, 0};
  p.matrix_count = 2;
  EXPECT_EQ(run(p, reference::Data::integers), uint32_t(kMatrixOutOfRange));
  p = product(c, Groups::masked, {210, 256, 128}, {~0u, 1u << 30, 20});
  EXPECT_EQ(run(p, reference::Data::integers), uint32_t(kRowsOutOfRange));
}

INSTANTIATE_TEST_SUITE_P(gpu, EachGroupedMode, testing::ValuesIn(instances()), test_name);

}  // namespace
}  // namespace warpwright::grouped_sm90

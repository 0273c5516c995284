// The models of products on Hopper are those that bench/choice/fit.py and unaligned.py fitted: their predictions, and
// how they rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <ratio>
#include <sstream>
#include <string>

#include "choice/dense.h"
#include "choice/grouped.h"
#include "choice/tuned_grouped.h"
#include "problem/lower.h"
#include "problem/words.h"

namespace warpwright::choice {
namespace {

constexpr int kSms = 132;

class EachFit : public testing::TestWithParam<const char*> {};

TEST_P(EachFit, repeatsWhatTheScriptPredicts) {
  std::ifstream file(std::string(WW_TEST_DATA "/fit_") + GetParam() + ".tsv");
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream cells(line);
    std::string op, type, plan;
    int64_t groups = 0, m = 0, n = 0, k = 0;
    double us = 0, ours = 0;
    ASSERT_TRUE(cells >> op >> type >> groups >> m >> n >> k >> plan >> us) << line;
    DType dtype = DType::bf16;
    ASSERT_TRUE(parse_dtype(type.c_str(), dtype)) << line;
    if (op == "dense") {
      const GemmShape shape = problem::lower(problem::plain_product(m, n, k, dtype)).shape;
      const auto named = parse_plan(plan, shape);
      ASSERT_TRUE(named) << named.status().message();
      ours = estimate(*named, shape, kSms).us;
    } else {
      const Groups of = *problem::parse_operation(op);
      GroupedProblem problem = problem_of({.op = of, .type = dtype, .groups = groups, .rows = m, .n = n, .k = k});
      problem.plan = plan;
      const auto named = choose(problem, kSms);
      ASSERT_TRUE(named) << named.status().message();
      ours = estimated_us(named->instance, problem, kSms);
    }
    EXPECT_NEAR(ours / us, 1, 1e-6) << line;
    ++rows;
  }
  EXPECT_GE(rows, 50);
}
INSTANTIATE_TEST_SUITE_P(fit, EachFit, testing::Values("dense", "blockwise", "grouped", "unaligned"),
                         [](const auto& info) { return info.param; });

TEST(DenseFit, GivesSensibleTimesToWhatItWasNotFittedTo) {
  const auto us = [](const char* plan, const GemmShape& shape) {
    const auto named = parse_plan(plan, shape);
    EXPECT_TRUE(named) << named.status().message();
    return named ? estimate(*named, shape, kSms).us : 0;
  };
  const GemmShape plain{4096, 4096, 4096};
  const double once = us("dense-128x256-c2", plain);
  GemmShape other = plain;
  other.dtype = DType::e4m3;
  EXPECT_LT(us("dense-128x256-c2", other), 0.75 * once);
  other = plain;
  other.batch = 4;
  EXPECT_NEAR(us("dense-128x256-c2", other) / once, 4, 0.6);
  other = plain;
  other.a_major = other.b_major = Major::MN;
  EXPECT_NEAR(us("dense-128x256-c2", other) / once, 1, 0.1);
  other = plain;
  other.epilogue.out = DType::fp32;
  EXPECT_NEAR(us("dense-128x256-c2", other) / once, 1, 0.15);
  // Fewer SMs take longer.
  const auto half = estimate(*parse_plan("dense-128x256-c2", plain), plain, kSms / 2);
  EXPECT_GT(half.us, 1.5 * once);
  // A plan that was never measured is near its neighbours.
  EXPECT_NEAR(us("dense-248x128-c2-swapped", plain) / us("dense-256x128-c1-swapped", plain), 1, 0.2);
}

TEST(DenseFit, ProductsWithoutDepthOrRowsHaveAnEstimate) {
  for (const GemmShape& shape : {GemmShape{128, 256, 0}, GemmShape{0, 256, 64}, GemmShape{1, 8, 8}}) {
    const auto choice = choose(shape, {"", kSms});
    ASSERT_TRUE(choice) << choice.status().message();
    EXPECT_TRUE(choice->estimate.us >= 0 && choice->estimate.us < 20) << choice->estimate.us;
  }
}

// A call that plans a product waits for this. Many times what a quiet machine takes, which is printed.
TEST(DenseFit, AnswersInMicroseconds) {
  const GemmShape shapes[] = {{1, 4096, 4096}, {300, 2000, 1192}, {2000, 4096, 4096}, {7, 30000, 520}};
  for (const GemmShape& shape : shapes) ASSERT_TRUE(choose(shape, {"", kSms}));
  double least = 1e9;
  for (int round = 0; round < 50; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (const GemmShape& shape : shapes) ASSERT_TRUE(choose(shape, {"", kSms}));
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
    least = std::min(least, spent.count() / double(std::size(shapes)));
  }
  std::printf("an answer takes %.1f us; candidates for %s: %zu\n", least, shapes[0].text().c_str(),
              candidates(shapes[0]).size());
  EXPECT_LT(least, 200);
}

}  // namespace
}  // namespace warpwright::choice

// The model of dense products is the one that bench/choice/fit.py fitted: its predictions, and how it ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <ratio>
#include <sstream>
#include <string>

#include "choice/dense.h"

namespace warpwright::choice {
namespace {

constexpr int kSms = 132;

TEST(DenseFit, RepeatsWhatTheScriptPredicts) {
  std::ifstream file(WW_TEST_DATA "/dense_fit_expected.tsv");
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream cells(line);
    GemmShape shape;
    std::string plan;
    double us = 0;
    ASSERT_TRUE(cells >> shape.m >> shape.n >> shape.k >> plan >> us) << line;
    const auto named = parse_plan(plan, shape);
    ASSERT_TRUE(named) << named.status().message();
    EXPECT_NEAR(estimate(*named, shape, kSms).us / us, 1, 1e-6) << line;
    ++rows;
  }
  EXPECT_GE(rows, 50);
}

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

// The predicted time of Hopper kernels. Predictions are deterministic: these are not measurements, but they must stay
// near those in docs/evidence.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simulate/predict.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

using simulator::Prediction;

constexpr const char* kDense = "sm90/dense-128x64-c2n-s8/bf16-nt";
constexpr const char* kSkinny = "sm90/skinny-64x128-split1-s8/bf16-nt";
constexpr const char* kSplit = "sm90/skinny-64x128-split4-s7/bf16-nt";
constexpr const char* kRow = "sm90/skinny-128x8-split1-s13/bf16-nt";

constexpr double kNcuUs = 1.6;  // what ncu adds to a kernel: docs/evidence/word-costs-ncu.txt

Prediction predict(const std::string& name, int64_t m, int64_t n, int64_t k) {
  const auto instance = catalog::parse_instance(name);
  if (!instance) {
    ADD_FAILURE() << instance.status().message();
    return {};
  }
  auto p = simulate::predict(*instance, m, n, k);
  EXPECT_TRUE(p) << p.status().message();
  return p ? *p : Prediction{};
}

void expect_near(double predicted, double measured, double band) {
  EXPECT_GT(predicted, measured * (1 - band));
  EXPECT_LT(predicted, measured * (1 + band));
}

TEST(Prediction, ThousandCubedIsNearWhatWasMeasured) {
  expect_near(predict(kSkinny, 1024, 1024, 1024).single_us + kNcuUs, 8.00, 0.10);  // dense-ncu.txt
  expect_near(predict(kDense, 1024, 1024, 1024).us, 7.25, 0.10);                   // bench-launches.json, --serial
}

TEST(Prediction, SplitProductIsNearWhatWasMeasured) {
  expect_near(predict(kSplit, 128, 576, 7168).single_us + kNcuUs, 10.69, 0.10);  // dense-ncu.txt
}

TEST(Prediction, ProductOfOneRowIsNearWhatWasMeasuredAndNotBelowItsBytes) {
  const Prediction p = predict(kRow, 1, 32768, 512);
  expect_near(p.single_us, 10.24, 0.15);  // dense-stamps.txt
  constexpr double megabytes = (32768.0 * 512 + 512 + 32768) * 2 / 1e6;
  EXPECT_GT(p.single_us, megabytes / 4.3);
  EXPECT_GT(p.memory_busy, 0.75);
}

TEST(Prediction, LaunchesThatStartEarlyAreNearWhatWasMeasured) {
  const Prediction dense = predict(kDense, 1024, 1024, 1024);
  expect_near(dense.early_us, 5.98, 0.10);  // bench-launches.json
  EXPECT_LT(dense.early_us, dense.us);
  GroupedProblem problem{.groups = Groups::none, .type = DType::e4m3};
  problem.m = 1;
  problem.n = 576;
  problem.k = 7168;
  problem.plan = "blockwise-64x8-split8-s20";
  const auto row = simulate::predict(problem, {});
  ASSERT_TRUE(row) << row.status().message();
  expect_near(row->early_us, 3.6, 0.10);  // bench-deepgemm.json
  // Kernels with groups wait for the one ahead.
  problem.groups = Groups::masked;
  problem.m = 64;
  problem.k = 384;
  problem.plan = "grouped-64x64-c1-s12";
  const std::vector<uint32_t> rows = {64};
  const auto cold = simulate::predict(problem, rows);
  const auto warm = simulate::predict(problem, rows, {}, simulate::Scales::warm);
  ASSERT_TRUE(cold && warm);
  EXPECT_EQ(cold->early_us, cold->us);
  EXPECT_LT(warm->cycles, cold->cycles);
}

TEST(Prediction, IsTheSameEveryTime) {
  const Prediction first = predict(kDense, 256, 512, 256), second = predict(kDense, 256, 512, 256);
  EXPECT_EQ(first.cycles, second.cycles);
  EXPECT_EQ(first.us, second.us);
}

// A prediction moves no data and lets lanes skip words: it must take as many cycles as the run that does everything.
void expect_the_cycles_of_a_run(const std::string& name, int64_t m, int64_t n, int64_t k) {
  GemmProblem p{.m = m, .n = n, .k = k};
  p.plan = name;
  const auto product = simulate::dense_product(p, choice::h200());
  ASSERT_TRUE(product) << product.status().message();
  const auto example = simulate::example_of(*product);
  ASSERT_TRUE(example) << example.status().message();
  const reference::Workload w = example->workload({m, n, k}, reference::Data::integers, 1);
  const simulate::Outcome out = example->simulate(w, {}, simulate::ctas_on_chip(*product));
  EXPECT_TRUE(out.ok());
  const Prediction predicted = predict(name, m, n, k);
  EXPECT_EQ(out.sim.stats.predicted_cycles, predicted.result.stats.predicted_cycles);
  EXPECT_EQ(out.sim.stats.tensor_busy_cycles, predicted.result.stats.tensor_busy_cycles);
}

TEST(Prediction, TakesTheCyclesOfTheRunThatComputes) {
  expect_the_cycles_of_a_run(kDense, 256, 256, 320);
  expect_the_cycles_of_a_run(kSplit, 104, 128, 512);
}

// For groups and products with blockwise scales, the table is the one in `check`'s case.
void expect_the_cycles_of_a_grouped_run(const std::string& name, reference::Case shape) {
  const auto instance = catalog::parse_instance(name);
  ASSERT_TRUE(instance) << instance.status().message();
  const auto run = simulate::grouped_case(*instance, shape);
  ASSERT_TRUE(run) << run.status().message();
  const auto example = simulate::example_of(*run);
  ASSERT_TRUE(example) << example.status().message();
  const reference::Workload w = example->workload(run->product.shape, reference::Data::integers, 1);
  const simulate::Outcome out = example->simulate(w, {}, simulate::ctas_on_chip(*run));
  EXPECT_TRUE(out.ok());
  GroupedProblem problem = run->problem;
  problem.plan = name;
  const auto predicted = simulate::predict(problem, run->product.rows, run->product.matrices);
  ASSERT_TRUE(predicted) << predicted.status().message();
  EXPECT_EQ(out.sim.stats.predicted_cycles, predicted->result.stats.predicted_cycles);
  EXPECT_EQ(out.sim.stats.tensor_busy_cycles, predicted->result.stats.tensor_busy_cycles);
}

TEST(Prediction, OfGroupsTakesTheCyclesOfTheRunThatComputes) {
  expect_the_cycles_of_a_grouped_run("sm90/grouped-64x64-c1-s12/e4m3-masked", {512, 256, 384});
  expect_the_cycles_of_a_grouped_run("sm90/grouped-64x64-c1-s12/bf16-contiguous", {300, 256, 384});
  expect_the_cycles_of_a_grouped_run("sm90/blockwise-64x8-split1-s20/e4m3", {7, 256, 512});
}

TEST(Prediction, OnlyPlainDenseProductsArePredicted) {
  for (const char* name : {"sm90/dense-128x128-c2-s6/bf16-nt-c-bias-gelu", "sm90/grouped-128x128-c2-s5/e4m3",
                           "sm90/dense-128x128-c1-s4/bf16-nt-by_threads"}) {
    const auto p = simulate::predict(*catalog::parse_instance(name), 256, 256, 256);
    EXPECT_EQ(p.status().code(), Code::unsupported) << name;
    EXPECT_NE(p.status().message().find(name), std::string::npos);
  }
  // Operands that are copied first, and a table of groups with a bias.
  GemmProblem copied{.m = 256, .n = 256, .k = 1001};
  copied.plan = "dense-128x128-c1-s6-packed";
  EXPECT_EQ(simulate::predict(copied).status().code(), Code::unsupported);
  GroupedProblem grouped{.groups = Groups::masked, .m = 512, .n = 256, .k = 384, .group_count = 2};
  grouped.bias = Bias::per_column;
  const std::vector<uint32_t> rows = {100, 200};
  EXPECT_EQ(simulate::predict(grouped, rows).status().code(), Code::unsupported);
}

}  // namespace
}  // namespace warpwright

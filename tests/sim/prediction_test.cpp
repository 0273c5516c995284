// The predicted time of Hopper kernels. Predictions are deterministic: these are no measurements, but they must stay
// near the ones in docs/evidence.
#include <gtest/gtest.h>

#include "runtime/predict.h"

namespace warpwright {
namespace {

using runtime::predict_dense;
using runtime::predict_skinny;
using simulator::Prediction;

constexpr DenseGemmConfig kDense = deepest({.tile_m = 128, .tile_n = 64, .axis = ClusterAxis::n});
constexpr SkinnyGemmConfig kSkinny = deepest({.rows = 64, .tokens = 128, .split = 1});
constexpr SkinnyGemmConfig kSplit = deepest({.rows = 64, .tokens = 128, .split = 4});
constexpr SkinnyGemmConfig kRow = deepest({.rows = 128, .tokens = 8, .split = 1});

constexpr double kNcuUs = 1.6;  // what ncu adds to a kernel: docs/evidence/word-costs-ncu.txt

void expect_near(double predicted, double measured, double band) {
  EXPECT_GT(predicted, measured * (1 - band));
  EXPECT_LT(predicted, measured * (1 + band));
}

TEST(Prediction, ThousandCubedIsNearWhatWasMeasured) {
  const Prediction skinny = predict_skinny<kSkinny>(1024, 1024, 1024);
  expect_near(skinny.single_us + kNcuUs, 8.00, 0.10);  // dense-ncu.txt
  const Prediction dense = predict_dense<kDense>(1024, 1024, 1024);
  expect_near(dense.us, 7.25, 0.10);  // bench-launches.json, --serial
}

TEST(Prediction, SplitProductIsNearWhatWasMeasured) {
  expect_near(predict_skinny<kSplit>(128, 576, 7168).single_us + kNcuUs, 10.69, 0.10);  // dense-ncu.txt
}

TEST(Prediction, ProductOfOneRowIsNearWhatWasMeasuredAndNotBelowItsBytes) {
  const Prediction p = predict_skinny<kRow>(1, 32768, 512);
  expect_near(p.single_us, 10.24, 0.15);  // dense-stamps.txt
  constexpr double megabytes = (32768.0 * 512 + 512 + 32768) * 2 / 1e6;
  EXPECT_GT(p.single_us, megabytes / 4.3);
  EXPECT_GT(p.memory_busy, 0.75);
}

TEST(Prediction, IsTheSameEveryTime) {
  const Prediction first = predict_dense<kDense>(256, 512, 256), second = predict_dense<kDense>(256, 512, 256);
  EXPECT_EQ(first.cycles, second.cycles);
  EXPECT_EQ(first.us, second.us);
}

// A prediction moves no data and lets lanes skip words: it must take the cycles of the run that does everything.
template <class K, auto C>
void expect_the_cycles_of_a_run(int m, int n, int k, int64_t clusters, const Prediction& p) {
  runtime::Workload w;
  w.shape = {m, n, k};
  for (const auto& [name, rows, columns] : {std::tuple{"A", m, k}, {"B", n, k}, {"D", m, n}}) {
    runtime::Array a{name, C.type, rows, columns, name[0] == 'D', {}};
    a.bytes.resize(a.size());
    w.arrays.push_back(std::move(a));
  }
  w.expected.assign(size_t(m) * size_t(n), 0);
  const runtime::Outcome out = runtime::simulate<K>(
      w, {}, int(clusters) * K::plan.cluster, [&](auto& args, const auto& memory, const auto& encode) {
        return runtime::fill(args, C, memory[0], memory[1], memory[2], m, n, k, 1.f, encode);
      });
  EXPECT_TRUE(out.ok());
  EXPECT_EQ(out.sim.stats.predicted_cycles, p.result.stats.predicted_cycles);
  EXPECT_EQ(out.sim.stats.tensor_busy_cycles, p.result.stats.tensor_busy_cycles);
}

TEST(Prediction, TakesTheCyclesOfTheRunThatComputes) {
  expect_the_cycles_of_a_run<kernel::sm90::DenseGemm<kDense>, kDense>(256, 256, 320, kDense.tiles(256, 256),
                                                                      predict_dense<kDense>(256, 256, 320));
  expect_the_cycles_of_a_run<kernel::sm90::SkinnyGemm<kSplit>, kSplit>(100, 128, 512, kSplit.tiles(100, 128),
                                                                       predict_skinny<kSplit>(100, 128, 512));
}

}  // namespace
}  // namespace warpwright

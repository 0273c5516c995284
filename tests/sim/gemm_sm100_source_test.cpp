// Where the Blackwell GEMM takes its tiles from: every source, order and batch gives the same product, all roles see
// the same tiles, and no part of the scheduler's protocol can be left out.
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "gemm_sm100.h"

namespace warpwright::gemm_sm100 {

constexpr auto kClc = TileSource::clc;

TEST(GemmSm100Clc, IsExactWithAnyDepthOfTheRing) {
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .source = kClc, .clc_stages = 1}>();
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .source = kClc, .clc_stages = 2}>();
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 3, .source = kClc, .clc_stages = 3}>();
}
TEST(GemmSm100Clc, IsExactWithoutTheThrottle) {
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .source = kClc, .clc_throttle = false}>();
}
TEST(GemmSm100Clc, IsExactWhenEveryClusterDoesItsOwnTile) {
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .source = kClc, .clc_stages = 0}>();
}
TEST(GemmSm100Clc, IsExactInPairsAndClusters) {
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .cta_group = 2, .cluster_m = 2, .source = kClc}>();
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .cluster_n = 2, .source = kClc, .clc_stages = 1}>();
  expect_right_in_every_mode<Config{
      .tile_n = 32, .stages = 2, .cta_group = 2, .cluster_m = 4, .cluster_n = 2, .source = kClc}>();
}
TEST(GemmSm100Clc, IsExactWithOneResidentClusterAndWithAll) {
  constexpr Config C{.tile_n = 16, .stages = 2, .cta_group = 2, .cluster_m = 2, .source = kClc};
  for (int clusters : {1, 3, 64}) expect_right<C>({600, 100, 200}, {.clusters = clusters}, {});
}

TEST(GemmSm100, IsExactInEveryOrderOfTiles) {
  const auto sweep = []<TileOrder O>(std::integral_constant<TileOrder, O>) {
    for (int clusters : {1, 2, 3}) {
      expect_right<Config{.tile_n = 16, .raster = O, .raster_group = 2}>({600, 100, 72}, {.clusters = clusters}, {});
    }
    expect_right<Config{.tile_n = 16, .raster = O, .source = kClc}>({600, 100, 72}, {}, {});
  };
  sweep(std::integral_constant<TileOrder, TileOrder::row_major>{});
  sweep(std::integral_constant<TileOrder, TileOrder::column_major>{});
  sweep(std::integral_constant<TileOrder, TileOrder::grouped>{});
  sweep(std::integral_constant<TileOrder, TileOrder::serpentine>{});
  sweep(std::integral_constant<TileOrder, TileOrder::hilbert>{});
}

// Tails in every direction must not reach into the next matrix, whose neighbours are NaN.
TEST(GemmSm100, IsExactForABatchWithAnyStride) {
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .batched = true}>({.batches = 3});
  expect_right_in_every_mode<Config{
      .tile_n = 16, .stages = 2, .cta_group = 2, .cluster_m = 2, .source = kClc, .batched = true}>({.batches = 2});
  expect_right_in_every_mode<Config{.type = DType::e4m3,
                                    .out_type = DType::fp32,
                                    .tile_n = 32,
                                    .stages = 2,
                                    .cluster_m = 2,
                                    .cluster_n = 2,
                                    .raster = TileOrder::hilbert,
                                    .batched = true}>({.batches = 2});
}
TEST(GemmSm100, SharesAMatrixAmongABatch) {
  expect_right<Config{.tile_n = 16, .batched = true}>({130, 24, 72}, {.batches = 3, .shares_b = true}, {});
  expect_right<Config{.tile_n = 16, .batched = true, .swap_ab = true}>({24, 136, 72}, {.batches = 3, .shares_b = true},
                                                                       {});
}
TEST(GemmSm100, GivesEachMatrixOfABatchItsEpilogue) {
  constexpr Config C{.out_type = DType::fp32, .tile_n = 16, .batched = true, .epilogue = {.bias = Bias::per_column}};
  constexpr int m = 40, n = 24, stride = 32;
  const auto run = [&](const std::vector<float>& bias) {
    Product<C> product({m, n, 72}, {.batches = 2});
    const auto r = product.launch({}, [&](DenseGemmSm100Args& args, std::vector<Buffer>& buffers) {
      args.epilogue.bias = bias.data();
      args.epilogue.bias_batch_stride = stride;
      buffers.push_back({const_cast<float*>(bias.data()), bias.size() * 4, "bias", Buffer::Use::input, false});
    });
    EXPECT_TRUE(r.ok()) << r.findings[0].text();
    std::vector<float> d(product.result().size() / 4);
    std::memcpy(d.data(), product.result().data(), product.result().size());
    return d;
  };
  std::vector<float> zero(2 * stride), bias(2 * stride);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = float(i);
  const std::vector<float> without = run(zero), with = run(bias);
  for (int batch = 0; batch < 2; ++batch)
    for (int i = 0; i < m * n; ++i) {
      const size_t at = size_t(batch * (m + 3) * n + i);
      ASSERT_EQ(with[at] - without[at], bias[size_t(batch * stride + i % n)]) << batch << " " << i;
    }
}

// The scheduler's protocol inside the GEMM: each arrival, wait, expectation and fence of it.
std::vector<Mutant> clc_mutants() {
  using enum Fault::Action;
  std::vector<Mutant> all;
  for (const char* role : {"load", "mma", "epilogue"}) {
    all.push_back({"mbarrier_arrive", "clc.empty", role});
    all.push_back({"mbarrier_arrive", "clc.empty", role, duplicate, 0, 1});
    all.push_back({"mbarrier_wait", "clc.full", role});
    all.push_back({"mbarrier_wait", "clc.full", role, alter, -1});
  }
  all.push_back({"mbarrier_wait", "clc.full", "scheduler"});
  all.push_back({"mbarrier_wait", "clc.empty", "scheduler"});
  all.push_back({"mbarrier_arrive_expect_tx", "clc.full", "scheduler"});
  all.push_back({"mbarrier_arrive_expect_tx", "clc.full", "scheduler", alter, 8});
  all.push_back({"mbarrier_arrive_expect_tx", "clc.full", "scheduler", alter, 32});
  all.push_back({"mbarrier_arrive", "clc.throttle.full", "load"});
  all.push_back({"mbarrier_arrive", "clc.throttle.full", "load", duplicate, 0, 1});
  all.push_back({"mbarrier_arrive", "clc.throttle.empty", "scheduler"});
  all.push_back({"mbarrier_arrive", "clc.throttle.empty", "scheduler", duplicate, 0, 1});
  all.push_back({"mbarrier_wait", "clc.throttle.full", "scheduler"});
  all.push_back({"mbarrier_wait", "clc.throttle.empty", "load"});
  for (const char* bar : {"clc.full", "clc.empty", "clc.throttle.full", "clc.throttle.empty"}) {
    all.push_back({"mbarrier_init", bar});
  }
  return all;
}

TEST(GemmSm100Clc, NoFaultInTheProtocolPassesUnseen) {
  constexpr Config C{.tile_n = 16, .stages = 2, .source = kClc, .clc_stages = 2};
  for (const Mutant& m : clc_mutants()) expect_reported<C>(m, {128 * 4, 16 * 3, 128}, {});
}
TEST(GemmSm100Clc, NoFaultInTheProtocolOfAPairPassesUnseen) {
  constexpr Config C{.tile_n = 16, .stages = 2, .cta_group = 2, .cluster_m = 2, .source = kClc, .clc_stages = 2};
  for (const Mutant& m : clc_mutants()) expect_reported<C>(m, {128 * 8, 16 * 3, 128}, {});
}
// Without the throttle: its hand-over to the scheduler, which fences too, would cover the reads of the load role.
TEST(GemmSm100Clc, NoMissingProxyFencePassesUnseen) {
  constexpr Config C{.tile_n = 16, .stages = 2, .source = kClc, .clc_throttle = false};
  for (const char* role : {"load", "mma", "epilogue", "scheduler"}) {
    EXPECT_NE(expect_reported<C>({"fence_proxy_async", "", role}, {128 * 4, 16 * 3, 128}, {}).find("race.proxy"),
              std::string::npos);
  }
}
TEST(GemmSm100Clc, NoMissingClusterBarrierPassesUnseen) {
  constexpr Config C{.tile_n = 16, .stages = 2, .cta_group = 2, .cluster_m = 2, .source = kClc};
  for (int nth : {0, 1}) {
    expect_reported<C>({"cluster_sync", "", "", Fault::Action::drop, 0, nth}, {128 * 4, 16 * 2, 128}, {});
  }
}

}  // namespace warpwright::gemm_sm100

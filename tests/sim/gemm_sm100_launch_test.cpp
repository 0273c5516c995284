// Two ways to serve few rows: operands exchanged, so that the rows of A are columns of the MMA, and launches that begin
// while the kernel ahead on the stream still runs.
#include <cstring>
#include <string>
#include <vector>

#include "gemm_sm100.h"

namespace warpwright::gemm_sm100 {

TEST(GemmSm100Swapped, IsExact) {
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .swap_ab = true}>();
  expect_right_in_every_mode<Config{.out_type = DType::fp32, .tile_n = 8, .stages = 3, .swap_ab = true}>();
  expect_right_in_every_mode<Config{
      .type = DType::e4m3, .tile_n = 32, .stages = 2, .cta_group = 2, .cluster_m = 2, .swap_ab = true}>();
}
TEST(GemmSm100Swapped, IsExactForFewRows) {
  constexpr Config C{.tile_n = 8, .stages = 4, .swap_ab = true};
  for (int m = 1; m <= 17; ++m) expect_right<C>({m, 264, 136}, {}, {});
}
TEST(GemmSm100Swapped, IsExactForABatchInPartsWithCancelledLaunches) {
  expect_right_in_every_mode<Config{.tile_n = 16,
                                    .stages = 2,
                                    .source = TileSource::clc,
                                    .split = DepthSplit::split_k,
                                    .batched = true,
                                    .swap_ab = true}>({.batches = 2, .splits = 2});
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .split = DepthSplit::stream_k, .swap_ab = true}>(
      {.clusters = 5});
}
// Row and column of the epilogue are those of D, not of the MMA.
TEST(GemmSm100Swapped, AppliesTheEpilogueToRowsAndColumnsOfD) {
  constexpr Config C{.out_type = DType::fp32,
                     .tile_n = 16,
                     .swap_ab = true,
                     .epilogue = {.bias = Bias::per_column, .residual = true, .residual_type = DType::fp32}};
  constexpr int m = 20, n = 136;
  std::vector<float> bias(n), residual(m * n);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = float(i);
  for (size_t i = 0; i < residual.size(); ++i) residual[i] = float(1000 * i);
  const auto run = [&](bool zero) {
    Product<C> product({m, n, 72}, {});
    std::vector<float> b = zero ? std::vector<float>(n) : bias, r = zero ? std::vector<float>(m * n) : residual;
    const auto result = product.launch({}, [&](DenseGemmSm100Args& args, std::vector<Buffer>& buffers) {
      args.epilogue.bias = b.data();
      args.epilogue.residual = r.data();
      args.epilogue.residual_row_stride = n;
      buffers.push_back({b.data(), b.size() * 4, "bias", Buffer::Use::input, false});
      buffers.push_back({r.data(), r.size() * 4, "residual", Buffer::Use::input, false});
    });
    EXPECT_TRUE(result.ok()) << result.findings[0].text();
    std::vector<float> d(product.result().size() / 4);
    std::memcpy(d.data(), product.result().data(), product.result().size());
    return d;
  };
  const std::vector<float> without = run(true), with = run(false);
  for (size_t i = 0; i < size_t(m * n); ++i) ASSERT_EQ(with[i] - without[i], bias[i % n] + residual[i]) << i;
}

// What the kernel ahead may still write: everything except the weights. The kernel's own results and workspace count
// too, because the one ahead may still read or write them.
template <bool Constant>
void behind_a_primary(DenseGemmSm100Args& args, std::vector<Buffer>& buffers) {
  args.weights_are_constant = Constant;
  for (Buffer& b : buffers) b.from_primary = !(Constant && b.name == "B");
}

template <Config C, bool Constant>
void expect_right_behind_a_primary(const typename Product<C>::Extra& extra = {}) {
  in_every_mode(kernel::sm100::DenseGemm<C>::plan, 1, [&](Options o) {
    o.primary_pending = true;
    for (const Case& c : {Case{256, 64, 72}, Case{40, 24, 504}, Case{8, 8, 64}}) {
      Product<C> product(c, extra);
      const auto r = product.launch(o, behind_a_primary<Constant>);
      ASSERT_TRUE(r.ok()) << r.findings[0].text();
      ASSERT_EQ(product.wrong(), "");
    }
  });
}

constexpr Config kDependent{.tile_n = 16, .stages = 3, .dependent = true};
constexpr Config kDependentPair{
    .tile_n = 32, .stages = 2, .k_group = 2, .cta_group = 2, .cluster_m = 2, .dependent = true};
constexpr Config kDependentSwapped{
    .tile_n = 16, .stages = 2, .split = DepthSplit::split_k, .swap_ab = true, .dependent = true};
constexpr Config kDependentCluster{
    .tile_n = 16, .stages = 2, .cluster_m = 2, .cluster_n = 2, .source = TileSource::clc, .dependent = true};

TEST(GemmSm100Dependent, TouchesNothingOfThePrimaryBeforeItsEnd) {
  expect_right_behind_a_primary<kDependent, false>();
  expect_right_behind_a_primary<kDependentPair, false>();
  expect_right_behind_a_primary<kDependentSwapped, false>({.splits = 3});
}
TEST(GemmSm100Dependent, FetchesConstantWeightsBefore) {
  expect_right_behind_a_primary<kDependent, true>();
  expect_right_behind_a_primary<kDependentPair, true>();
  expect_right_behind_a_primary<kDependentSwapped, true>({.splits = 2});
  expect_right_behind_a_primary<kDependentCluster, true>();
}
// When told that weights are constant, it reads them at once: if they are not, that is reported.
template <Config C>
std::string rule_when_weights_change() {
  Options o;
  o.primary_pending = true;
  Product<C> product({40, 24, 136}, {});
  const auto r = product.launch(o, [](DenseGemmSm100Args& args, std::vector<Buffer>& buffers) {
    behind_a_primary<true>(args, buffers);
    buffers[1].from_primary = true;
  });
  return r.ok() ? "" : r.findings[0].rule + " " + r.findings[0].object;
}
TEST(GemmSm100Dependent, ReallyFetchesWeightsBeforeThePrimaryEnds) {
  EXPECT_EQ(rule_when_weights_change<kDependent>(), "dependent_launch.stale B");
  EXPECT_EQ(rule_when_weights_change<kDependentSwapped>(), "dependent_launch.stale B");
}
TEST(GemmSm100Dependent, NoMissingWaitPassesUnseen) {
  Options o;
  o.primary_pending = true;
  for (const char* role : {"load", "epilogue"}) {
    const Mutant m{"grid_dependency_wait", "", role};
    EXPECT_NE(expect_reported<kDependent>(m, {40, 24, 136}, {}, o, behind_a_primary<true>).find("stale"),
              std::string::npos);
    expect_reported<kDependentPair>(m, {40, 24, 136}, {}, o, behind_a_primary<true>);
    expect_reported<kDependentSwapped>(m, {40, 24, 504}, {.splits = 2}, o, behind_a_primary<true>);
  }
}
// The stages that were begun early obey the same barriers as the others.
TEST(GemmSm100Dependent, NoFaultAtTheFirstStagesPassesUnseen) {
  using enum Fault::Action;
  Options o;
  o.primary_pending = true;
  for (int nth : {0, 1, 2}) {
    for (const Mutant& m :
         {Mutant{"mbarrier_arrive_expect_tx", "input.full", "load", drop, 0, nth},
          Mutant{"mbarrier_arrive_expect_tx", "input.full", "load", alter, 1024, nth},
          Mutant{"tma_load", "input.a", "load", drop, 0, nth}, Mutant{"tma_load", "input.b", "load", drop, 0, nth}}) {
      expect_reported<kDependent>(m, {40, 24, 504}, {}, o, behind_a_primary<true>);
      expect_reported<kDependentPair>(m, {40, 24, 504}, {}, o, behind_a_primary<true>);
    }
  }
}

}  // namespace warpwright::gemm_sm100

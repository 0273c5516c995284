// The skinny kernel on Hopper with its depth split among the CTAs of a cluster: exact on integers for every way of
// sharing the tokens, even where the split does not divide them, and the same bits in every order of events.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sim/dense_variant.h"

namespace warpwright {
namespace {

using dense_variant::SkinnyVariant;
using reference::Case;
using reference::Data;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using Config = SkinnyGemmConfig;

template <Config C>
simulate::Outcome run(const reference::Workload& w, const Options& o, int clusters) {
  return simulate::simulate<kernel::sm90::SkinnyGemm<C>>(
      w, o, clusters * C.split,
      [&](auto& args, const auto& p, const auto& encode) { return SkinnyVariant<C>::fill(args, w, p, encode); });
}

// Several tiles in all directions with tails, less depth than there are CTAs, no depth.
template <Config C>
void sweep() {
  constexpr int unit = 8 * C.operands();
  const Case cases[] = {
      {C.tokens, 2 * C.rows, 5 * C.tile_k()}, {C.tokens + 3, C.rows + unit, (C.split - 1) * C.tile_k()}, {1, unit, 0}};
  uint64_t seed = 1;
  for (const Case& c : cases) {
    for (const Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
      Options o;
      o.landing = landing;
      o.scheduling = seed % 2 ? Scheduling::random : Scheduling::pct;
      o.seed = seed++;
      SCOPED_TRACE(testing::Message() << "split " << C.split << ", tokens " << C.tokens << ", seed " << o.seed);
      const auto w = reference::gemm_workload(SkinnyVariant<C>::spec(c), Data::integers, o.seed);
      const auto out = run<C>(w, o, 1 + int(seed % 2));
      ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
      ASSERT_TRUE(out.verdict.ok) << c.m << "x" << c.n << "x" << c.k << ": " << out.verdict.wrong << " wrong, "
                                  << out.verdict.unwritten << " unwritten";
    }
  }
}

TEST(SkinnySplit, IsExactWhateverTheSplit) {
  sweep<Config{.tokens = 8, .split = 3, .stages = 2}>();
  sweep<Config{.tokens = 16, .split = 2, .stages = 2}>();
  sweep<Config{.tokens = 32, .split = 4, .stages = 3, .epilogue = factor_and_conversion(DType::fp32)}>();
  sweep<Config{.rows = 128, .tokens = 16, .split = 2, .stages = 2}>();
}

TEST(SkinnySplit, PairsTheRowsOfTheWeights) {
  sweep<Config{.tokens = 8, .split = 3, .stages = 2, .epilogue = dense_variant::kSwiglu}>();
  sweep<Config{.rows = 128, .tokens = 24, .split = 2, .stages = 2, .epilogue = dense_variant::kSwiglu}>();
  constexpr EpilogueConfig wide{.out = DType::fp32, .activation = Activation::swiglu};
  sweep<Config{.type = DType::e4m3, .tokens = 16, .stages = 2, .epilogue = wide, .scaling = Scaling::row_column}>();
}

TEST(SkinnySplit, GivesTheSameBitsInEveryOrderOfEvents) {
  constexpr Config c{.tokens = 16, .split = 3, .stages = 2, .epilogue = factor_and_conversion(DType::fp32)};
  const auto w = reference::gemm_workload(SkinnyVariant<c>::spec({16, 64, 960}), Data::normal, 3);
  std::vector<uint8_t> first;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Options o;
    o.seed = seed;
    o.landing = seed % 2 ? Landing::late : Landing::seeded;
    o.scheduling = Scheduling::random;
    const auto out = run<c>(w, o, 1);
    ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
    if (first.empty()) first = out.output;
    EXPECT_EQ(out.output, first) << "seed " << seed;
  }
}

}  // namespace
}  // namespace warpwright

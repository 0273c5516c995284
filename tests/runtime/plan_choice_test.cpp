// The choice among compiled Hopper kernels: always one that can serve the problem, and the one with the least modelled
// time.
#include "runtime/plan_choice.h"

#include <gtest/gtest.h>

namespace warpwright::runtime {
namespace {

constexpr int kSms = 132;

TEST(PlanChoice, IsTheLeastEstimateAmongThosePlansThatCanServe) {
  for (int64_t m : {1, 7, 64, 100, 129, 512, 4096})
    for (int64_t n : {8, 576, 4096, 24576})
      for (int64_t k : {64, 512, 7168}) {
        const GemmShape shape{m, n, k};
        const int best = choose_plan(shape, kSms);
        ASSERT_GE(best, 0);
        ASSERT_TRUE(can_serve(best, shape)) << plan_text(best);
        for (int p = 0; p < plan_count(); ++p)
          if (can_serve(p, shape)) {
            EXPECT_LE(estimate(best, shape, kSms).us, estimate(p, shape, kSms).us)
                << plan_text(p) << " beats " << plan_text(best);
          }
      }
}

TEST(PlanChoice, TakesTheSkinnyKernelForOneRowAndALargeTileForSquares) {
  EXPECT_TRUE(is_skinny(choose_plan({1, 4096, 7168}, kSms)));
  const int big = choose_plan({8192, 8192, 8192}, kSms);
  EXPECT_FALSE(is_skinny(big));
  EXPECT_GE(estimate(big, {8192, 8192, 8192}, kSms).tile_n, 192);
}

TEST(PlanChoice, ServesNoTypeThatWasNotCompiled) { EXPECT_EQ(choose_plan({128, 128, 128, DType::e4m3}, kSms), -1); }

TEST(PlanChoice, CoversEveryTileOfD) {
  for (int p = 0; p < plan_count(); ++p) {
    const GemmShape shape{64, 1000, 256, plan_type(p)};
    if (!can_serve(p, shape)) continue;
    const PlanEstimate e = estimate(p, shape, kSms);
    const int cluster = plan_of(p).cluster;
    EXPECT_GE(e.tiles * int64_t(e.tile_m) * e.tile_n * cluster, shape.m * shape.n) << plan_text(p);
    EXPECT_GT(e.waves, 0) << plan_text(p);
    EXPECT_GT(e.us, 0) << plan_text(p);
    EXPECT_TRUE(e.fill > 0 && e.fill <= 1) << plan_text(p) << " " << e.fill;
  }
}

TEST(PlanChoice, NoEstimateIsBelowTheFloor) {
  for (const GemmShape& shape :
       {GemmShape{1, 7168, 16384}, {4096, 4096, 4096}, {8192, 8192, 8192}, {128, 24576, 1536}}) {
    const int best = choose_plan(shape, kSms);
    EXPECT_GE(estimate(best, shape, kSms).us, floor_of(shape).us() * 0.99) << plan_text(best);
  }
}

TEST(PlanChoice, PlansObeyTheirOwnRules) {
  for (int p = 0; p < plan_count(); ++p) {
    const Plan plan = plan_of(p);
    EXPECT_TRUE(plan.arrivals_match_counts() && plan.shared_memory_fits() && plan.registers_fit()) << plan_text(p);
  }
}

}  // namespace
}  // namespace warpwright::runtime

// What the API for grouped and blockwise products refuses, and the sentence it says; which kernel it takes.
#include "warpwright/grouped.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <tuple>

#include "runtime/plan_grouped.h"

namespace warpwright {
namespace {

GroupedProblem blockwise(int64_t m, int64_t n, int64_t k) { return {.m = m, .n = n, .k = k}; }

std::string sentence(GroupedProblem p, const std::function<void(GroupedProblem&)>& change) {
  change(p);
  const Status s = validate(p);
  EXPECT_TRUE(s.ok() || s.code() == Code::invalid_argument);
  return s.message();
}

TEST(GroupedApi, AcceptsWhatTheKernelsServe) {
  EXPECT_EQ(validate(blockwise(4096, 7168, 2048)).message(), "");
  EXPECT_EQ(validate(blockwise(1, 8, 16)).message(), "");
  EXPECT_EQ(validate(blockwise(0, 0, 0)).message(), "");
  GroupedProblem p{.groups = Groups::masked, .m = 32 * 100, .n = 64, .k = 64, .group_count = 32, .type = DType::bf16};
  EXPECT_EQ(validate(p).message(), "");
  p.groups = Groups::contiguous;
  p.m = 77;
  EXPECT_EQ(validate(p).message(), "");
  p.group_count = 0;
  EXPECT_EQ(validate(p).message(), "");
}

TEST(GroupedApi, NamesTheArgumentItsValueAndTheRule) {
  const GroupedProblem good = blockwise(256, 256, 512);
  using P = GroupedProblem;
  EXPECT_EQ(sentence(good, [](P& p) { p.m = -1; }), "m = -1: it must not be negative.");
  EXPECT_EQ(sentence(good, [](P& p) { p.k = 120; }),
            "k = 120: it must be a multiple of 16, since the rows of A and B are moved in units of 16 bytes.");
  EXPECT_EQ(sentence(good, [](P& p) { p.n = 12; }),
            "n = 12: it must be a multiple of 8, since the rows of D are moved in units of 16 bytes.");
  EXPECT_EQ(sentence(good, [](P& p) { p.type = DType::fp16; }),
            "type = fp16: A and B must be e4m3, with blockwise scales, or bf16.");
  EXPECT_EQ(sentence(good, [](P& p) { p.type = DType::bf16; }),
            "groups = none: one product of bf16 matrices is made by gemm().");
  EXPECT_EQ(sentence(good, [](P& p) { p.out = DType::e4m3; }), "out = e4m3: D must be bf16 or fp32.");
  EXPECT_EQ(sentence(good, [](P& p) { p.group_count = 2; }), "group_count = 2: one product has exactly 1 group.");
  EXPECT_EQ(sentence(good,
                     [](P& p) {
                       p.groups = Groups::masked;
                       p.group_count = 3;
                     }),
            "m = 256: masked groups have equal room, m must be a multiple of group_count = 3.");
  EXPECT_EQ(sentence(good, [](P& p) { p.sm_limit = -2; }), "sm_limit = -2: it must not be negative.");
}

TEST(GroupedApi, RefusesScalesOfAnotherShape) {
  const GroupedProblem good = blockwise(256, 200, 528);
  using P = GroupedProblem;
  EXPECT_EQ(sentence(good,
                     [](P& p) {
                       p.a_scales = {256, 5};
                       p.b_scales = {2, 5};
                     }),
            "");
  EXPECT_EQ(sentence(good,
                     [](P& p) {
                       p.a_scales = {5, 256};
                     }),
            "a_scales.rows = 5: the scales have 256 rows, one for each row of A.");
  EXPECT_EQ(sentence(good, [](P& p) { p.a_scales.columns = 4; }),
            "a_scales.columns = 4: the scales have 5 columns, one for each 128 elements along k.");
  EXPECT_EQ(sentence(good, [](P& p) { p.b_scales.rows = 200; }),
            "b_scales.rows = 200: the scales have 2 rows, one for each 128 rows of every B.");
}

TEST(GroupedApi, TakesAKernelThatFitsTheProblem) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 576, 7168}, {128, 24576, 1536}, {4096, 2112, 7168}}) {
    const auto choice = runtime::choose(blockwise(m, n, k), 132);
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_EQ(choice->kernel.skinny, m <= 128 && choice->kernel.skinny);
    GroupedProblem named = blockwise(m, n, k);
    named.plan = runtime::plan_name(choice->kernel);
    const auto again = runtime::choose(named, 132);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->kernel, choice->kernel);
  }
  EXPECT_TRUE(runtime::choose(blockwise(1, 576, 7168), 132)->kernel.skinny);
  EXPECT_FALSE(runtime::choose(blockwise(4096, 576, 7168), 132)->kernel.skinny);
}

// The fastest of all instances on an H200, docs/evidence/blockwise-m1.json.
TEST(GroupedApi, TakesTheInstanceThatWasMeasuredToBeTheFastestForOneRow) {
  const std::tuple<int64_t, int64_t, const char*> measured[] = {
      {2112, 7168, "skinny-64x8-k3-s20"}, {576, 7168, "skinny-64x8-k8-s20"},   {24576, 1536, "skinny-64x8-k1-s20"},
      {32768, 512, "skinny-64x8-k1-s20"}, {7168, 16384, "skinny-64x8-k1-s20"}, {4096, 7168, "skinny-64x8-k2-s20"},
      {7168, 2048, "skinny-64x8-k1-s20"},
  };
  for (const auto& [n, k, plan] : measured) {
    EXPECT_EQ(runtime::plan_name(runtime::choose(blockwise(1, n, k), 132)->kernel), plan) << n << " x " << k;
  }
}

TEST(GroupedApi, RefusesAPlanThatDoesNotServeTheProblem) {
  GroupedProblem p = blockwise(4096, 576, 7168);
  p.plan = "skinny-64x8-k4-s20";
  const auto choice = runtime::choose(p, 132);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().message().rfind("plan = skinny-64x8-k4-s20: it is not one of grouped-128x128-c2-s5", 0), 0u)
      << choice.status().message();
  p.plan = "";
  p.groups = Groups::contiguous;
  p.out = DType::fp32;
  EXPECT_EQ(runtime::choose(p, 132).status().code(), Code::unsupported);
}

TEST(GroupedApi, SaysWhatIsMissingWithoutAGpu) {
  const auto plan = make_plan(blockwise(16, 16, 128));
  if (plan.ok()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(plan.status().code(), Code::missing);
}

}  // namespace
}  // namespace warpwright

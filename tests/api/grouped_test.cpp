// What the API for grouped and blockwise products refuses, and the sentence it says; which kernel it takes.
#include "warpwright/grouped.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <tuple>

#include "choice/grouped.h"

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
  EXPECT_EQ(sentence(good, [](P& p) { p.out = DType::fp16; }), "out = fp16: D must be bf16, fp32 or e4m3.");
  EXPECT_EQ(sentence(good, [](P& p) { p.group_count = 2; }), "group_count = 2: one product has exactly 1 group.");
  EXPECT_EQ(sentence(good,
                     [](P& p) {
                       p.groups = Groups::masked;
                       p.group_count = 3;
                     }),
            "m = 256: masked groups have equal room, so m must be a multiple of group_count = 3.");
  EXPECT_EQ(sentence(good, [](P& p) { p.sm_limit = -2; }), "sm_limit = -2: it must not be negative.");
}

TEST(GroupedApi, GathersRowsOfContiguousGroups) {
  const GroupedProblem good{.groups = Groups::contiguous,
                            .m = 500,
                            .n = 64,
                            .k = 64,
                            .group_count = 3,
                            .type = DType::bf16,
                            .gathered = true,
                            .a_rows = 40};
  using P = GroupedProblem;
  EXPECT_EQ(validate(good).message(), "");
  EXPECT_EQ(sentence(good, [](P& p) { p.groups = Groups::masked, p.m = 600; }),
            "gathered = true: gathered rows are those of contiguous groups.");
  EXPECT_EQ(sentence(good, [](P& p) { p.a_rows = 0; }), "a_rows = 0: A must have a row that can be gathered.");
  EXPECT_EQ(sentence(good, [](P& p) { p.a_rows = -3; }), "a_rows = -3: it must not be negative.");
  EXPECT_EQ(sentence(good, [](P& p) { p.out = DType::fp32; }), "out = fp32: D of gathered rows must be bf16 or e4m3.");
  EXPECT_EQ(sentence(good, [](P& p) { p.gathered = false; }),
            "a_rows = 40: without gathered rows A has m = 500 rows; it must be 0.");
  for (const auto& instance : choice::instances_for(good)) {
    EXPECT_TRUE(instance.as<GroupedGemmConfig>()->gathered) << catalog::name_of(instance);
  }
  EXPECT_FALSE(choice::instances_for(good).empty());
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

TEST(GroupedApi, RefusesScalesOfRowsOfBOfAnotherShape) {
  GroupedProblem p = blockwise(256, 200, 528);
  p.b_scale_rows = 1;
  p.b_scales = {200, 5};
  EXPECT_EQ(validate(p).message(), "");
  p.b_scales = {2, 5};
  EXPECT_EQ(validate(p).message(), "b_scales.rows = 2: the scales have 200 rows, one for each row of every B.");
  p.b_scale_rows = 64;
  EXPECT_EQ(validate(p).message(), "b_scale_rows = 64: 1 or 128 rows of B share a scale.");
}

TEST(GroupedApi, RefusesWhatGroupsAlongTheDepthCannotBe) {
  GroupedProblem good = blockwise(256, 200, 512);
  good.groups = Groups::by_depth;
  good.group_count = 4;
  good.out = DType::fp32;
  good.b_scale_rows = 1;
  good.accumulate = true;
  using P = GroupedProblem;
  EXPECT_EQ(validate(good).message(), "");
  EXPECT_EQ(sentence(good, [](P& p) { p.b_scale_rows = 128; }),
            "b_scale_rows = 128: groups along k have a scale for each row of B, so it must be 1.");
  EXPECT_EQ(sentence(good, [](P& p) { p.k = 528; }),
            "k = 528: groups along k of e4m3 are whole blocks that share a scale, so k must be a multiple of 128.");
  EXPECT_EQ(sentence(good, [](P& p) { p.out = DType::bf16; }), "out = bf16: D must be fp32 to be added to.");
  EXPECT_EQ(sentence(good, [](P& p) { p.matrix_count = 2; }), "matrix_count = 2: groups along k are columns of one B.");
  EXPECT_EQ(sentence(good, [](P& p) { p.bias = Bias::per_column; }),
            "groups = by_depth: groups along k have neither a bias nor an activation.");
  EXPECT_EQ(sentence(good, [](P& p) { p.out = DType::e4m3; }),
            "n = 200: D has 200 columns, which must be a multiple of 128, since a scale covers that many.");
  EXPECT_EQ(sentence(good,
                     [](P& p) {
                       p.out = DType::e4m3;
                       p.n = 256;
                     }),
            "out = e4m3: D of groups along k must be fp32 or bf16.");
  EXPECT_EQ(sentence(good,
                     [](P& p) {
                       p.m = 1 << 29;
                       p.group_count = 8;
                     }),
            "m = 536870912: 8 matrices D of that many rows have more than 2147483647 rows together.");
  good.type = DType::bf16;
  good.k = 1000;
  EXPECT_EQ(validate(good).message(), "");
  good.groups = Groups::contiguous;
  EXPECT_EQ(validate(good).message(), "accumulate = true: only D of one product, or of groups along k, is added to.");
}

TEST(GroupedApi, AddsOneProductToD) {
  GroupedProblem good = blockwise(256, 200, 528);
  good.out = DType::fp32;
  good.accumulate = true;
  using P = GroupedProblem;
  EXPECT_EQ(validate(good).message(), "");
  EXPECT_EQ(sentence(good, [](P& p) { p.b_scale_rows = 1; }), "");
  EXPECT_EQ(sentence(good, [](P& p) { p.out = DType::bf16; }), "out = bf16: D must be fp32 to be added to.");
  EXPECT_EQ(sentence(good, [](P& p) { p.bias = Bias::per_column; }),
            "accumulate = true: sums with a bias or an activation are not added to D.");
  for (const int rows : {1, 128}) {
    good.b_scale_rows = rows;
    good.m = 8;  // few rows have a kernel of their own, which does not add
    ASSERT_FALSE(choice::instances_for(good).empty());
    for (const auto& instance : choice::instances_for(good)) {
      ASSERT_NE(instance.as<GroupedGemmConfig>(), nullptr) << catalog::name_of(instance);
      EXPECT_TRUE(instance.as<GroupedGemmConfig>()->adds) << catalog::name_of(instance);
    }
  }
}

TEST(GroupedApi, TakesMatricesThatAreStoredAlongTheirRows) {
  GroupedProblem good{.groups = Groups::contiguous,
                      .m = 500,
                      .n = 64,
                      .k = 72,
                      .group_count = 2,
                      .type = DType::bf16,
                      .b_major = Major::MN};
  using P = GroupedProblem;
  EXPECT_EQ(validate(good).message(), "");
  EXPECT_EQ(sentence(good, [](P& p) { p.groups = Groups::masked; }), "");
  EXPECT_EQ(sentence(good, [](P& p) { p.type = DType::e4m3; }),
            "b_major = MN: wgmma reads operands of 16 bits that way, and type = e4m3; A and B must be stored along k.");
  EXPECT_EQ(sentence(good, [](P& p) { p.a_major = Major::MN; }),
            "a_major = MN: A of groups of rows must be stored [m, k].");
  EXPECT_EQ(sentence(good, [](P& p) { p.activation = Activation::swiglu; }),
            "b_major = MN: with an activation B must be stored [n, k].");
  EXPECT_EQ(sentence(good, [](P& p) { p.gathered = true, p.a_rows = 5; }),
            "b_major = MN: with gathered rows of A B must be stored [n, k].");
  EXPECT_EQ(sentence(good, [](P& p) { p.k = 70; }),
            "k = 70: it must be a multiple of 8, since the rows of A are moved in units of 16 bytes.");
  EXPECT_EQ(sentence(good, [](P& p) { p.n = 60; }),
            "n = 60: it must be a multiple of 8, since the rows of B are moved in units of 16 bytes.");
  good.groups = Groups::by_depth;
  good.out = DType::fp32;
  EXPECT_EQ(validate(good).message(),
            "b_major = MN: A and B of groups along k are stored the same way, so a_major must be MN too.");
  good.a_major = Major::MN;
  good.k = 71;
  EXPECT_EQ(validate(good).message(),
            "m = 500: it must be a multiple of 8, since the rows of A are moved in units of 16 bytes.");
  good.m = 504;
  EXPECT_EQ(validate(good).message(), "");
  EXPECT_EQ(sentence(good, [](P& p) { p.b_major = Major::K; }),
            "a_major = MN: A and B of groups along k are stored the same way, so b_major must be MN too.");
}

TEST(GroupedApi, RefusesEpiloguesThatHaveNoMeaning) {
  GroupedProblem good = blockwise(256, 512, 512);
  good.activation = Activation::swiglu;
  good.bias = Bias::per_column;
  good.out = DType::e4m3;
  using P = GroupedProblem;
  EXPECT_EQ(validate(good).message(), "");
  EXPECT_EQ(sentence(good, [](P& p) { p.n = 640; }),
            "n = 640: it must be a multiple of 256, since the gates and their blocks of 128 rows with a scale of B end "
            "there.");
  EXPECT_EQ(sentence(good,
                     [](P& p) {
                       p.n = 640;
                       p.b_scale_rows = 1;
                     }),
            "n = 640: D has 320 columns, which must be a multiple of 128, since a scale covers that many.");
  EXPECT_EQ(sentence(good,
                     [](P& p) {
                       p.n = 24;
                       p.b_scale_rows = 1;
                       p.out = DType::bf16;
                     }),
            "n / 2 = 12: it must be a multiple of 8, since the rows of D are moved in units of 16 bytes.");
  EXPECT_EQ(sentence(good, [](P& p) { p.out = DType::fp32; }), "out = fp32: D after swiglu must be bf16 or e4m3.");
  EXPECT_EQ(sentence(good, [](P& p) { p.activation = Activation::relu; }),
            "activation = 1: these products have swiglu or none.");
  EXPECT_EQ(sentence(good, [](P& p) { p.bias = Bias::per_row; }),
            "bias = per_row: only a formula names a bias of each row; the other has one for each row of B.");
  EXPECT_EQ(sentence(good, [](P& p) { p.bias_type = DType::e4m3; }), "bias_type = e4m3: a bias must be fp32 or bf16.");
}

TEST(GroupedApi, TakesAKernelThatFitsTheProblem) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 576, 7168}, {128, 24576, 1536}, {4096, 2112, 7168}}) {
    const auto choice = choice::choose(blockwise(m, n, k), 132);
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_TRUE(m <= 128 || choice->instance.as<SkinnyBlockwiseConfig>() == nullptr);
    GroupedProblem named = blockwise(m, n, k);
    named.plan = catalog::plan_name(choice->instance);
    const auto again = choice::choose(named, 132);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->instance, choice->instance);
  }
  EXPECT_NE(choice::choose(blockwise(1, 576, 7168), 132)->instance.as<SkinnyBlockwiseConfig>(), nullptr);
  EXPECT_EQ(choice::choose(blockwise(4096, 576, 7168), 132)->instance.as<SkinnyBlockwiseConfig>(), nullptr);
}

TEST(GroupedApi, TakesTheKernelThatHasTheModeOfTheProblem) {
  const auto plan_for = [](const GroupedProblem& p) {
    EXPECT_EQ(validate(p).message(), "");
    const auto choice = choice::choose(p, 132);
    return choice ? catalog::plan_name(choice->instance) : choice.status().message();
  };
  GroupedProblem rows = blockwise(8, 576, 7168);
  rows.b_scale_rows = 1;
  EXPECT_EQ(plan_for(rows), "grouped-128x128-c2n-s5");
  rows.groups = Groups::masked;
  EXPECT_EQ(plan_for(rows), "grouped-128x128-c2n-s5");

  GroupedProblem depth = blockwise(4096, 7168, 8192);
  depth.groups = Groups::by_depth;
  depth.group_count = 8;
  depth.b_scale_rows = 1;
  depth.out = DType::fp32;
  depth.accumulate = true;
  EXPECT_EQ(plan_for(depth), "grouped-128x192-c2-s4");
  depth.type = DType::bf16;
  EXPECT_EQ(plan_for(depth), "grouped-128x256-c2-s4");
  depth.a_major = depth.b_major = Major::MN;
  EXPECT_EQ(plan_for(depth), "grouped-128x256-c2-s4");
  EXPECT_EQ(catalog::name_of(choice::choose(depth, 132)->instance),
            "sm90/grouped-128x256-c2-s4/bf16-tn-to_fp32-along_k");
  depth.a_major = depth.b_major = Major::K;
  depth.accumulate = false;
  depth.out = DType::bf16;
  EXPECT_EQ(plan_for(depth),
            "out = bf16: no kernel of this version makes depth-grouped products of bf16 with D in bf16.");

  GroupedProblem turned = blockwise(4096, 7168, 2048);
  turned.groups = Groups::contiguous;
  turned.group_count = 4;
  turned.type = DType::bf16;
  turned.b_major = Major::MN;
  EXPECT_EQ(plan_for(turned), "grouped-128x256-c2-s4");
  turned.groups = Groups::masked;
  EXPECT_EQ(plan_for(turned), "grouped-256x128-c2n-s4");
  turned.usual_rows = 20;
  EXPECT_EQ(plan_for(turned), "grouped-64x128-c1-s8");
  turned.out = DType::fp32;
  EXPECT_EQ(plan_for(turned),
            "out = fp32: no kernel of this version makes grouped products of bf16 with D in fp32, B stored [k, n].");

  GroupedProblem added = blockwise(4096, 7168, 2048);
  added.out = DType::fp32;
  added.accumulate = true;
  EXPECT_EQ(plan_for(added), "grouped-128x128-c2-s5");
  added.b_scale_rows = 1;
  EXPECT_EQ(plan_for(added), "grouped-128x160-c2-s4");

  GroupedProblem fused = blockwise(4096, 4096, 7168);
  fused.activation = Activation::swiglu;
  fused.out = DType::e4m3;
  for (Groups groups : {Groups::none, Groups::contiguous, Groups::masked}) {
    fused.groups = groups;
    EXPECT_EQ(plan_for(fused), "grouped-128x256-c2n-s4");
  }
  fused.activation = Activation::none;
  EXPECT_EQ(plan_for(fused), "grouped-128x128-c2n-s6");
  fused.out = DType::bf16;
  fused.bias = Bias::per_column;
  EXPECT_EQ(plan_for(fused), "grouped-128x128-c2n-s5");

  fused.type = DType::bf16;
  for (Groups groups : {Groups::contiguous, Groups::masked}) {
    fused.groups = groups;
    for (DType out : {DType::bf16, DType::e4m3}) {
      fused.out = out;
      fused.activation = Activation::none;
      EXPECT_EQ(plan_for(fused).rfind("grouped-128x128-c2n", 0), 0u) << plan_for(fused);
      fused.activation = Activation::swiglu;
      EXPECT_EQ(plan_for(fused).rfind("grouped-128x256-c2n", 0), 0u) << plan_for(fused);
    }
  }
}

// The fastest of all instances on an H200, docs/evidence/bench-deepgemm.json, where no tile of 128 columns, which were
// not among them, is as good by the model.
TEST(GroupedApi, TakesTheInstanceThatWasMeasuredToBeTheFastestForOneRow) {
  const std::tuple<int64_t, int64_t, const char*> measured[] = {
      {2112, 7168, "blockwise-64x8-split3-s20"},
      {576, 7168, "blockwise-64x8-split8-s20"},
      {7168, 2048, "blockwise-64x8-split1-s20"},
  };
  for (const auto& [n, k, plan] : measured) {
    EXPECT_EQ(catalog::plan_name(choice::choose(blockwise(1, n, k), 132)->instance), plan) << n << " x " << k;
  }
}

// The same, with 128 rows. 24576 x 1536 is left to the tuned table: the model takes grouped-128x192-c1-s4 there, which
// took 1.11 times as long.
TEST(GroupedApi, TakesTheInstanceThatWasMeasuredToBeTheFastestFor128Rows) {
  const std::tuple<int64_t, int64_t, const char*> measured[] = {
      {2112, 7168, "blockwise-64x128-split3-s6"},  {576, 7168, "blockwise-64x64-split4-s12"},
      {32768, 512, "blockwise-128x128-split1-s4"}, {7168, 16384, "blockwise-64x128-split1-s7"},
      {4096, 7168, "blockwise-64x128-split2-s7"},  {7168, 2048, "blockwise-64x128-split1-s7"},
  };
  for (const auto& [n, k, plan] : measured) {
    EXPECT_EQ(catalog::plan_name(choice::choose(blockwise(128, n, k), 132)->instance), plan) << n << " x " << k;
  }
}

TEST(GroupedApi, RefusesAPlanThatDoesNotServeTheProblem) {
  GroupedProblem p = blockwise(4096, 576, 7168);
  p.plan = "blockwise-64x8-split4-s20";
  const auto choice = choice::choose(p, 132);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().message().rfind("plan = blockwise-64x8-split4-s20: it does not serve single products", 0),
            0u)
      << choice.status().message();
  p.plan = "";
  p.groups = Groups::contiguous;
  p.out = DType::fp32;
  EXPECT_EQ(choice::choose(p, 132).status().code(), Code::unsupported);
}

TEST(GroupedApi, SaysWhatIsMissingWithoutAGpu) {
  const auto plan = make_plan(blockwise(16, 16, 128));
  if (plan.ok()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(plan.status().code(), Code::missing);
}

}  // namespace
}  // namespace warpwright

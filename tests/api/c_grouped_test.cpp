// The C interface of grouped and blockwise products: defaults, sizes of older callers, and sentences.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "warpwright/c_api.h"

namespace {

ww_grouped_problem problem(int64_t m, int64_t n, int64_t k) {
  ww_grouped_problem p;
  ww_grouped_problem_init(&p);
  p.m = m;
  p.n = n;
  p.k = k;
  return p;
}

TEST(CGroupedApi, ValidatesLikeTheCppInterface) {
  ww_grouped_problem p = problem(128, 256, 512);
  EXPECT_EQ(ww_grouped_validate(&p), WW_OK);
  p.k = 24;
  EXPECT_EQ(ww_grouped_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(),
               "k = 24: it must be a multiple of 16, since the rows of A and B are moved in units of 16 bytes.");
  p = problem(128, 256, 512);
  p.a_scales_rows = 127;
  EXPECT_EQ(ww_grouped_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(), "a_scales.rows = 127: the scales have 128 rows, one for each row of A.");
}

TEST(CGroupedApi, RefusesNumbersThatAreNoEnumerators) {
  ww_grouped_problem p = problem(128, 256, 512);
  p.groups = 4;
  EXPECT_EQ(ww_grouped_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(), "groups = 4: it is not one of the values of its type.");
}

TEST(CGroupedApi, TakesTheProblemOfAnOlderCaller) {
  ww_grouped_problem p = problem(128, 256, 512);
  p.size = offsetof(ww_grouped_problem, a_scales_rows);
  p.a_scales_rows = 5;  // past its size: not read
  EXPECT_EQ(ww_grouped_validate(&p), WW_OK);
  p.size = sizeof p + 8;
  EXPECT_EQ(ww_grouped_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(ww_last_error(), "ww_grouped_problem_init"), nullptr);
  EXPECT_EQ(ww_grouped_validate(nullptr), WW_INVALID_ARGUMENT);
}

TEST(CGroupedApi, TakesEveryKindOfGroupsAndEpilogue) {
  ww_grouped_problem p = problem(128, 256, 512);
  EXPECT_EQ(p.b_scale_rows, 128);
  p.groups = WW_GROUPS_BY_DEPTH;
  p.group_count = 4;
  p.out = WW_FP32;
  p.accumulate = 1;
  EXPECT_EQ(ww_grouped_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(), "b_scale_rows = 128: groups along k have a scale for each row of B, so it must be 1.");
  p.b_scale_rows = 1;
  EXPECT_EQ(ww_grouped_validate(&p), WW_OK) << ww_last_error();
  p = problem(128, 256, 512);
  p.activation = WW_ACTIVATION_SWIGLU;
  p.bias = WW_BIAS_PER_COLUMN;
  p.out = WW_E4M3;
  EXPECT_EQ(ww_grouped_validate(&p), WW_OK) << ww_last_error();
  p.activation = 77;
  EXPECT_EQ(ww_grouped_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(), "activation = 77: it is not one of the values of its type.");
}

TEST(CGroupedApi, TakesMatricesAsTheyAreStored) {
  ww_grouped_problem p = problem(128, 256, 515);
  EXPECT_EQ(p.a_major, WW_MAJOR_K);
  p.groups = WW_GROUPS_BY_DEPTH;
  p.type = WW_BF16;
  p.out = WW_FP32;
  p.a_major = p.b_major = WW_MAJOR_MN;
  EXPECT_EQ(ww_grouped_validate(&p), WW_OK) << ww_last_error();
  p.size = offsetof(ww_grouped_problem, a_major);  // an older caller has them along k
  EXPECT_EQ(ww_grouped_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(),
               "k = 515: it must be a multiple of 8, since the rows of A and B are moved in units of 16 bytes.");
  p = problem(128, 256, 512);
  p.b_major = 2;
  EXPECT_EQ(ww_grouped_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(), "b_major = 2: it is not one of the values of its type.");
}

TEST(CGroupedApi, SurvivesNull) {
  ww_grouped_problem p = problem(128, 256, 512);
  EXPECT_EQ(ww_grouped_plan_create(&p, nullptr), WW_INVALID_ARGUMENT);
  EXPECT_EQ(ww_grouped_plan_run(nullptr, nullptr, nullptr), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_grouped_plan_name(nullptr), "");
  ww_grouped_plan_destroy(nullptr);
}

}  // namespace

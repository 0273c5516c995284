// Every form of the output ring computes the product and is silent in every landing and schedule.
#include "sim/blackwell_kernel.h"

namespace warpwright::blackwell {

template <Case C>
void expect_right(int tiles = 3, int k_groups = 3) {
  const Outcome out = explore<C>({}, tiles, k_groups);
  EXPECT_TRUE(out.run.ok()) << out.text();
  EXPECT_EQ(out.wrong, 0);
}

TEST(BlackwellForms, OneCta) {
  expect_right<Case{.form = Form::raw}>();
  expect_right<Case{.form = Form::scoped}>();
  expect_right<Case{.form = Form::linear}>();
  expect_right<Case{.form = Form::k_linear}>();
  expect_right<Case{.form = Form::k_views}>();
  expect_right<Case{.form = Form::k_scaled}>();
  expect_right<Case{.form = Form::k_scaled_raw}>();
}

TEST(BlackwellForms, PairOfCtas) {
  expect_right<Case{.form = Form::raw, .cta_group = 2}>();
  expect_right<Case{.form = Form::scoped, .cta_group = 2}>();
  expect_right<Case{.form = Form::linear, .cta_group = 2}>();
  expect_right<Case{.form = Form::k_linear, .cta_group = 2}>();
  expect_right<Case{.form = Form::k_views, .cta_group = 2}>();
  expect_right<Case{.form = Form::k_scaled, .cta_group = 2}>();
  expect_right<Case{.form = Form::k_scaled_raw, .cta_group = 2}>();
}

TEST(BlackwellForms, TwoPairsInACluster) { expect_right<Case{.form = Form::scoped, .cta_group = 2, .pairs = 2}>(); }

TEST(BlackwellForms, AnyNumberOfStages) {
  expect_right<Case{.form = Form::linear, .accumulators = 1, .groups = 1}>();
  expect_right<Case{.form = Form::linear, .accumulators = 3, .groups = 3}>(5);
  expect_right<Case{.form = Form::k_scaled, .cta_group = 2, .accumulators = 4, .groups = 1}>();
}

TEST(BlackwellForms, GroupsOfTiles) {
  expect_right<Case{.form = Form::scoped, .k_group = 2}>();
  expect_right<Case{.form = Form::linear, .cta_group = 2, .k_group = 3}>();
}

TEST(BlackwellForms, EightEpilogueWarps) {
  expect_right<Case{.form = Form::scoped, .epilogue_warps = 8}>();
  expect_right<Case{.form = Form::k_scaled, .cta_group = 2, .epilogue_warps = 8}>();
}

TEST(BlackwellForms, NoWorkAtAll) {
  expect_right<Case{.form = Form::linear}>(0, 1);
  expect_right<Case{.form = Form::scoped, .cta_group = 2}>(0, 1);
}

}  // namespace warpwright::blackwell

// Every synchronization of the skinny kernel with blockwise scales, dropped or altered: each mutant is reported, except
// for those that change nothing, which are listed with the reason.
#include <string>
#include <vector>

#include "sim/grouped_sm90_mutants.h"

namespace warpwright {
namespace {

using namespace grouped_sm90;

// Lanes of a warp converge before the barrier at the start, which those of the simulator do by themselves; it does not
// count registers; and there is no kernel ahead.
template <SkinnyBlockwiseConfig C>
void expect_mutants_reported(Case shape, size_t at_least) {
  std::vector<std::string> equivalent = {"drop registers_increase by mma"};
  for (const char* role : {"load", "store"}) equivalent.push_back(std::string("drop sync_warp by ") + role);
  for (const char* role : {"load", "scales", "mma"}) {
    equivalent.push_back(std::string("drop grid_dependency_wait by ") + role);
  }
  expect_all_reported<C>({.shape = shape, .out = C.out}, equivalent, at_least);
}

TEST(SkinnyBlockwiseMutants, OfOneCta) {
  expect_mutants_reported<SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .stages = 3}>({8, 192, 2304}, 20);
}
TEST(SkinnyBlockwiseMutants, OfAClusterThatSplitsTheDepth) {
  constexpr SkinnyBlockwiseConfig c{.rows = 64, .tokens = 16, .split = 2, .stages = 2};
  expect_mutants_reported<c>({16, 192, 1920}, 25);
}

TEST(SkinnyBlockwiseMutants, OfTokensOnTheMSide) {
  constexpr SkinnyBlockwiseConfig c{.rows = 64, .tokens = 64, .split = 2, .stages = 2, .tokens_first = true};
  expect_mutants_reported<c>({40, 192, 1152}, 25);
}

// Tokens of two warpgroups; owners of 128, 32 and 16 columns, and two owners for a tile that three CTAs make.
template <SkinnyBlockwiseConfig C>
void expect_exact_with_tokens_first() {
  const GroupedProduct product{.shape = {100, 136, 2448}, .out = C.out};
  const reference::Workload w = reference::grouped_product_workload(product, Data::integers, 3);
  in_every_mode(kernel::sm90::SkinnyBlockwise<C>::plan, 1,
                [&](const Options& o) { expect_right(run<C>(product, w, o, 1), product); });
}
TEST(SkinnyBlockwise, WithTokensOnTheMSideIsExactInEveryMode) {
  constexpr SkinnyBlockwiseConfig small{.rows = 64, .tokens = 64, .split = 4, .tokens_first = true},
      large{.rows = 128, .tokens = 128, .stages = 4, .tokens_first = true},
      odd{.rows = 64, .tokens = 128, .split = 3, .stages = 6, .tokens_first = true};
  static_assert(large.owned_columns() == 128 && odd.skinny().owners() == 2 && small.owned_columns() == 16);
  expect_exact_with_tokens_first<odd>();
  expect_exact_with_tokens_first<small>();
  expect_exact_with_tokens_first<large>();
}
// One CTA for all tiles: several of them use the same stages and results.
TEST(SkinnyBlockwise, WithTokensOnTheMSideWalksItsTiles) {
  constexpr SkinnyBlockwiseConfig c{.rows = 32, .tokens = 64, .stages = 3, .tokens_first = true};
  for (int blocks = 1; blocks <= 6; ++blocks) {
    const GroupedProduct product{.shape = {100, 200, blocks * 128 - 16}, .out = c.out};
    const reference::Workload w = reference::grouped_product_workload(product, Data::integers, uint64_t(blocks));
    Options o;
    o.landing = blocks % 2 ? Landing::late : Landing::seeded;
    expect_right(run<c>(product, w, o, 1), product);
  }
  for (const Case shape : {Case{1, 8, 16}, {2, 72, 0}}) {
    const GroupedProduct product{.shape = shape, .out = c.out};
    const reference::Workload w = reference::grouped_product_workload(product, Data::integers, 1);
    expect_right(run<c>(product, w, Options{}, 1), product);
  }
}

// The largest tile: two warpgroups, which get registers from the others. Deeper than both rings.
TEST(SkinnyBlockwise, OfTwoWarpgroupsIsExactInEveryMode) {
  constexpr SkinnyBlockwiseConfig c = deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 128, .split = 2});
  static_assert(c.mma_registers() > 0);
  const GroupedProduct product{.shape = {100, 136, 2448}, .out = c.out};
  const reference::Workload w = reference::grouped_product_workload(product, Data::integers, 3);
  in_every_mode(kernel::sm90::SkinnyBlockwise<c>::plan, 1,
                [&](const Options& o) { expect_right(run<c>(product, w, o, 1), product); });
}
// Each number of blocks along k that a run of MMAs can end with, with scales at any place and at multiples of 16 bytes.
TEST(SkinnyBlockwise, IsExactForEveryDepth) {
  constexpr SkinnyBlockwiseConfig c{.rows = 64, .tokens = 40, .stages = 3};
  for (int blocks = 1; blocks <= 12; ++blocks) {
    const GroupedProduct product{.shape = {40, 64, blocks * 128 - 16}, .out = c.out};
    const reference::Workload w = reference::grouped_product_workload(product, Data::integers, uint64_t(blocks));
    Options o;
    o.landing = blocks % 2 ? Landing::late : Landing::seeded;
    expect_right(run<c>(product, w, o, 1), product);
  }
}

}  // namespace
}  // namespace warpwright

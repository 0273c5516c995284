// Every synchronization of the skinny kernel with blockwise scales, dropped or altered: each mutant is reported, but
// for those that change nothing, which are listed with the reason.
#include <algorithm>

#include "sim/generated.h"
#include "sim/grouped_sm90.h"
#include "sim/modes.h"

namespace warpwright {
namespace {

using namespace grouped_sm90;
using simulator::Fault;

template <SkinnyBlockwiseConfig C>
void expect_all_reported(Case shape, size_t at_least) {
  constexpr const Plan& plan = kernel::sm90::SkinnyBlockwise<C>::plan;
  const GroupedProduct product{.shape = shape, .out = C.out};
  const runtime::Workload w = runtime::grouped_product_workload(product, Data::integers, 3);
  Options list;
  list.list_fault_sites = true;
  const Outcome clean = run<C>(product, w, list, 1);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  std::vector<Fault> mutants = generated::mutants_of(plan, clean.sim.fault_sites);
  // Not synchronization: what is not stored is missing in the result, where everybody sees it.
  std::erase_if(mutants, [](const Fault& f) { return f.word == "tma_store"; });
  EXPECT_GE(mutants.size(), at_least);
  // Lanes of a warp converge before the barrier at the start, which the simulator's do by themselves; it does not count
  // registers; and there is no kernel ahead.
  std::vector<std::string> equivalent = {"drop registers_increase by mma"};
  for (const char* role : {"load", "store"}) equivalent.push_back(std::string("drop sync_warp by ") + role);
  for (const char* role : {"load", "scales", "mma"}) {
    equivalent.push_back(std::string("drop grid_dependency_wait by ") + role);
  }
  for (const Fault& f : mutants) {
    const std::string name = generated::describe(f);
    bool reported = false;
    in_every_mode(plan, 1, [&](Options o) {
      if (reported) return;
      o.faults = {f};
      const Outcome out = run<C>(product, w, o, 1);
      reported = !out.sim.ok();
      EXPECT_TRUE(reported || out.verdict.ok) << "a silent wrong result: " << name;
    });
    const bool excused = std::count(equivalent.begin(), equivalent.end(), name) > 0;
    EXPECT_NE(reported, excused) << name << (excused ? " is reported, and listed as equivalent" : " is not reported");
  }
}

TEST(SkinnyBlockwiseMutants, OfOneCta) {
  expect_all_reported<SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .stages = 3}>({8, 192, 2304}, 20);
}
TEST(SkinnyBlockwiseMutants, OfAClusterThatSplitsTheDepth) {
  expect_all_reported<SkinnyBlockwiseConfig{.rows = 64, .tokens = 16, .split = 2, .stages = 2}>({16, 192, 1920}, 25);
}

// The largest tile: two warpgroups, which get registers of the others. Deeper than both rings.
TEST(SkinnyBlockwise, OfTwoWarpgroupsIsExactInEveryMode) {
  constexpr SkinnyBlockwiseConfig c = deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 128, .split = 2});
  static_assert(c.mma_registers() > 0);
  const GroupedProduct product{.shape = {100, 136, 2448}, .out = c.out};
  const runtime::Workload w = runtime::grouped_product_workload(product, Data::integers, 3);
  in_every_mode(kernel::sm90::SkinnyBlockwise<c>::plan, 1,
                [&](const Options& o) { expect_right(run<c>(product, w, o, 1), product); });
}
// Each number of blocks along k that a run of MMAs can end with, with scales at any place and at multiples of 16 bytes.
TEST(SkinnyBlockwise, IsExactForEveryDepth) {
  constexpr SkinnyBlockwiseConfig c{.rows = 64, .tokens = 40, .stages = 3};
  for (int blocks = 1; blocks <= 12; ++blocks) {
    const GroupedProduct product{.shape = {40, 64, blocks * 128 - 16}, .out = c.out};
    const runtime::Workload w = runtime::grouped_product_workload(product, Data::integers, uint64_t(blocks));
    Options o;
    o.landing = blocks % 2 ? Landing::late : Landing::seeded;
    expect_right(run<c>(product, w, o, 1), product);
  }
}

}  // namespace
}  // namespace warpwright

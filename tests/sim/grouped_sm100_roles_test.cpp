// Which threads of the grouped kernel do what, and every synchronization between them dropped or altered.
#include <set>
#include <string>
#include <vector>

#include "grouped_sm100.h"
#include "sim/generated.h"

namespace warpwright::gemm_sm100 {
namespace {

constexpr GroupedConfig kTokensAreRows{.tile_n = 64, .stages = 2};
constexpr GroupedConfig kFewTokens{.tile_n = 8, .stages = 2, .swap_ab = true};
constexpr GroupedConfig kPair{.tile_n = 64, .stages = 2, .cta_group = 2, .swap_ab = true};

struct Range {
  const char* role;
  int first, last;
};
// The threads that ask "am I ...?" in a block of the kernel's size, compared with those of the plan.
template <GroupedConfig C>
void expect_roles(const std::vector<Range>& ranges, int threads) {
  using K = kernel::sm100::GroupedGemm<C>;
  using Role = typename K::Role;
  EXPECT_EQ(K::plan.threads(), threads);
  std::vector<std::string> says(size_t(threads), "");
  simulator::Launch launch{&K::plan, {1, 1, 1}, uint32_t(threads), K::plan.shared_bytes, {}};
  const simulator::Result r = simulator::run(launch, {}, [&] {
    std::string& mine = says[machine::thread_index()];
    if (Role::is_epilogue()) mine += "epilogue";
    if (Role::is_load()) mine += "load";
    if (Role::is_mma()) mine += "mma";
    if (Role::is_scheduler()) mine += "scheduler";
    if constexpr (C.has_sfb()) {
      if (Role::is_sfb_tma_load()) mine += "sfb_tma_load";
      if (Role::is_sfb_load()) mine += "sfb_load";
    }
  });
  EXPECT_TRUE(r.ok());
  for (const Range& range : ranges)
    for (int t = range.first; t <= range.last; ++t) EXPECT_EQ(says[size_t(t)], range.role) << "thread " << t;
  ASSERT_EQ(size_t(K::plan.role_count), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_STREQ(K::plan.roles[i].name, ranges[i].role);
    EXPECT_EQ(K::plan.roles[i].first_thread(), ranges[i].first);
    EXPECT_EQ(K::plan.roles[i].threads(), ranges[i].last - ranges[i].first + 1);
  }
}
TEST(GroupedRoles, WithoutWarpsForFactors) {
  expect_roles<kTokensAreRows>({{"epilogue", 0, 127}, {"load", 128, 159}, {"mma", 160, 191}, {"scheduler", 192, 223}},
                               224);
}
TEST(GroupedRoles, WithWarpsForFactors) {
  expect_roles<kFewTokens>({{"epilogue", 0, 127},
                            {"load", 128, 159},
                            {"mma", 160, 191},
                            {"sfb_tma_load", 192, 223},
                            {"sfb_load", 224, 351},
                            {"scheduler", 352, 383}},
                           384);
}

template <GroupedConfig C>
GroupedSpec small_spec() {
  return spec_of<C>({3 * C.tile_tokens(), 0, 2 * C.tile_tokens() + 1, 5}, {1, 0, 0, -1}, 136, 3 * C.dense().tile_k());
}

// Each in a run of the kernel, by the role that WarpRole1D1D gives it.
TEST(GroupedRoles, EveryRoleDoesItsOwnWork) {
  Options list;
  list.list_fault_sites = true;
  const GroupedResult r = run_grouped<kFewTokens>(small_spec<kFewTokens>(), Data::integers, list, 1);
  ASSERT_TRUE(r.sim.ok()) << r.sim.findings[0].text();
  std::set<std::string> done;
  for (const Fault& f : r.sim.fault_sites) done.insert(f.word + " " + f.object + " by " + f.role);
  for (const char* work :
       {"mbarrier_arrive schedule.full by scheduler", "mbarrier_arrive_expect_tx input.full by load",
        "mbarrier_arrive_expect_tx sfb.full by sfb_tma_load", "mbarrier_arrive sfb.ready by sfb_load",
        "mbarrier_arrive sfb.empty by sfb_load", "tcgen05_commit sfb.empty by mma", "tcgen05_commit input.empty by mma",
        "tcgen05_commit accum.full by mma", "mbarrier_arrive accum.empty by epilogue"}) {
    EXPECT_EQ(done.count(work), 1u) << work;
  }
}

template <GroupedConfig C>
std::string rules_of(const Fault& fault, bool until_first) {
  std::string rules;
  bool done = false;
  in_every_mode(kernel::sm100::GroupedGemm<C>::plan, 1, [&](Options o) {
    if (done) return;
    o.faults = {fault};
    const GroupedResult r = run_grouped<C>(small_spec<C>(), Data::integers, o, 1);
    if (!r.sim.ok()) {
      rules += r.sim.findings[0].rule + " ";
      done = until_first;
    } else {
      EXPECT_TRUE(r.verdict.ok) << "a silent wrong result: " << generated::describe(fault);
    }
  });
  return rules;
}
template <GroupedConfig C>
void expect_mutants_reported(size_t at_least, const std::set<std::string>& equivalent = {}) {
  Options list;
  list.list_fault_sites = true;
  const GroupedResult clean = run_grouped<C>(small_spec<C>(), Data::integers, list, 1);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  const auto mutants = generated::mutants_of(kernel::sm100::GroupedGemm<C>::plan, clean.sim.fault_sites);
  EXPECT_GE(mutants.size(), at_least);
  for (const Fault& f : mutants) {
    const std::string name = generated::describe(f);
    EXPECT_EQ(rules_of<C>(f, true).empty(), equivalent.count(name) == 1) << name;
  }
}
TEST(GroupedMutants, TokensAreRows) { expect_mutants_reported<kTokensAreRows>(30); }
TEST(GroupedMutants, FewTokens) { expect_mutants_reported<kFewTokens>(45); }
TEST(GroupedMutants, PairsOfCtas) { expect_mutants_reported<kPair>(35); }

// Freed when the MMA was issued and not when it has read: the factors of the next tile may overwrite what it reads.
TEST(GroupedMutants, FactorsThatAreFreedAtIssueAreReported) {
  const std::string rules =
      rules_of<kFewTokens>({"tcgen05_commit", "sfb.empty", "mma", Fault::Action::postpone}, false);
  EXPECT_NE(rules.find("race"), std::string::npos) << rules;
}

}  // namespace
}  // namespace warpwright::gemm_sm100

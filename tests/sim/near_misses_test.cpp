// Each call of a kernel by itself, left out, doubled, moved or aimed next to what it means: what the checker does not
// report changes nothing, and the list of such mutants says why.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "simulate/examples.h"
#include "simulate/mutants.h"

namespace warpwright {
namespace {

using simulate::Mutant;
using simulator::Fault;
using Action = Fault::Action;

std::vector<Mutant> mutants_of(const std::string& name) {
  const simulate::Example* example = simulate::find_example(name);
  if (example == nullptr) return {};
  std::vector<Mutant> mutants = simulate::run_mutants(*example, 0, [](size_t, size_t) {});
  for (const Mutant& m : mutants) {
    EXPECT_TRUE(!m.rule.empty() || m.proven) << name << ": " << simulate::describe(m.fault) << " is not covered";
    EXPECT_TRUE(!m.rule.empty() || !simulate::argument_for(m.fault).empty())
        << name << ": " << simulate::describe(m.fault) << " is redundant, and nobody says why";
    EXPECT_EQ(m.fault.line == 0, m.fault.file.empty());
  }
  return mutants;
}

struct Tally {
  std::set<Action> actions;
  std::map<std::string, std::set<std::string>> rules;  // for each word
};
Tally tally_of(const std::vector<Mutant>& mutants) {
  Tally t;
  for (const Mutant& m : mutants) {
    t.actions.insert(m.fault.action);
    if (!m.rule.empty()) t.rules[m.fault.word].insert(m.rule);
  }
  return t;
}

const Mutant* find(const std::vector<Mutant>& mutants, const std::string& begin) {
  const auto found = std::find_if(mutants.begin(), mutants.end(),
                                  [&](const Mutant& m) { return simulate::describe(m.fault).starts_with(begin); });
  return found == mutants.end() ? nullptr : &*found;
}

TEST(NearMisses, OfARingOfTmaCopies) {
  const auto mutants = mutants_of("sm90/ring_copy-32x64-s4/bf16");
  const Tally t = tally_of(mutants);
  for (const Action a : {Action::drop, Action::duplicate, Action::alter, Action::postpone, Action::add, Action::stage,
                         Action::scope, Action::advance})
    EXPECT_TRUE(t.actions.contains(a)) << int(a);
  // A bulk wait that leaves one group too many, too few and too many bytes, an initialisation with another count.
  for (const char* begin :
       {"+1 in bulk_wait by store", "-16 in mbarrier_arrive_expect_tx input.full by load",
        "+16 in mbarrier_arrive_expect_tx input.full by load", "+1 in mbarrier_init input.empty",
        "-1 in mbarrier_init input.empty", "stage +1 of tma_load input by load", "all lanes for elect_one by load",
        "no lane for elect_one by load", "drop mbarrier_arrive input.empty by compute in warp",
        "duplicate tma_load input by load", "advance mbarrier_arrive output.full by compute"}) {
    const Mutant* m = find(mutants, begin);
    ASSERT_NE(m, nullptr) << begin;
    EXPECT_FALSE(m->rule.empty()) << begin;
  }
  // Stages that are handed back to their neighbours keep every run right; in another order a wait is overtaken.
  const Mutant* overtaken = find(mutants, "stage +1 of mbarrier_arrive input.empty by compute");
  ASSERT_NE(overtaken, nullptr);
  EXPECT_EQ(overtaken->rule, "certificate") << overtaken->report;
}

TEST(NearMisses, OfACluster) {
  const auto mutants = mutants_of("sm90/cluster_ring-32x64-c2-s4/fp32");
  const Tally t = tally_of(mutants);
  EXPECT_TRUE(t.actions.contains(Action::peer));
  // An arrival at the other CTA with the scope of the reader's own CTA does not tell that its loads are over.
  const Mutant* narrow = find(mutants, "narrow mbarrier_arrive tile.empty by compute");
  ASSERT_NE(narrow, nullptr);
  EXPECT_TRUE(narrow->rule.starts_with("race")) << narrow->rule;
  const Mutant* peer = find(mutants, "wrong peer of mbarrier_arrive tile.empty by compute");
  ASSERT_NE(peer, nullptr);
  EXPECT_FALSE(peer->rule.empty());
}

TEST(NearMisses, OfTensorMemory) {
  const auto mutants = mutants_of("sm100/tmem_lifecycle-n128-s4/bf16");
  EXPECT_TRUE(tally_of(mutants).rules.contains("tcgen05_commit"));
  const Mutant* unread = find(mutants, "drop tcgen05_wait_ld by epilogue");
  ASSERT_NE(unread, nullptr);
  EXPECT_EQ(unread->rule, "tcgen05.wait");
}

// A load warp that does not wait for the commits of its peer: they arrive in a CTA that may have exited, although the
// cluster's barrier comes after the MMAs.
TEST(NearMisses, OfARingThatIsNotDrained) {
  const simulate::Example* pair = simulate::find_example("sm100/dense-128x256-c2x1-s6-pair/bf16");
  ASSERT_NE(pair, nullptr);
  const reference::Workload w = pair->workload(pair->cases[1], reference::Data::integers, 1);
  simulator::Options list;
  list.landing = simulator::Landing::eager;
  list.list_fault_sites = true;
  int drains = 0;
  for (const simulator::FaultSite& site : pair->simulate(w, list, 0).sim.fault_sites) {
    if (site.word != "mbarrier_wait" || site.object != "input.empty" || site.role != "load") continue;
    simulator::Options o;
    o.landing = simulator::Landing::eager;
    o.faults = {site};
    const simulate::Outcome out = pair->simulate(w, o, 0);
    ASSERT_FALSE(out.sim.ok()) << simulate::describe(site);
    drains += out.sim.findings.front().rule == "cluster.exit_order" ? 1 : 0;
  }
  EXPECT_EQ(drains, 1);
}

TEST(NearMisses, OfWaves) {
  const auto mutants = mutants_of("gfx950/matmul-4wave/bf16");
  const Tally t = tally_of(mutants);
  EXPECT_TRUE(t.actions.contains(Action::add));
  for (const char* word : {"wait_vm", "wait_lgkm", "workgroup_barrier"}) EXPECT_TRUE(t.rules.contains(word)) << word;
}

}  // namespace
}  // namespace warpwright

// The shipped kernels in the simulator: right in every landing and schedule, and nothing reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sim/example_list.h"
#include "simulate/coverage.h"
#include "simulate/example.h"
#include "simulate/mutants.h"

namespace warpwright {

using reference::Data;
using simulate::Example;
using simulate::Outcome;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

const std::vector<const Example*>& first_of_plans() {
  static const std::vector<const Example*> list = example_list::one_of_each(example_list::plan_of);
  return list;
}

class Examples : public testing::TestWithParam<const Example*> {
 protected:
  const Example& example() const { return *GetParam(); }
  void expect_right(const reference::Workload& w, const Options& o, const std::string& mode,
                    simulate::Coverage& coverage) {
    const Outcome out = example().simulate(w, o, 0);
    coverage.add(out.sim.barriers);
    ASSERT_TRUE(out.sim.ok()) << example().name << " " << w.shape.m << "x" << w.shape.n << "x" << w.shape.k << " "
                              << mode << "\n"
                              << out.sim.findings[0].text();
    ASSERT_TRUE(out.verdict.ok) << example().name << " " << mode << ": " << out.verdict.wrong << " wrong, "
                                << out.verdict.unwritten << " unwritten";
    const std::vector<std::string>& gaps = out.sim.certificate.gaps;
    EXPECT_TRUE(gaps.empty()) << example().name << " " << mode << ": " << gaps.front();
  }
};

class OneOfEachPlan : public Examples {};
class OneOfEachFamily : public Examples {};

// The cases of `check`, in fewer modes. Together they exercise all of a kernel. One mode is enough for a plan that has
// been run with other types.
TEST_P(Examples, AreExactOnIntegersInLandingsAndSchedules) {
  simulate::forget(example().sites());
  simulate::Coverage coverage(*example().plan, example().sites());
  const auto& first = first_of_plans();
  const bool often = std::find(first.begin(), first.end(), &example()) != first.end();
  for (size_t i = 0; i < example().cases.size(); ++i) {
    const reference::Case& c = example().cases[i];
    const bool real = c.condition == reference::Condition::real;
    const reference::Workload w = example().workload(c, real ? Data::normal : Data::integers, 11);
    Options o;
    o.landing = Landing::late;
    const bool turns = i <= 1;
    // The phases of its barriers are the same in every interleaving; for the path this is only asserted.
    o.certify = turns;
    if (turns || i % 2 == 0) expect_right(w, o, "late", coverage);
    o.certify = false;
    o.landing = Landing::seeded;
    o.scheduling = Scheduling::random;
    if ((turns && often) || i % 2 == 1) expect_right(w, o, "seeded random", coverage);
    if (!turns || !often) continue;
    o.scheduling = Scheduling::pct;
    expect_right(w, o, "seeded pct", coverage);
    o.landing = Landing::eager;
    o.scheduling = Scheduling::freeze;
    // The rings wrap in the first case, and what tiles pass through wraps in the second.
    for (int r = int(i); r < example().plan->role_count; r += 2) {
      o.frozen_role = example().plan->roles[r].name;
      expect_right(w, o, "freeze " + o.frozen_role, coverage);
    }
  }
  EXPECT_EQ(coverage.unturned(), std::vector<std::string>());
  EXPECT_EQ(coverage.unreached(example().name), std::vector<std::string>());
}

TEST_P(OneOfEachFamily, AreWithinToleranceOnNormalData) {
  simulate::Coverage coverage(*example().plan, {});
  expect_right(example().workload(example().cases[0], Data::normal, 5), {}, "timed", coverage);
}

TEST_P(OneOfEachFamily, GiveTheSameBitsWithAndWithoutChecking) {
  const reference::Workload w = example().workload(example().cases[0], Data::normal, 3);
  Options o;
  o.landing = Landing::seeded;
  const Outcome checked = example().simulate(w, o, 0);
  o.check = false;
  const Outcome unchecked = example().simulate(w, o, 0);
  EXPECT_EQ(checked.output, unchecked.output);
  EXPECT_GT(checked.sim.stats.checks, 0u);
  EXPECT_EQ(unchecked.sim.stats.checks, 0u);
}

TEST_P(OneOfEachFamily, AreDeterministicForASeed) {
  const reference::Workload w = example().workload(example().cases[0], Data::integers, 3);
  Options o;
  o.landing = Landing::seeded;
  o.scheduling = Scheduling::random;
  o.seed = 42;
  const Outcome a = example().simulate(w, o, 0), b = example().simulate(w, o, 0);
  EXPECT_EQ(a.sim.stats.switches, b.sim.stats.switches);
  EXPECT_EQ(a.sim.stats.checks, b.sim.stats.checks);
  // One other seed may happen to make as many switches.
  bool differs = false;
  for (o.seed = 43; o.seed < 46 && !differs; ++o.seed)
    differs = example().simulate(w, o, 0).sim.stats.switches != a.sim.stats.switches;
  EXPECT_TRUE(differs);
}

// One fault at each arrival of the shipped kernels: nothing may pass unseen, where rings wrap or where tiles pass.
TEST_P(OneOfEachPlan, ReportADroppedArrivalOnEveryBarrier) {
  std::set<std::string> seen, unseen;
  for (size_t i = 0; i < std::min<size_t>(2, example().cases.size()); ++i) {
    const reference::Workload w = example().workload(example().cases[i], Data::integers, 3);
    Options list;
    list.landing = Landing::eager;
    list.list_fault_sites = true;
    for (simulator::Fault fault : example().simulate(w, list, 0).sim.fault_sites) {
      fault.file.clear();  // all calls of a role: a fault at the last one of a ring goes unseen
      fault.line = 0;
      const std::string name = simulate::describe(fault);
      const bool arrives = fault.word == "mbarrier_arrive" || fault.word == "mbarrier_arrive_expect_tx" ||
                           fault.word == "tcgen05_commit";
      if (!arrives || seen.contains(name)) continue;
      fault.nth = 1;
      Options o;
      o.landing = Landing::eager;
      o.faults = {fault};
      const Outcome out = example().simulate(w, o, 0);
      (out.sim.ok() ? unseen : seen).insert(name);
      if (out.sim.ok()) continue;
      const simulator::Finding& f = out.sim.findings[0];
      EXPECT_TRUE(f.rule.rfind("deadlock", 0) == 0 || f.rule.rfind("mbarrier.", 0) == 0 ||
                  f.rule.rfind("race", 0) == 0 || f.rule.rfind("phase.", 0) == 0)
          << f.text();
      EXPECT_FALSE(f.file.empty()) << f.text();
    }
  }
  for (const std::string& name : unseen) EXPECT_TRUE(seen.contains(name)) << name << " is not reported";
}

std::string test_name(const testing::TestParamInfo<const Example*>& info) {
  return example_list::test_name(info.param->name);
}
INSTANTIATE_TEST_SUITE_P(All, Examples, testing::ValuesIn(example_list::all()), test_name);
INSTANTIATE_TEST_SUITE_P(All, OneOfEachPlan, testing::ValuesIn(first_of_plans()), test_name);
INSTANTIATE_TEST_SUITE_P(All, OneOfEachFamily, testing::ValuesIn(example_list::one_of_each(example_list::family_of)),
                         test_name);

}  // namespace warpwright

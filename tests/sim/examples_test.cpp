// The shipped kernels in the simulator: right in every landing and schedule, and never reported.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/example_list.h"
#include "simulate/coverage.h"
#include "simulate/example.h"

namespace warpwright {

using reference::Data;
using simulate::Example;
using simulate::Outcome;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

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
  }
};

// As `check` runs them: what turns the rings in every mode, the rest in the plain ones. Together they exercise all of a
// kernel.
TEST_P(Examples, AreExactOnIntegersInEveryLandingAndSchedule) {
  simulate::forget(example().sites());
  simulate::Coverage coverage(*example().plan, example().sites());
  int number = 0;
  for (const reference::Case& c : example().cases) {
    const bool real = c.condition == reference::Condition::real, turns = number++ < 2;
    const reference::Workload w = example().workload(c, real ? Data::normal : Data::integers, 11);
    for (Landing landing : {Landing::eager, Landing::late, Landing::seeded, Landing::timed}) {
      Options o;
      o.landing = landing;
      expect_right(w, o, "fifo", coverage);
      if (landing == Landing::timed || !turns) continue;
      o.scheduling = Scheduling::random;
      expect_right(w, o, "random", coverage);
      o.scheduling = Scheduling::pct;
      expect_right(w, o, "pct", coverage);
      if (landing == Landing::seeded) continue;
      for (int r = 0; r < example().plan->role_count; ++r) {
        o.scheduling = Scheduling::freeze;
        o.frozen_role = example().plan->roles[r].name;
        expect_right(w, o, "freeze " + o.frozen_role, coverage);
      }
    }
  }
  EXPECT_EQ(coverage.unturned(), std::vector<std::string>());
  EXPECT_EQ(coverage.unreached(example().name), std::vector<std::string>());
}

TEST_P(Examples, AreWithinToleranceOnNormalData) {
  simulate::Coverage coverage(*example().plan, {});
  expect_right(example().workload(example().cases[0], Data::normal, 5), {}, "timed", coverage);
}

TEST_P(Examples, GiveTheSameBitsWithAndWithoutChecking) {
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

TEST_P(Examples, AreDeterministicForASeed) {
  const reference::Workload w = example().workload(example().cases[0], Data::integers, 3);
  Options o;
  o.landing = Landing::seeded;
  o.scheduling = Scheduling::random;
  o.seed = 42;
  const Outcome a = example().simulate(w, o, 0), b = example().simulate(w, o, 0);
  EXPECT_EQ(a.sim.stats.switches, b.sim.stats.switches);
  EXPECT_EQ(a.sim.stats.checks, b.sim.stats.checks);
  o.seed = 43;
  EXPECT_NE(example().simulate(w, o, 0).sim.stats.switches, a.sim.stats.switches);
}

// One fault at each synchronization of the shipped kernels: nothing may pass unseen.
TEST_P(Examples, ReportADroppedArrivalOnEveryBarrier) {
  const BlockPlan& plan = *example().plan;
  const reference::Workload w = example().workload(example().cases[0], Data::integers, 3);
  for (int i = 0; i < plan.barrier_count; ++i)
    for (const char* word : {"mbarrier_arrive", "mbarrier_arrive_expect_tx", "tcgen05_commit"}) {
      Options o;
      o.landing = Landing::eager;
      o.faults = {{word, plan.barriers[i].name, "", simulator::Fault::Action::drop, 0, 1, -1}};
      const Outcome out = example().simulate(w, o, 0);
      // The words that never touch this barrier change nothing; exactly one of the three does.
      if (out.sim.ok()) {
        EXPECT_TRUE(out.verdict.ok) << "a silent wrong result: " << word << " on " << plan.barriers[i].name;
        continue;
      }
      const simulator::Finding& f = out.sim.findings[0];
      EXPECT_TRUE(f.rule.rfind("deadlock", 0) == 0 || f.rule.rfind("mbarrier.", 0) == 0 ||
                  f.rule.rfind("race", 0) == 0 || f.rule.rfind("phase.", 0) == 0)
          << f.text();
      EXPECT_FALSE(f.file.empty()) << f.text();
    }
}

INSTANTIATE_TEST_SUITE_P(All, Examples, testing::ValuesIn(example_list::all()),
                         [](const auto& info) { return example_list::test_name(info.param->name); });

}  // namespace warpwright

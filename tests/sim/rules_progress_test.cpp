// A run that does not end is ended by the checker, which names the role and the line that went on for ever.
#include <functional>
#include <string>

#include "rules.h"

namespace warpwright::rules {
namespace {

BlockPlan two_roles() {
  BlockPlan p("progress", Arch::sm90);
  p.role("waiter", 1).role("spinner", 1).region("shared", 4096, 1, 1024);
  return p;
}

simulator::Finding finding_of(const std::function<void()>& spin, simulator::Landing landing,
                              simulator::Scheduling scheduling) {
  const BlockPlan plan = two_roles();
  Options o;
  o.landing = landing;
  o.scheduling = scheduling;
  o.step_limit = 20'000;
  simulator::Launch launch;
  launch.plan = &plan;
  const simulator::Result r = simulator::run(launch, o, [&] {
    init(1, 1);
    if (warp() == 0) {
      wait();
    } else {
      spin();
    }
  });
  return r.ok() ? simulator::Finding{} : r.findings.front();
}

TEST(Progress, ALoopOfWordsThatNeverBlocksIsEndedAndNamed) {
  uint32_t line = 0;
  const auto spin = [&] {
    for (uint32_t i = 0; i != ~0u; ++i) {
      line = __LINE__ + 1;
      m::store(word(int(thread() % 32)), i);
    }
  };
  for (auto scheduling : {simulator::Scheduling::fifo, simulator::Scheduling::random, simulator::Scheduling::pct}) {
    const simulator::Finding f = finding_of(spin, simulator::Landing::eager, scheduling);
    EXPECT_EQ(f.rule, "livelock");
    EXPECT_EQ(f.role, "spinner") << f.text();
    EXPECT_EQ(f.line, line) << f.text();
    EXPECT_NE(f.text().find("rules_progress_test.cpp"), std::string::npos) << f.text();
  }
}

// It lets others run in between, and they all wait.
TEST(Progress, ALoopThatYieldsIsEndedAndNamedBesideTheWaiters) {
  uint32_t line = 0;
  const auto spin = [&] {
    for (uint32_t i = 0; i != ~0u; ++i) {
      line = __LINE__ + 1;
      m::sync_warp();
    }
  };
  for (auto scheduling : {simulator::Scheduling::fifo, simulator::Scheduling::random}) {
    const simulator::Finding f = finding_of(spin, simulator::Landing::late, scheduling);
    EXPECT_EQ(f.rule, "livelock");
    EXPECT_EQ(f.role, "spinner") << f.text();
    EXPECT_EQ(f.line, line) << f.text();
  }
}

TEST(Progress, ALongLoopThatEndsIsSilent) {
  const auto spin = [] {
    for (uint32_t i = 0; i < 3000; ++i) m::store(word(int(thread() % 32)), i);
    if (thread() == 32) m::mbarrier_arrive(bar());
  };
  EXPECT_EQ(finding_of(spin, simulator::Landing::eager, simulator::Scheduling::fifo).rule, "");
}

}  // namespace
}  // namespace warpwright::rules

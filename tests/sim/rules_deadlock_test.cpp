// Which of the waits of a deadlock is reported: the one that the others follow from.
#include <cstdint>
#include <string>

#include "rules.h"

namespace warpwright::rules {
namespace {

using simulator::Finding;

// A ring of two stages between `load` and `math`, and `watch`, which waits from the start for a barrier that math
// completes at the end.
constexpr BlockPlan ring(int cluster) {
  BlockPlan p("ring", Arch::sm90, cluster);
  p.role("watch", 1).role("load", 1).role("math", 1);
  p.barrier("in.full", 2, 1, "math", {"load", 1}).barrier("in.empty", 2, 1, "load", {"math", 1});
  p.barrier("done", 1, 1, "watch", {"math", 1}).region("data", 1024, 1, 1024);
  return p;
}

enum class Bug : uint8_t { none, no_release, no_fill, first_lap_waits, exits };

m::Phase lap(int number) {
  m::Phase phase = m::Phase::producer();
  for (int i = -1; i < number; ++i) phase.advance();
  return phase;
}

template <int Cluster = 1>
Finding run(Bug bug) {
  static constexpr BlockPlan plan = ring(Cluster);
  constexpr uint32_t in_full = plan.barrier("in.full").offset, in_empty = plan.barrier("in.empty").offset,
                     done = plan.barrier("done").offset;
  const auto at = [](uint32_t offset, int stage) { return Shared<Mbarrier>{m::shared_base() + offset} + stage; };
  const auto body = [&] {
    if (thread() == 0) {
      for (int s = 0; s < 2; ++s) {
        m::mbarrier_init(at(in_full, s), 1);
        m::mbarrier_init(at(in_empty, s), 1);
      }
      m::mbarrier_init(at(done, 0), 1);
      m::fence_mbarrier_init();
    }
    if (Cluster > 1) {
      m::cluster_sync();
    } else {
      m::sync_block();
    }
    constexpr int steps = 7;
    if (m::lane_index() == 0 && warp() == 0) m::mbarrier_wait(at(done, 0), m::Phase::consumer());
    if (m::lane_index() == 0 && warp() == 1) {
      for (int i = 0; i < steps; ++i) {
        const auto phase = lap(bug == Bug::first_lap_waits ? i / 2 : i / 2 - 1);
        if (i >= 2 || bug == Bug::first_lap_waits) m::mbarrier_wait(at(in_empty, i % 2), phase);
        if (bug == Bug::no_fill && i == 2) continue;
        m::mbarrier_arrive(at(in_full, i % 2));
      }
    }
    if (m::lane_index() == 0 && warp() == 2) {
      for (int i = 0; i < steps; ++i) {
        if (bug == Bug::exits && i == 3) return;
        m::mbarrier_wait(at(in_full, i % 2), lap(i / 2));
        if (bug == Bug::no_release && i == 1) continue;
        m::mbarrier_arrive(at(in_empty, i % 2));
      }
      m::mbarrier_arrive(at(done, 0));
    }
    if (Cluster > 1) m::cluster_sync();
  };
  simulator::Launch l;
  l.plan = &plan;
  l.grid = {uint32_t(Cluster), 1, 1};
  Options o;
  o.landing = simulator::Landing::eager;
  const simulator::Result r = simulator::run(l, o, body);
  if (r.ok()) return {};
  collect(r.findings.front());
  return r.findings.front();
}

bool says(const Finding& f, const char* text) { return f.message.find(text) != std::string::npos; }

TEST(DeadlockRules, ARingThatTurnsIsSilent) { EXPECT_EQ(run(Bug::none).rule, ""); }

// watch has waited the longest, and math waits for load: both merely follow.
TEST(DeadlockRules, AStageThatIsNotHandedBackIsNamed) {
  const Finding f = run(Bug::no_release);
  EXPECT_EQ(f.rule, "deadlock");
  EXPECT_EQ(f.role, "load") << f.text();
  EXPECT_EQ(f.object, "in.empty[1]") << f.text();
  EXPECT_TRUE(says(f, "math has gone on without it and waits for in.full[1] phase 1")) << f.text();
}

TEST(DeadlockRules, AStageThatIsNotFilledIsNamed) {
  const Finding f = run(Bug::no_fill);
  EXPECT_EQ(f.role, "math") << f.text();
  EXPECT_EQ(f.object, "in.full[0]") << f.text();
  EXPECT_TRUE(says(f, "load has gone on without it")) << f.text();
}

TEST(DeadlockRules, AProducerThatWaitsForItsFirstStagesIsNamed) {
  const Finding f = run(Bug::first_lap_waits);
  EXPECT_EQ(f.role, "load") << f.text();
  EXPECT_EQ(f.object, "in.empty[0]") << f.text();
}

TEST(DeadlockRules, ARoleThatHasLeftIsNamed) {
  const Finding f = run(Bug::exits);
  EXPECT_EQ(f.rule, "deadlock.role_exited") << f.text();
  EXPECT_TRUE(says(f, "math has exited")) << f.text();
}

// The stages of CTA 0 are handed back to CTA 1, where no role takes them.
TEST(DeadlockRules, AnArrivalWhereNobodyWaitsIsNamed) {
  const BlockPlan plan = block(1, Arch::sm90, 2);
  const auto kernel = [](uint32_t to) {
    return [to] {
      init(1, 1);
      if (rank() == 0 && thread() == 0) {
        m::mbarrier_arrive(m::map_to_rank(bar(), to));
        m::mbarrier_wait<Scope::cluster>(bar(), m::Phase::consumer());
      }
      m::cluster_sync();
    };
  };
  EXPECT_EQ(verdict(plan, kernel(0)), "");
  EXPECT_EQ(verdict(plan, kernel(1)), "deadlock.elsewhere");
}

TEST(DeadlockRules, WaitersThatAreAlikeAreGrouped) {
  const Finding f = run<2>(Bug::no_release);
  EXPECT_EQ(f.object, "in.empty[1]") << f.text();
  int of_load = 0;
  for (const std::string& line : f.details) of_load += line.rfind("load (CTAs 0 and 1, warp 1, 2 lanes)", 0) == 0;
  EXPECT_EQ(of_load, 1) << f.text();
}

}  // namespace
}  // namespace warpwright::rules

// Where the time of a timeline goes: shares of roles, and why what multiplies is idle.
#include "timeline/stalls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulate/example.h"
#include "simulate/examples.h"

namespace warpwright::timeline {
namespace {

simulator::Span span(const char* track, const char* name, double begin, double end, bool waiting = false) {
  return {track, name, begin, end, "here.h:1", waiting};
}

std::map<std::string, int> in_percent(const std::vector<TimelineShare>& shares) {
  std::map<std::string, int> all;
  for (const TimelineShare& s : shares) all[s.what] = int(std::lround(100 * s.share));
  return all;
}

// A block of 10 us: the tensor core works from 4 to 7.
simulator::Result starved() {
  simulator::Result r;
  r.spans = {span("cta 0 / load / warp 1", "wait input.empty[0] phase 1", 0, 2, true),
             span("cta 0 / load / warp 1", "arrive x", 2, 3),
             span("cta 0 / TMA", "input.a[0]+0", 3, 4),
             span("cta 0 / mma / warp 0", "wait input.full[0] phase 1", 0, 4, true),
             span("cta 0 / tensor core", "wgmma", 4, 7),
             span("cta 0 / mma / warp 0", "arrive input.empty[0]", 9, 10)};
  r.spans[2].by = "cta 0 / load / warp 1";
  r.spans[4].by = "cta 0 / mma / warp 0";
  r.edges = {{2, 3}};
  return r;
}

TEST(Stalls, StallsAreSharesOfTheLifeOfABlock) {
  const Stalls s = stalls_of(model_of(starved()));
  ASSERT_EQ(s.roles.size(), 2u);
  EXPECT_EQ(s.roles[0].role, "mma");
  EXPECT_EQ(s.roles[0].warps, 1);
  EXPECT_DOUBLE_EQ(s.roles[0].busy, 0.6);
  EXPECT_EQ(in_percent(s.roles[0].waits), (std::map<std::string, int>{{"input.full", 40}}));
  EXPECT_EQ(s.roles[1].role, "load");
  EXPECT_DOUBLE_EQ(s.roles[1].busy, 0.1);
  EXPECT_DOUBLE_EQ(s.roles[1].done, 0.7);
  EXPECT_EQ(in_percent(s.roles[1].waits), (std::map<std::string, int>{{"input.empty", 20}}));
}

TEST(Stalls, WhyTheTensorCoreIsIdle) {
  const IdleTime idle = stalls_of(model_of(starved())).idle;
  EXPECT_EQ(idle.unit, "tensor core");
  EXPECT_DOUBLE_EQ(idle.share, 0.7);
  // While mma waits for input.full, the copy is under way for 1 us; before it the load warp runs for 1 us and waits for
  // 2 us; after the last product mma itself runs.
  EXPECT_EQ(in_percent(idle.causes),
            (std::map<std::string, int>{
                {"load waits for input.empty", 20}, {"load runs", 10}, {"TMA loads input", 10}, {"mma runs", 30}}));
  EXPECT_EQ(idle.text(), "tensor core idle 70 %: 30 % mma runs, 20 % load waits for input.empty, 10 % TMA loads input");
  simulator::Result without;
  without.spans = {span("cta 0 / load / warp 1", "wait x", 0, 2, true)};
  EXPECT_EQ(stalls_of(model_of(without)).idle.text(), "") << "nothing multiplies";
}

TEST(Stalls, AWaitInACircleIsItsOwnCause) {
  simulator::Result r = starved();
  // The stage that load waits for is handed back by mma, which waits for load: nobody else is to blame.
  r.spans.push_back(span("cta 0 / mma / warp 1", "arrive input.empty[0]", 1, 2));
  r.edges.push_back({6, 0});
  EXPECT_EQ(in_percent(stalls_of(model_of(r)).idle.causes).at("load waits for input.empty"), 20);
}

TEST(Stalls, AfterTheLastProductItIsAboutWhatKeepsTheBlock) {
  simulator::Result r = starved();
  r.spans.push_back(span("cta 0 / store / warp 2", "wait its bulk groups", 10, 20, true));
  r.spans.push_back(span("cta 0 / TMA store", "output[0]+0", 12, 20));
  r.spans.back().by = "cta 0 / store / warp 2";
  r.edges.push_back({7, 6});
  const auto causes = in_percent(stalls_of(model_of(r)).idle.causes);
  EXPECT_EQ(causes.at("TMA store writes output"), 40);
  EXPECT_EQ(causes.at("store waits for its bulk groups"), 10);
  EXPECT_EQ(causes.count("mma is done"), 0u);
}

TEST(Stalls, StallsOfARealKernelAddUp) {
  const simulate::Example& e = *simulate::find_example("sm90/dense-128x256-c2-s4/bf16-nt");
  simulator::Options options;
  options.timeline = true;
  const simulate::Outcome o = e.simulate(e.workload({256, 256, 320}, reference::Data::integers, 1), options, 0);
  ASSERT_TRUE(o.ok());
  const Stalls s = stalls_of(model_of(o.sim));
  std::set<std::string> roles;
  for (const RoleTime& r : s.roles) {
    roles.insert(r.role);
    double all = r.busy + r.done;
    for (const TimelineShare& w : r.waits) all += w.share;
    EXPECT_NEAR(all, 1, 1e-9) << r.role;
  }
  EXPECT_TRUE(roles.contains("mma") && roles.contains("load"));
  double causes = 0;
  for (const TimelineShare& c : s.idle.causes) causes += c.share;
  EXPECT_NEAR(causes, s.idle.share, 1e-9);
  EXPECT_GT(s.idle.share, 0);
  EXPECT_LT(s.idle.share, 1);
  const auto document = nlohmann::json::parse(json_of(s).dump());
  EXPECT_EQ(document.at("idle").at("text"), s.idle.text());
  EXPECT_EQ(document.at("roles").size(), s.roles.size());
}

}  // namespace
}  // namespace warpwright::timeline

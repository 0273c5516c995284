// The choice among Blackwell instances: the least time by the clock of a B200, in closed form. tests/choice/
// sm100_times.tsv has what the simulator says, product by product; nobody has measured either.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <ratio>
#include <sstream>
#include <string>
#include <tuple>

#include "catalog/instance.h"
#include "choice/choose.h"
#include "choice/sm100_grouped.h"
#include "simulate/predict.h"

namespace warpwright::choice {
namespace {

using Shape = std::tuple<int64_t, int64_t, int64_t>;
// By shape and plan; a number of parts is the choice's business.
using Times = std::map<Shape, std::map<std::string, double>>;

const Times& simulated() {
  static const Times times = [] {
    Times t;
    std::ifstream file(WW_TEST_DATA "/../choice/sm100_times.tsv");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string instance;
      int64_t m = 0, n = 0, k = 0;
      double us = 0;
      if (line.starts_with("sm100/") && words >> instance >> m >> n >> k >> us) t[{m, n, k}][instance] = us;
    }
    return t;
  }();
  return times;
}

GemmProblem plain(const Shape& shape, const std::string& plan = "") {
  GemmProblem p{.m = std::get<0>(shape), .n = std::get<1>(shape), .k = std::get<2>(shape)};
  p.plan = plan;
  return p;
}
Choice chosen(const GemmProblem& p) {
  auto decision = choose(p, simulated_chip(Arch::sm100));
  EXPECT_TRUE(decision) << decision.status().message();
  return decision ? decision->choice : Choice{};
}
// As the table has it.
std::string without_parts(catalog::Instance instance) {
  instance.splits = 0;
  return catalog::name_of(instance);
}

TEST(ChooseSm100, TakesTheLeastTimeThatTheSimulatorHas) {
  ASSERT_EQ(simulated().size(), 12u);
  for (const auto& [shape, times] : simulated()) {
    ASSERT_EQ(times.size(), 10u);
    const Choice choice = chosen(plain(shape));
    const auto mine = times.find(without_parts(choice.instance));
    ASSERT_NE(mine, times.end()) << catalog::name_of(choice.instance);
    double least = mine->second;
    for (const auto& [name, us] : times) least = std::min(least, us);
    EXPECT_LE(mine->second, 1.03 * least) << mine->first << " at " << std::get<0>(shape) << " x " << std::get<1>(shape);
  }
}

TEST(ChooseSm100, KnowsTheTimeOfEveryInstanceAboutAsTheSimulatorDoes) {
  for (const auto& [shape, times] : simulated()) {
    for (const auto& [name, us] : times) {
      const Choice choice = chosen(plain(shape, name));
      const auto* c = choice.instance.as<DenseGemmSm100Config>();
      ASSERT_NE(c, nullptr);
      const double ratio = choice.estimate.us / us;
      const auto& [m, n, k] = shape;
      double off = 0.09;
      if (c->split != DepthSplit::none) off = choice.estimate.waves > 1 ? 0.2 : 0.1;
      // Stream-K with whole tiles between its shares is guessed worst: too long, and it is not chosen.
      if (c->split == DepthSplit::stream_k && c->tiles(int(m), int(n), 1) >= choice.estimate.clusters) off = 0.4;
      EXPECT_NEAR(ratio, 1, off) << name << " " << us;
    }
  }
}

// Shared depth, over products drawn at random to which nothing was fitted (bench/choice/sm100_split.py).
TEST(ChooseSm100, KnowsTheTimeOfSharedDepthAboutAsTheSimulatorDoes) {
  std::ifstream file(WW_TEST_DATA "/../../docs/evidence/sm100-split.tsv");
  int rows = 0, near = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string instance;
    int64_t m = 0, n = 0, k = 0;
    double us = 0;
    if (!line.starts_with("sm100/") || !(words >> instance >> m >> n >> k >> us)) continue;
    const double ratio = chosen(plain({m, n, k}, instance)).estimate.us / us;
    EXPECT_NEAR(ratio, 1, 0.25) << line;
    ++rows;
    near += std::fabs(ratio - 1) <= 0.1 ? 1 : 0;
  }
  EXPECT_GT(rows, 60);
  EXPECT_GE(near, rows * 95 / 100);
}

// The table is of today's simulator.
TEST(ChooseSm100, TheTableIsTheSimulators) {
  const std::string name = "sm100/dense-128x256-c2x1-s6-pair/bf16";
  for (const Shape& shape : {Shape{300, 200, 176}, Shape{128, 512, 512}}) {
    const auto& [m, n, k] = shape;
    const auto now = simulate::predict(*catalog::parse_instance(name), m, n, k);
    ASSERT_TRUE(now) << now.status().message();
    EXPECT_NEAR(now->us, simulated().at(shape).at(name), 0.002);
  }
  // A part that looks at its counter once all others have counted goes on at once: in the simulator it waited until
  // nothing else could run, and then stood behind all of their traffic.
  const auto shared =
      simulate::predict(*catalog::parse_instance("sm100/dense-128x256-c2x1-s6-pair-streamk/bf16"), 21, 648, 2368);
  ASSERT_TRUE(shared) << shared.status().message();
  EXPECT_NEAR(shared->us, 15.17, 0.1);
}

TEST(ChooseSm100, SaysWhy) {
  const Choice choice = chosen(plain({1024, 1024, 1024}));
  for (const char* text : {"the least time of", "by the clock of a B200", "nobody has measured", "wave", "set by"})
    EXPECT_NE(choice.reason.find(text), std::string::npos) << choice.reason;
  EXPECT_GT(choice.estimate.us, choice.estimate.tensor_us);
}

TEST(ChooseSm100, AnswersInMicroseconds) {
  const auto begin = std::chrono::steady_clock::now();
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) chosen(plain({128 + i, 512, 512}));
  const double us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / kTimes;
  RecordProperty("nanoseconds", int(1000 * us));
  EXPECT_LT(us, 1000);  // tens, on an idle machine
}

// Groups: the tile follows from the rows, and more tiles never make the whole faster.
TEST(ChooseSm100, GroupsGetTheLeastTimeOfAllThatServe) {
  const Chip chip = simulated_chip(Arch::sm100);
  for (const int64_t rows : {1, 8, 20, 30, 60, 100, 200, 1000, 5000}) {
    GroupedProblem p{.groups = Groups::contiguous, .m = 8 * rows, .n = 4096, .k = 4096, .group_count = 8};
    p.scaling = BlockScaling::mxfp8;
    const auto choice = choose(p, chip);
    ASSERT_TRUE(choice) << choice.status().message();
    const double us = grouped_time(choice->instance, p, chip).us;
    for (const char* plan : {"grouped-n8-s8-swap", "grouped-n32-s8-swap", "grouped-n128-s6-pair-swap",
                             "grouped-n128-s5-pair-e8", "grouped-n32-s8-swap-e8"}) {
      GroupedProblem named = p;
      named.plan = plan;
      const auto other = choose(named, chip);
      ASSERT_TRUE(other) << other.status().message();
      EXPECT_LE(us, grouped_time(other->instance, p, chip).us) << plan << " for " << rows;
    }
    EXPECT_NE(choice->reason.find("by the clock of a B200"), std::string::npos) << choice->reason;
  }
}

}  // namespace
}  // namespace warpwright::choice

// What a check has exercised: phases of barriers, and calls of words that were compiled in.
#include "simulate/coverage.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "simulate/examples.h"

namespace warpwright {
namespace {

using simulate::Coverage;
using simulator::BarrierUse;
using simulator::Options;
using Lines = std::vector<std::string>;

constexpr BlockPlan plan() {
  BlockPlan p("covered", Arch::sm90);
  p.role("load", 1).role("mma", 4);
  p.barrier("full", 2, 1, "mma", {"load", 1});
  p.barrier("done", 1, 1, "mma", {"load", 1}).used_once("done");
  p.named_barrier("meet", 128).named_barrier("start", 160).used_once("start");
  return p;
}

std::vector<BarrierUse> uses(int64_t full_0, int64_t full_1, int64_t done, int64_t meet, int64_t start) {
  return {{"full", 0, full_0}, {"full", 1, full_1}, {"done", 0, done}, {"meet", 0, meet}, {"start", 0, start}};
}

TEST(Coverage, asksForThreePhasesOfEachStageAndOneOfABarrierThatIsUsedOnce) {
  const BlockPlan p = plan();
  Coverage coverage(p, {});
  coverage.add(uses(3, 2, 1, 1, 1));
  EXPECT_EQ(
      coverage.unturned(),
      (Lines{"full: 1 of 2 stages went through fewer than 3 phases, one of them through 2",
             "meet: 1 of 1 stages went through fewer than 3 phases, one of them through 1; if a block never uses it "
             "twice, the plan says so: used_once"}));
  coverage.add(uses(0, 3, 0, 3, 0));  // the runs of a check count together
  EXPECT_EQ(coverage.unturned(), Lines());
}

TEST(Coverage, asksForABarrierThatNobodyUsed) {
  const BlockPlan p = plan();
  Coverage coverage(p, {});
  coverage.add(uses(3, 3, 0, 3, 0));
  EXPECT_EQ(coverage.unturned().size(), 2u);
  coverage.add({});  // a launch with nothing to do
  EXPECT_EQ(coverage.unturned().size(), 2u);
}

// Places in a source that the test writes: line 3 is excused for all kernels, the block at line 4 for "grouped" ones.
class Places : public testing::Test {
 protected:
  Places() : file_((std::filesystem::temp_directory_path() / "coverage_test.h").string()) {
    std::ofstream(file_) << "void f() {\n"
                            "  wait();\n"
                            "  trap();  // unreached: nothing goes wrong\n"
                            "  if (groups) {  // unreached [grouped, blockwise]: they have none\n"
                            "    for (;;)\n"
                            "      arrive();\n"
                            "  }\n"
                            "  arrive();\n"
                            "}\n";
    for (const uint32_t line : {2u, 3u, 6u, 6u, 8u}) sites_.push_back({1, line, file_.c_str()});
  }
  ~Places() override { std::remove(file_.c_str()); }
  CallSites all() { return {sites_.data(), sites_.data() + sites_.size()}; }

  std::string file_;
  std::vector<CallSite> sites_;
};

TEST_F(Places, areListedUntilOneOfTheirCopiesIsReached) {
  const BlockPlan p = plan();
  simulate::forget(all());
  const Coverage coverage(p, all());
  EXPECT_TRUE(coverage.has_sites());
  EXPECT_EQ(coverage.unreached("dense"),
            (Lines{"coverage_test.h:2: wait();", "coverage_test.h:6: arrive();", "coverage_test.h:8: arrive();"}))
      << "marks of earlier runs are forgotten";
  sites_[0].reached = sites_[3].reached = 1;
  EXPECT_EQ(coverage.unreached("dense"), Lines{"coverage_test.h:8: arrive();"});
}

TEST_F(Places, areExcusedByTheirLineOrByTheBlockAroundThem) {
  const BlockPlan p = plan();
  simulate::forget(all());
  const Coverage coverage(p, all());
  EXPECT_EQ(coverage.unreached("sm90/grouped-64x64"),
            (Lines{"coverage_test.h:2: wait();", "coverage_test.h:8: arrive();"}));
  EXPECT_EQ(coverage.unreached("sm90/blockwise-64x8").size(), 2u);
}

// The sizes of an example exercise all of it; one tile does not, and the tool can say which would.
TEST(Coverage, ofAnExampleIsWholeAtItsOwnSizes) {
  const simulate::Example& example = *simulate::find_example("sm90/ring_copy-32x64-s4/fp32");
  const auto run = [&](Coverage& coverage, const reference::Case& c) {
    Options o;
    o.landing = simulator::Landing::eager;
    coverage.add(example.simulate(example.workload(c, reference::Data::integers, 1), o, 0).sim.barriers);
  };
  const reference::Case one_tile{32, 64, 0};
  Coverage little(*example.plan, example.sites());
  run(little, one_tile);
  EXPECT_EQ(little.unturned().size(), 4u);

  simulate::forget(example.sites());
  Coverage all(*example.plan, example.sites());
  for (const reference::Case& c : example.cases) run(all, c);
  EXPECT_EQ(all.unturned(), Lines());
  EXPECT_EQ(all.unreached(example.name), Lines());

  const auto size = simulate::turning_size(example, {one_tile});
  ASSERT_TRUE(size);
  Coverage enough(*example.plan, example.sites());
  run(enough, *size);
  EXPECT_EQ(enough.unturned(), Lines());
}

}  // namespace
}  // namespace warpwright

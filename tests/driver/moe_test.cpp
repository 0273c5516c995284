// A mixture of experts through the host API on the recorder: which launches it makes, in which order, on which memory,
// and that no rule of the driver is broken. The arguments of each product are compared by same_launch_test.cpp.
#include "warpwright/moe.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "driver/session.h"
#include "driver/stand_in.h"
#include "gpu/executor.h"
#include "gpu/memory.h"
#include "launch/moe.h"
#include "measure/guarded_arrays.h"
#include "reference/moe_workload.h"
#include "simulate/moe.h"

namespace warpwright {
namespace {

using nlohmann::json;

class MoeLaunches : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    recorded::begin("sm_90");
    recorded::set_device(0);
    images_ = recorded::put_images(Arch::sm90);
  }
  void SetUp() override {
    if (!images_) GTEST_SKIP() << "this build has no device code, and there is no compiler";
  }
  static void put(const catalog::Instance& instance, size_t argument_bytes) {
    ASSERT_TRUE(recorded::put_image(instance, gpu::target_of(instance, *gpu::this_device()), argument_bytes));
  }
  static void expect_four(int64_t shared);

 private:
  inline static bool images_ = false;
};

MoeProblem small() { return {.tokens = 70, .hidden = 136, .intermediate = 72, .experts = 6, .top_k = 3}; }

void expect_no_rule_broken(const std::vector<json>& log) {
  for (const json& line : log) EXPECT_FALSE(line.contains("rule")) << line.dump();
}

// Of a layer with so many experts for all.
void MoeLaunches::expect_four(int64_t shared) {
  MoeProblem p = small();
  p.shared = shared;
  const auto run = simulate::moe_run(p, choice::simulated_chip(Arch::sm90));
  ASSERT_TRUE(run) << run.status().message();
  put(run->route, sizeof(RouteArgs));
  put(run->gate_up, sizeof(GroupedGemmArgs));
  put(run->down, sizeof(GroupedGemmArgs));
  put(run->combine, sizeof(CombineArgs));
  const auto plan = make_plan(p);
  ASSERT_TRUE(plan) << plan.status().message();
  std::string names;
  for (const auto* i : {&run->route, &run->gate_up, &run->down, &run->combine}) names += catalog::name_of(*i) + "\n";
  EXPECT_EQ(plan->explanation(), names);

  reference::Routing routing = reference::drawn_routing(p.tokens, p.top_k, p.experts - p.shared,
                                                        reference::Draw::skewed, reference::Data::normal, 1);
  if (p.shared > 0) {
    routing = reference::with_shared(std::move(routing), p.shared, true, reference::Data::normal, 1);
  }
  const reference::Workload w =
      reference::moe_workload(p, routing, reference::moe_operands(p, reference::Data::normal, 1));
  const measure::GuardedArrays arrays(w);
  const gpu::Stream stream;
  MoePointers pointers = reference::moe_pointers(w, arrays.pointers());
  const gpu::DeviceMemory workspace(plan->workspace_bytes());
  // In memory of its own, of the run's, and of a graph.
  for (const bool own : {true, false}) {
    pointers.workspace = own ? workspace.data() : nullptr;
    pointers.workspace_bytes = own ? plan->workspace_bytes() : 0;
    (void)recorded::lines();
    const Status status = plan->run(pointers, stream.get());
    ASSERT_TRUE(status) << status.message();
    stream.synchronize();
    const auto log = recorded::lines();
    expect_no_rule_broken(log);
    const auto launches = recorded::launches(log);
    ASSERT_EQ(launches.size(), 4u);
    const catalog::Instance* const wanted[] = {&run->route, &run->gate_up, &run->down, &run->combine};
    for (size_t i = 0; i < launches.size(); ++i) {
      const BlockPlan block = catalog::block_plan(*wanted[i]);
      EXPECT_EQ(launches[i]["block"][0], block.threads()) << i;
      EXPECT_EQ(launches[i]["shared_bytes"], block.shared_bytes) << i;
      EXPECT_EQ(launches[i]["answer"], 0) << launches[i].dump();
    }
    // A block for each expert, and as many as there are columns of tokens.
    EXPECT_EQ(launches[0]["grid"][0], 6);
    EXPECT_EQ(launches[3]["grid"][0], (70 + 7) / 8);
  }
  pointers.workspace = workspace.data();
  pointers.workspace_bytes = plan->workspace_bytes() - 1;
  EXPECT_EQ(plan->run(pointers, stream.get()).code(), Code::invalid_argument);
  pointers.workspace_bytes = plan->workspace_bytes();
  pointers.weights = nullptr;
  EXPECT_EQ(plan->run(pointers, stream.get()).message(), "weights = null: the problem needs it.");
}

TEST_F(MoeLaunches, areFourInTheOrderOfTheirWork) { expect_four(0); }
TEST_F(MoeLaunches, areFourWithExpertsForAllToo) { expect_four(2); }

TEST_F(MoeLaunches, areNoneWithoutTokens) {
  MoeProblem p = small();
  p.tokens = 0;
  const auto plan = make_plan(p);
  ASSERT_TRUE(plan) << plan.status().message();
  (void)recorded::lines();
  EXPECT_TRUE(plan->run({}, nullptr));
  EXPECT_TRUE(recorded::launches(recorded::lines()).empty());
}

}  // namespace
}  // namespace warpwright

// A mixture of experts through the host API on the recorder, on Hopper and on Blackwell: which launches it makes, in
// which order, on which memory, and that no rule of the driver is broken. The arguments of each product are compared by
// same_launch_test.cpp.
#include "warpwright/moe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "driver/same_launch.h"
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
  struct Place {
    Arch arch;
    int device;
  };
  static constexpr Place kPlaces[] = {{Arch::sm90, 0}, {Arch::sm100, 1}, {Arch::sm100, 3}};
  static constexpr const char* kNames[] = {"sm_90", "sm_100", "sm_80", "sm_103"};  // by their numbers
  static void SetUpTestSuite() {
    recorded::begin("sm_90,sm_100,sm_80,sm_103");
    images_ = true;
    for (const Place& place : kPlaces) {
      recorded::set_device(place.device);
      images_ = recorded::put_images(place.arch) && images_;
    }
  }
  void SetUp() override {
    if (!images_) GTEST_SKIP() << "this build has no device code, and there is no compiler";
  }
  static void put(const catalog::Instance& instance, size_t argument_bytes) {
    ASSERT_TRUE(recorded::put_image(instance, gpu::target_of(instance, *gpu::this_device()), argument_bytes));
  }
  static void put_product(const catalog::Instance& instance) {
    put(instance, instance.as<GroupedGemmConfig>() != nullptr        ? sizeof(GroupedGemmArgs)
                  : instance.as<GroupedGemmSm100Config>() != nullptr ? sizeof(GroupedGemmSm100Args)
                                                                     : sizeof(BlockwiseFp8Sm100Args));
  }
  void expect_four_launches(const MoeProblem& p, Place place);
  std::vector<recorded::Found> found_;

 private:
  inline static bool images_ = false;
};

MoeProblem small() { return {.tokens = 70, .hidden = 136, .intermediate = 72, .experts = 6, .top_k = 3}; }
MoeProblem scaled() {
  return {.tokens = 70, .hidden = 256, .intermediate = 128, .experts = 6, .top_k = 3, .type = DType::e4m3};
}

// Experts that every token takes.
MoeProblem with_shared() {
  MoeProblem p = small();
  p.shared = 2;
  return p;
}
MoeProblem with_wide_ids(MoeProblem p) {
  p.id_bytes = 8;
  return p;
}

void expect_no_rule_broken(const std::vector<json>& log) {
  for (const json& line : log) EXPECT_FALSE(line.contains("rule")) << line.dump();
}

void MoeLaunches::expect_four_launches(const MoeProblem& p, Place place) {
  recorded::set_device(place.device);
  const auto run = simulate::moe_run(p, choice::simulated_chip(place.arch));
  ASSERT_TRUE(run) << run.status().message();
  put(run->route, sizeof(RouteArgs));
  put_product(run->gate_up);
  put_product(run->down);
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
      // The products are compared by same_launch_test.cpp.
      if (i == 0 || i == 3) {
        found_.push_back({kNames[place.device], catalog::name_of(*wanted[i]), "as planned"});
      }
      const BlockPlan block = catalog::block_plan(*wanted[i]);
      EXPECT_EQ(launches[i]["block"][0], block.threads()) << i;
      EXPECT_EQ(launches[i]["shared_bytes"], block.shared_bytes) << i;
      EXPECT_EQ(launches[i]["answer"], 0) << launches[i].dump();
    }
    // A block for each expert, and as many as there are columns of tokens.
    EXPECT_EQ(launches[0]["grid"][0], 6);
    EXPECT_EQ(launches[3]["grid"][0], (70 + 7) / 8);
    for (size_t i = found_.size() - 2; i < found_.size(); ++i)
      found_[i].count({HasFailure() ? "a check failed" : "", 1});
  }
  pointers.workspace = workspace.data();
  pointers.workspace_bytes = plan->workspace_bytes() - 1;
  EXPECT_EQ(plan->run(pointers, stream.get()).code(), Code::invalid_argument);
  pointers.workspace_bytes = plan->workspace_bytes();
  pointers.weights = nullptr;
  EXPECT_EQ(plan->run(pointers, stream.get()).message(), "weights = null: the problem needs it.");
}

TEST_F(MoeLaunches, areFourInTheOrderOfTheirWork) {
  for (const Place& place : kPlaces) {
    for (const MoeProblem& p :
         {small(), scaled(), with_shared(), with_wide_ids(small()), with_wide_ids(with_shared())}) {
      SCOPED_TRACE(std::string(name(place.arch)) + " " + name(p.type) + (p.shared > 0 ? ", experts for all" : "") +
                   fmt::format(", {} bytes of an expert's number", p.id_bytes));
      expect_four_launches(p, place);
    }
  }
  RecordProperty("launches", recorded::text_of(found_));
}

TEST_F(MoeLaunches, needAChipThatHasThem) {
  recorded::set_device(2);
  const auto plan = make_plan(small());
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.status().message().find("this needs 9.0, 10.0 or 10.3"), std::string::npos) << plan.status().message();
}

TEST_F(MoeLaunches, areNoneWithoutTokens) {
  recorded::set_device(0);
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

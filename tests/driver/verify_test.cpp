// WARPWRIGHT_VERIFY: the first product of a plan is followed by the comparison, later ones are not. The device is
// pretended, so nothing is compared, and that is said; runtime.verify has the rules of the comparison.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "driver/session.h"
#include "driver/stand_in.h"
#include "gpu/graph.h"
#include "gpu/image.h"
#include "gpu/memory.h"
#include "launch/verify_rules.h"
#include "warpwright/gemm.h"

namespace warpwright {
namespace {

using nlohmann::json;

class Verify : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("WARPWRIGHT_VERIFY", "1", 1);
    recorded::begin("sm_100");
    recorded::set_device(0);
    images_ = recorded::put_images(Arch::sm100) && !gpu::embedded_image("any/verify", "compute_80").empty();
  }
  void SetUp() override {
    if (!images_) GTEST_SKIP() << "this build has no device code, or there is no compiler";
  }
  static std::vector<std::string> kernels(const std::vector<json>& launches) {
    std::vector<std::string> names;
    for (const json& one : launches) names.push_back(one["kernel"]);
    return names;
  }

 private:
  inline static bool images_ = false;
};

using Names = std::vector<std::string>;

TEST_F(Verify, theFirstProductOfAPlanIsComparedAndNoOther) {
  GemmProblem problem{.m = 256, .n = 512, .k = 128};
  problem.plan = "dense-128x256-c2x1-s6-pair";
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan) << plan.status().message();
  const gpu::DeviceMemory a(256 * 128 * 2), b(512 * 128 * 2), d(256 * 512 * 2);
  const gpu::Stream stream;
  const GemmPointers pointers{.a = a.data(), .b = b.data(), .d = d.data()};
  (void)recorded::lines();
  const Status first = plan->run(pointers, stream.get());
  EXPECT_EQ(first.code(), Code::failed);
  EXPECT_EQ(
      first.message(),
      "sm100/dense-128x256-c2x1-s6-pair/bf16 on the NVIDIA B200: the comparison did not run: 0 of 131072 elements "
      "were looked at.");
  const auto launches = recorded::launches(recorded::lines());
  ASSERT_EQ(kernels(launches), (Names{"warpwright_kernel", "verify_product", "verify_first"}));
  for (const json& one : launches) EXPECT_EQ(one["answer"], 0);
  // All of the arguments, as the image has them.
  EXPECT_EQ(launches[1]["arguments"]["bytes"].get<std::string>().size(), 2 * sizeof(VerifyArgs));
  EXPECT_TRUE(plan->run(pointers, stream.get()));
  EXPECT_EQ(kernels(recorded::launches(recorded::lines())), Names{"warpwright_kernel"});
}

TEST_F(Verify, aCapturedProductIsLeftOutAndTheNextOneCompared) {
  GemmProblem problem{.m = 256, .n = 256, .k = 128};
  problem.plan = "dense-128x256-c2x1-s6-pair";
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan) << plan.status().message();
  const gpu::DeviceMemory a(256 * 128 * 2), b(256 * 128 * 2), d(256 * 256 * 2);
  const GemmPointers pointers{.a = a.data(), .b = b.data(), .d = d.data()};
  const gpu::Stream stream;
  Status captured;
  const gpu::Graph graph(stream, [&] { captured = plan->run(pointers, stream.get()); });
  EXPECT_TRUE(captured) << captured.message();
  EXPECT_EQ(plan->run(pointers, stream.get()).code(), Code::failed);
}

// C is D: what it was before is kept for the comparison.
TEST_F(Verify, anAddendThatIsOverwrittenIsCopiedFirst) {
  GemmProblem problem{.m = 256, .n = 256, .k = 128};
  problem.plan = "sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-c-bias-relu";
  problem.beta = 2;
  problem.epilogue.bias = Bias::per_column;
  problem.epilogue.activation = Activation::relu;
  ASSERT_TRUE(recorded::put_images(Arch::sm80));
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan) << plan.status().message();
  const gpu::DeviceMemory a(256 * 128 * 2), b(256 * 128 * 2), d(256 * 256 * 2), bias(256 * 4);
  const gpu::Stream stream;
  (void)recorded::lines();
  (void)plan->run({.a = a.data(), .b = b.data(), .c = d.data(), .d = d.data(), .bias = bias.data()}, stream.get());
  const auto lines = recorded::lines();
  const auto launches = recorded::launches(lines);
  ASSERT_EQ(launches.size(), 3u);
  ASSERT_EQ(lines[0]["call"], "allocate");
  EXPECT_EQ(lines[0]["bytes"], 256 * 256 * 2);
  bool read = false;
  for (const json& place : launches[1]["arguments"]["addresses"]) read = read || place["buffer"] == lines[0]["buffer"];
  EXPECT_TRUE(read) << launches[1]["arguments"]["addresses"].dump();
}

}  // namespace
}  // namespace warpwright

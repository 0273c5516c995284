// One call on every device: which kernels it gets, and what is refused, with which sentence. The devices are pretended
// (recorder/), so nothing is said about results.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "driver/session.h"
#include "driver/stand_in.h"
#include "gpu/devices.h"
#include "gpu/executor.h"
#include "gpu/image.h"
#include "gpu/memory.h"
#include "launch/quantize.h"
#include "warpwright/c_api.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"
#include "warpwright/quantize.h"

namespace warpwright {
namespace {

enum Number { a100, a6000, l40s, h200, b200, b300, rtx5090 };

class Dispatch : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    recorded::begin("sm_80,sm_86,sm_89,sm_90,sm_100,sm_103,sm_120");
    for (const Number device : {a100, a6000, l40s, h200, b200, b300, rtx5090}) {
      recorded::set_device(device);
      images_ = recorded::put_images(Arch::sm80) && images_;
      if (device == b200 || device == b300) images_ = recorded::put_images(Arch::sm100) && images_;
    }
  }
  void SetUp() override {
    if (!images_) GTEST_SKIP() << "this build has no device code, and there is no compiler";
  }

  // The name of the plan, or why there is none.
  static std::string plan_on(Number device, const GemmProblem& problem) {
    recorded::set_device(device);
    const auto plan = make_plan(problem);
    if (!plan) return plan.status().message();
    EXPECT_NE(plan->explanation().find(": "), std::string::npos);
    return plan->instance();
  }
  static std::string plan_on(Number device, const GroupedProblem& problem) {
    recorded::set_device(device);
    const auto plan = make_plan(problem);
    return plan ? plan->instance() : plan.status().message();
  }

 private:
  inline static bool images_ = true;
};

GemmProblem square(int64_t size) { return {.m = size, .n = size, .k = size}; }

TEST_F(Dispatch, aProductGetsTheKernelsOfItsDevice) {
  GemmProblem named = square(64);
  named.plan = "dense-64x64-c1-s4";  // its image is in every build
  EXPECT_EQ(plan_on(h200, named), "sm90/dense-64x64-c1-s4/bf16-nt");
  for (const Number device : {b200, b300}) EXPECT_EQ(plan_on(device, square(4096)).substr(0, 12), "sm100/dense-");
  EXPECT_EQ(plan_on(a100, square(4096)), "sm80/mma-128x256-w2x4/bf16");
}

// A block of the largest tile has 114 KiB, and 99 KiB are there.
TEST_F(Dispatch, chipsWithLessSharedMemoryGetASmallerTile) {
  for (const Number device : {a6000, l40s, rtx5090}) {
    GemmProblem large = square(8192);
    large.k = 1024;
    EXPECT_EQ(plan_on(device, large), "sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16");
    GemmProblem named = square(4096);
    named.plan = "mma-128x256-w2x4";
    const std::string sentence = plan_on(device, named);
    EXPECT_NE(sentence.find("a block needs 116736 bytes of shared memory"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("at most 101376"), std::string::npos) << sentence;
  }
}

// Few rows, batches and other layouts have kernels of their own.
TEST_F(Dispatch, chipsOfMmaSyncServeWhatHopperServes) {
  for (const Number device : {a100, a6000, l40s, rtx5090}) {
    GemmProblem p = square(4096);
    p.m = 8;
    EXPECT_EQ(plan_on(device, p).rfind("sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk", 0), 0u);
    p = square(4096);
    p.batch = 4;
    EXPECT_EQ(plan_on(device, p).rfind("sm80/mma-128x", 0), 0u);
    p = square(4096);
    p.a.major = p.b.major = Major::MN;
    EXPECT_EQ(plan_on(device, p), "sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16-tn");
    p = square(0);
    EXPECT_EQ(plan_on(device, p).rfind("sm80/", 0), 0u);
  }
}

TEST_F(Dispatch, narrowOperandsNeedAChipThatMultipliesThem) {
  GemmProblem p = square(1024);
  p.a.type = p.b.type = DType::e4m3;
  for (const Number device : {a100, a6000}) {
    const std::string sentence = plan_on(device, p);
    EXPECT_NE(sentence.find("a.type = e4m3: the NVIDIA "), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("compute capability 8.9"), std::string::npos) << sentence;
  }
  p.plan = "sm80/mma-64x64-w2x2-d3-p1-early-l2400-b2/e4m3";
  EXPECT_EQ(plan_on(l40s, p), p.plan);
}

TEST_F(Dispatch, whatTheKernelsOfADeviceDoNotHaveIsRefusedByTheirRules) {
  GemmProblem p = square(256);
  p.a.major = Major::MN;
  EXPECT_EQ(plan_on(b200, p).substr(0, 12), "layout = tt:");
  p.a.type = p.b.type = DType::s8;
  p.d.type = DType::fp32;
  EXPECT_EQ(plan_on(a100, p), "a.major = MN: s8 operands must be stored along k.");
  p = square(256);
  p.block_scaling = BlockScaling::mxfp8;
  p.a.type = p.b.type = DType::e4m3;
  EXPECT_EQ(plan_on(h200, p).substr(0, 22), "block_scaling = mxfp8:");
  EXPECT_EQ(plan_on(b200, p).substr(0, 6), "sm100/");
  GroupedProblem groups{.m = 512, .n = 256, .k = 256};
  groups.groups = Groups::contiguous;
  groups.group_count = 4;
  EXPECT_EQ(plan_on(b200, groups).substr(0, 6), "sm100/");
  EXPECT_EQ(plan_on(a100, groups), "target = sm80: grouped_contiguous has kernels for sm90 and sm100.");
}

// Hopper's rows of scales would be read as columns.
TEST_F(Dispatch, scalesThatLieAsOnHopperAreRefusedOnBlackwell) {
  GroupedProblem p{.m = 512, .n = 256, .k = 256};
  p.a_scales = {512, 2};
  EXPECT_EQ(plan_on(b200, p).substr(0, 18), "a_scales = 512 x 2");
  p.a_scales = {2, 512};
  EXPECT_EQ(plan_on(b200, p).substr(0, 6), "sm100/");
}

TEST_F(Dispatch, aPlanOfMmaSyncIsTakenOnEveryDevice) {
  GemmProblem p = square(512);
  p.plan = "sm80/mma-128x256-w2x4/bf16";
  for (const Number device : {a100, h200, b200, b300}) EXPECT_EQ(plan_on(device, p), p.plan);
}

TEST_F(Dispatch, theCFaceTakesTheSameWay) {
  recorded::set_device(b200);
  ww_gemm_problem problem;
  ww_gemm_problem_init(&problem);
  problem.m = problem.n = problem.k = 4096;
  ww_plan* plan = nullptr;
  ASSERT_EQ(ww_plan_create(&problem, &plan), WW_OK) << ww_last_error();
  EXPECT_EQ(std::string(ww_plan_name(plan)).substr(0, 6), "dense-");
  ww_plan_destroy(plan);
}

TEST_F(Dispatch, theCFaceHasBlockScales) {
  recorded::set_device(b200);
  ww_gemm_problem problem;
  ww_gemm_problem_init(&problem);
  problem.m = problem.n = problem.k = 512;
  problem.a.type = problem.b.type = WW_E4M3;
  problem.block_scaling = WW_BLOCK_SCALING_MXFP8;
  ww_plan* plan = nullptr;
  ASSERT_EQ(ww_plan_create(&problem, &plan), WW_OK) << ww_last_error();
  (void)recorded::lines();
  const gpu::DeviceMemory operands(2 * 512 * 512), scales(1 << 16), d(2 * 512 * 512);
  ww_gemm_pointers pointers;
  ww_gemm_pointers_init(&pointers);
  pointers.a = operands.data();
  pointers.b = operands.data() + 512 * 512;
  pointers.d = d.data();
  EXPECT_EQ(ww_plan_run(plan, &pointers, nullptr), WW_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(ww_last_error()), "a_block_scales = null: the problem needs it.");
  pointers.a_block_scales = scales.data();
  pointers.b_block_scales = scales.data() + (1 << 15);
  EXPECT_EQ(ww_plan_run(plan, &pointers, nullptr), WW_OK) << ww_last_error();
  ww_plan_destroy(plan);
  // The factors of A and B, each where they were given: the second allocation.
  const auto lines = recorded::lines();
  std::map<int, int> offsets;  // by their place in the arguments
  const auto arguments = recorded::launches(lines).at(0)["arguments"];
  for (const char* const list : {"maps", "addresses"}) {
    for (const auto& one : arguments[list]) {
      const auto& place = one.contains("address") ? one["address"] : one;
      if (place["buffer"] == lines.at(1)["buffer"]) offsets[one["at"]] = place["offset"];
    }
  }
  ASSERT_EQ(offsets.size(), 2u) << arguments.dump();
  EXPECT_EQ(offsets.begin()->second, 0);
  EXPECT_EQ(offsets.rbegin()->second, 1 << 15);
  ww_grouped_problem groups;
  ww_grouped_problem_init(&groups);
  groups.m = groups.n = groups.k = 512;
  groups.groups = WW_GROUPS_CONTIGUOUS;
  groups.group_count = 4;
  groups.scaling = WW_BLOCK_SCALING_MXFP8;
  ww_grouped_plan* grouped = nullptr;
  ASSERT_EQ(ww_grouped_plan_create(&groups, &grouped), WW_OK) << ww_last_error();
  EXPECT_EQ(std::string(ww_grouped_plan_name(grouped)).substr(0, 8), "grouped-");
  ww_grouped_plan_destroy(grouped);
}

TEST_F(Dispatch, quantizationIsLaunchedOnEveryDevice) {
  if (gpu::embedded_image("any/quantize", "compute_80").empty()) GTEST_SKIP() << "this build has no device code";
  for (const Number device : {a100, a6000, l40s, h200, b200, b300, rtx5090}) {
    recorded::set_device(device);
    const gpu::DeviceMemory source(512 * 2), values(512), scales(64);
    const QuantizeProblem problem{.rows = 1, .columns = 512, .source = DType::bf16};
    (void)recorded::lines();
    const Status s = quantize(
        problem, {.source = source.data(), .values = values.data(), .scales = reinterpret_cast<float*>(scales.data())});
    EXPECT_TRUE(s) << device << ": " << s.message();
    const auto launches = recorded::launches(recorded::lines());
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0]["answer"], 0);
    EXPECT_EQ(launches[0]["target"], device == h200 ? 90 : 80);
  }
}

TEST_F(Dispatch, otherDevicesHaveNoKernels) {
  EXPECT_FALSE(gpu::arch_of(7, 5));
  EXPECT_FALSE(gpu::arch_of(8, 7));
  EXPECT_FALSE(gpu::arch_of(11, 0));
  EXPECT_FALSE(gpu::arch_of(12, 1));
  EXPECT_EQ(gpu::arch_of(10, 3), Arch::sm100);
}

TEST_F(Dispatch, onlyTheDeviceOnWhichAllOfItRanIsNotSpokenOf) {
  EXPECT_EQ(gpu::never_run_note("NVIDIA H200", 9, 0), "");
  for (const char* const other : {"NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB"}) {
    EXPECT_EQ(gpu::never_run_note(other, 9, 0).empty(), std::string(other).find("H200") != std::string::npos);
  }
  EXPECT_EQ(gpu::never_run_note("NVIDIA B200", 10, 0), "never run by us on this device");
}

}  // namespace
}  // namespace warpwright

// One call on AMD's devices: which kernels it gets, and what is refused, with which sentence. The devices are pretended
// (hip_recorder/), so nothing is said about results.
#include <gtest/gtest.h>

#include <string>

#include "driver/session.h"
#include "gpu/devices.h"
#include "gpu/door.h"
#include "gpu/executor.h"
#include "gpu/maker.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "hip/driver.h"
#include "warpwright/c_api.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"
#include "warpwright/quantize.h"

namespace warpwright {
namespace {

enum Number { mi355x, mi300x, mi250x, radeon };

class HipDispatch : public testing::Test {
 protected:
  static void SetUpTestSuite() { recorded::begin_hip("gfx950,gfx942,gfx90a,gfx1100"); }
  void SetUp() override {
    if (gpu::embedded_image("gfx950/matmul-pingpong/bf16", "gfx950").empty()) {
      GTEST_SKIP() << "this build has no code objects";
    }
  }

  // The instance of the plan, or why there is none.
  template <class Problem>
  static std::string plan_on(Number device, const Problem& problem) {
    recorded::set_device(device);
    const auto plan = make_plan(problem);
    return plan ? plan->instance() : plan.status().message();
  }
  static std::string begin_of(Number device, const GemmProblem& problem, size_t length) {
    return plan_on(device, problem).substr(0, length);
  }
};

GemmProblem square(int64_t size) { return {.m = size, .n = size, .k = size}; }

TEST_F(HipDispatch, aProductGetsTheKernelsOfItsDevice) {
  EXPECT_EQ(gpu::maker(), gpu::Maker::amd);
  EXPECT_EQ(plan_on(mi355x, square(4096)), "gfx950/matmul-pingpong/bf16");
  EXPECT_EQ(plan_on(mi355x, square(64)), "gfx950/matmul-4wave/bf16");
  EXPECT_EQ(plan_on(mi300x, square(4096)), "gfx942/matmul-default/bf16");
  GemmProblem p = square(512);
  p.d.type = DType::fp32;
  EXPECT_EQ(plan_on(mi355x, p), "gfx950/matmul-pingpong/bf16-to_fp32");
  EXPECT_EQ(plan_on(mi300x, p), "gfx942/matmul-default/bf16-to_fp32");
  p = square(512);
  p.a.type = p.b.type = DType::e4m3;
  EXPECT_EQ(plan_on(mi355x, p), "gfx950/matmul-pingpong/e4m3");
  // What the kernels of these names do not have, general ones do.
  p = square(4096);
  p.batch = 3;
  p.epilogue.activation = Activation::relu;
  EXPECT_EQ(plan_on(mi355x, p), "gfx950/matmul-pingpong/bf16-general");
  EXPECT_EQ(plan_on(mi300x, p), "gfx942/matmul-default-splitk/bf16-general");
  p = square(4095);
  EXPECT_EQ(plan_on(mi355x, p), "gfx950/matmul-default-splitk/bf16-general-by_elements");
  p = square(4096);
  p.a.major = Major::MN;
  p.a.type = p.b.type = p.d.type = DType::fp16;
  EXPECT_EQ(plan_on(mi300x, p), "gfx942/matmul-default-splitk/fp16-general-by_elements");
  p = {.m = 128, .n = 128, .k = 16384};
  EXPECT_EQ(plan_on(mi355x, p), "gfx950/matmul-4wave-splitk32/bf16-general");
}

TEST_F(HipDispatch, aPlanMayBeNamedAndThoseOfOthersAreRefused) {
  GemmProblem p = square(512);
  p.plan = "matmul-blocks";
  EXPECT_EQ(plan_on(mi355x, p), "gfx950/matmul-blocks/bf16");
  EXPECT_NE(plan_on(mi300x, p).find("16-byte LDS DMA is an instruction of gfx950"), std::string::npos);
  for (const char* const other : {"gfx950/matmul-default/bf16", "sm80/mma-128x256-w2x4/bf16"}) {
    p.plan = other;
    EXPECT_NE(plan_on(mi300x, p).find(", not for gfx942."), std::string::npos) << plan_on(mi300x, p);
  }
  // An instance that could be in the catalogue but is not: for AMD nothing is compiled while a program runs.
  p.plan = "gfx950/matmul-4wave/bf16-to_fp32";
  p.d.type = DType::fp32;
  EXPECT_EQ(plan_on(mi355x, p),
            "plan = gfx950/matmul-4wave/bf16-to_fp32: this build has no code object of it; those of "
            "src/catalog/cdna.def are compiled where clang++-22 and ld.lld-22 are.");
}

TEST_F(HipDispatch, whatTheKernelsDoNotHaveIsRefusedWithArgumentValueAndRule) {
  const auto refused = [](void (*change)(GemmProblem&), const char* begin, Number device = mi355x) {
    GemmProblem p = square(256);
    change(p);
    EXPECT_EQ(plan_on(device, p).substr(0, std::string(begin).size()), begin);
  };
  refused([](GemmProblem& p) { p.a.type = p.b.type = DType::e5m2; }, "a.type = e5m2: for gfx950");
  refused([](GemmProblem& p) { p.a.type = p.b.type = DType::e4m3; }, "a.type = e4m3: gfx942 reads fp8 codes as FNUZ",
          mi300x);
  refused([](GemmProblem& p) { p.d.type = DType::s8; }, "d.type = s8: for gfx950");
  refused([](GemmProblem& p) { p.epilogue.activation = Activation::swiglu; }, "epilogue.activation = swiglu: gfx950");
  refused([](GemmProblem& p) { p.epilogue.formula = "x + 1"; }, "epilogue = x + 1: a formula is compiled");
  refused([](GemmProblem& p) { p.scaling = Scaling::tensor; }, "scaling = tensor: gfx950");
  refused([](GemmProblem& p) { p.sm_limit = 8; }, "sm_limit = 8: for gfx950");
  GroupedProblem groups{.m = 512, .n = 256, .k = 256};
  groups.groups = Groups::contiguous;
  groups.group_count = 4;
  EXPECT_EQ(plan_on(mi355x, groups), "target = gfx950: grouped_contiguous has kernels for sm90 and sm100.");
}

TEST_F(HipDispatch, otherChipsAreRefused) {
  EXPECT_EQ(plan_on(mi250x, square(512)),
            "device 2 (AMD Instinct MI250X) is gfx90a; for AMD there are kernels for gfx942 and gfx950.");
  EXPECT_NE(plan_on(radeon, square(512)).find("gfx1100"), std::string::npos);
  EXPECT_FALSE(gpu::arch_of("gfx9420"));
  EXPECT_EQ(gpu::arch_of("gfx942:sramecc+:xnack-"), Arch::gfx942);
  EXPECT_EQ(gpu::never_run_note("AMD Instinct MI355X", 0, 0), "never run by us on this device");
  recorded::set_device(mi355x);
  EXPECT_EQ(gpu::hopper_device().status().message(),
            "device 0 (AMD Instinct MI355X) has gfx950; this needs 9.0, Hopper.");
}

TEST_F(HipDispatch, quantizationIsForNvidia) {
  recorded::set_device(mi355x);
  const gpu::DeviceMemory source(512 * 2), values(512), scales(64);
  const QuantizeProblem problem{.rows = 1, .columns = 512, .source = DType::bf16};
  const Status s = quantize(
      problem, {.source = source.data(), .values = values.data(), .scales = reinterpret_cast<float*>(scales.data())});
  EXPECT_EQ(s.code(), Code::unsupported);
  EXPECT_EQ(s.message(),
            "device 0 (AMD Instinct MI355X) is gfx950: the kernels of quantize are for NVIDIA GPUs alone.");
}

TEST_F(HipDispatch, theCFaceTakesTheSameWay) {
  recorded::set_device(mi300x);
  ww_gemm_problem problem;
  ww_gemm_problem_init(&problem);
  problem.m = problem.n = problem.k = 256;
  ww_plan* plan = nullptr;
  ASSERT_EQ(ww_plan_create(&problem, &plan), WW_OK) << ww_last_error();
  EXPECT_EQ(std::string(ww_plan_name(plan)), "matmul-default");
  const gpu::DeviceMemory a(256 * 256 * 2), b(256 * 256 * 2), d(256 * 256 * 2);
  ww_gemm_pointers pointers;
  ww_gemm_pointers_init(&pointers);
  pointers.a = a.data();
  pointers.b = b.data();
  pointers.d = d.data();
  (void)recorded::lines();
  EXPECT_EQ(ww_plan_run(plan, &pointers, nullptr), WW_OK) << ww_last_error();
  const auto launches = recorded::launches(recorded::lines());
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0]["kernel"], "matmul_default_bf16");
  EXPECT_EQ(launches[0]["target"], "gfx942");
  EXPECT_EQ(launches[0]["grid"], nlohmann::json({4, 1, 1}));
  // A plan belongs to its device.
  recorded::set_device(mi355x);
  EXPECT_EQ(ww_plan_run(plan, &pointers, nullptr), WW_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(ww_last_error()), "device = 0: the plan was made for device 1.");
  ww_plan_destroy(plan);
}

TEST_F(HipDispatch, pointersAreHeldAgainstTheRules) {
  recorded::set_device(mi355x);
  const gpu::DeviceMemory memory(1 << 20);
  uint8_t* const at = memory.data();
  const auto run = [&](GemmPointers p) { return gemm(square(128), p).message(); };
  EXPECT_EQ(run({.a = at, .b = at + 65536, .d = at + 131072}), "");
  EXPECT_EQ(run({.a = at + 8, .b = at + 65536, .d = at + 131072}), "");
  GemmProblem named = square(128);
  named.plan = "matmul-4wave";
  EXPECT_NE(gemm(named, {.a = at + 8, .b = at + 65536, .d = at + 131072}).message().find("cannot serve"),
            std::string::npos);
  EXPECT_EQ(run({.a = nullptr, .b = at, .d = at + 131072}), "a = null: the problem needs it.");
  EXPECT_NE(run({.a = at, .b = at + 65536, .d = at + 65536}).find("it overlaps the result"), std::string::npos);
}

// 2^32 work-items: an instance of 512 threads has 2^23 workgroups less one, at most.
TEST_F(HipDispatch, aGridThatHipCannotCountIsRefused) {
  recorded::set_device(mi355x);
  const auto instance = catalog::parse_instance("gfx950/matmul-pingpong/bf16");
  const auto loaded = gpu::ready(*instance, mi355x);
  ASSERT_TRUE(loaded) << loaded.status().message();
  CdnaMatmulArgs args;
  args.m = 256;
  args.k = 64;
  const auto launch = [&](uint32_t tiles) {
    args.n = 256 * tiles;
    return gpu::launch(**loaded, *instance, args, nullptr, 0, false).message();
  };
  EXPECT_EQ(launch((1 << 23) - 1), "");
  EXPECT_EQ(launch(1 << 23),
            "grid = 8388608: workgroups of 512 threads are at most 8388607, since HIP counts the work-items of a "
            "launch in 32 bits.");
}

TEST_F(HipDispatch, failuresHaveTheWordsOfTheRuntime) {
  recorded::set_device(mi355x);
  try {
    const gpu::DeviceMemory too_much(size_t(1) << 50);
    FAIL() << "there is no such memory";
  } catch (const gpu::Failure& failure) {
    EXPECT_STREQ(failure.what(), "the allocation of device memory failed: out of memory (error 2).");
  }
}

}  // namespace
}  // namespace warpwright

// Which kernels can be recorded, and how they are found: no GPU is needed to know.
#include "runtime/record_gpu.h"

#include <gtest/gtest.h>

#include "runtime/gpu.h"

namespace warpwright::runtime {
namespace {

GemmShape shape(int64_t m, int64_t n, int64_t k) {
  GemmShape s;
  s.m = m;
  s.n = n;
  s.k = k;
  return s;
}

// A measured and a simulated run are drawn together because they are one kernel.
TEST(RecordGpu, AnExampleIsItsKernel) {
  int found = 0;
  for (const Example& e : examples()) {
    const auto kernel = kernel_of_example(e.name);
    if (!kernel) continue;
    SCOPED_TRACE(e.name);
    ++found;
    EXPECT_EQ(example_of(*kernel), &e);
    const Plan plan = plan_of(*kernel);
    EXPECT_STREQ(plan.kernel, e.plan->kernel);
    EXPECT_EQ(plan.cluster, e.plan->cluster);
    EXPECT_EQ(plan.warps, e.plan->warps);
    EXPECT_EQ(plan.shared_bytes, e.plan->shared_bytes);
    ASSERT_EQ(plan.barrier_count, e.plan->barrier_count);
    for (int i = 0; i < plan.barrier_count; ++i) {
      EXPECT_STREQ(plan.barriers[i].name, e.plan->barriers[i].name);
      EXPECT_EQ(plan.barriers[i].offset, e.plan->barriers[i].offset);
      EXPECT_EQ(plan.barriers[i].stages, e.plan->barriers[i].stages);
    }
  }
  EXPECT_EQ(found, 10);
  EXPECT_FALSE(kernel_of_example("gemm_sm100"));
}

TEST(RecordGpu, TheUsualKernelIsTakenWhereItCanBeRecorded) {
  const auto few = recordable(shape(16, 4096, 4096), h200(), "");
  ASSERT_TRUE(few) << few.status().message();
  EXPECT_NE(few->skinny(), nullptr);
  const auto named = recordable(shape(512, 512, 512), h200(), "gemm_sm90");
  ASSERT_TRUE(named) << named.status().message();
  EXPECT_EQ(ctas_of(*named, {512, 512, 512}, 132), 8);
  EXPECT_EQ(ctas_of(*named, {8192, 8192, 64}, 132), 132);
  const auto by_plan = recordable(shape(512, 512, 512), h200(), "dense-128x256-c2-s4");
  ASSERT_TRUE(by_plan) << by_plan.status().message();
  EXPECT_EQ(by_plan->config, named->config);
}

TEST(RecordGpu, WhatCannotBeRecordedIsRefusedInASentence) {
  EXPECT_FALSE(recordable(shape(512, 512, 512), h200(), "nonsense"));
  int shared = 0;
  for (int plan = 0; plan < plan_count(); ++plan) {
    const Kernel k = kernel_of(plan);
    if (k.dense() == nullptr || k.dense()->split == DepthSplit::none) continue;
    ++shared;
    GpuRecording out;
    const Status s = record_on_gpu(k, {512, 512, 512}, 1, out);
#if WW_HAVE_CUDA
    EXPECT_EQ(s.code(), Code::unsupported) << s.message();
#else
    EXPECT_EQ(s.code(), Code::missing) << s.message();
#endif
  }
  EXPECT_GT(shared, 0);
  if (list_gpus().empty()) {
    GpuRecording out;
    EXPECT_EQ(record_on_gpu(*kernel_of_example("gemm_sm90"), {512, 512, 512}, 1, out).code(), Code::missing);
  }
}

}  // namespace
}  // namespace warpwright::runtime

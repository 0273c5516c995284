// Which kernels can be recorded, and how they are found: no GPU is needed to know.
#include "measure/record_gpu.h"

#include <gtest/gtest.h>

#include "gpu/devices.h"

namespace warpwright::measure {
namespace {

problem::GemmShape shape(int64_t m, int64_t n, int64_t k) {
  problem::GemmShape s;
  s.m = m;
  s.n = n;
  s.k = k;
  return s;
}

TEST(RecordGpu, TheUsualKernelIsTakenWhereItCanBeRecorded) {
  const auto few = recordable(shape(16, 4096, 4096), choice::h200(), "");
  ASSERT_TRUE(few) << few.status().message();
  EXPECT_NE(few->as<SkinnyGemmConfig>(), nullptr);
  const auto named = recordable(shape(512, 512, 512), choice::h200(), "sm90/dense-128x256-c2-s4/bf16-nt");
  ASSERT_TRUE(named) << named.status().message();
  EXPECT_EQ(ctas_of(*named, {512, 512, 512}, 132), 8);
  EXPECT_EQ(ctas_of(*named, {8192, 8192, 64}, 132), 132);
  const auto by_plan = recordable(shape(512, 512, 512), choice::h200(), "dense-128x256-c2-s4");
  ASSERT_TRUE(by_plan) << by_plan.status().message();
  EXPECT_EQ(by_plan->config, named->config);
}

TEST(RecordGpu, WhatCannotBeRecordedIsRefusedInASentence) {
  EXPECT_FALSE(recordable(shape(512, 512, 512), choice::h200(), "nonsense"));
  int shared = 0;
  for (const catalog::Instance& instance : catalog::ahead()) {
    const auto* const dense = instance.as<DenseGemmConfig>();
    if (dense == nullptr || dense->split == DepthSplit::none) continue;
    ++shared;
    timeline::GpuRecording out;
    const Status s = record_on_gpu(instance, {512, 512, 512}, 1, out);
    EXPECT_EQ(s.code(), Code::unsupported) << s.message();
  }
  EXPECT_GT(shared, 0);
  if (gpu::list_gpus().empty()) {
    timeline::GpuRecording out;
    EXPECT_EQ(record_on_gpu(catalog::Instance{DenseGemmConfig{}}, {512, 512, 512}, 1, out).code(), Code::missing);
  }
}

}  // namespace
}  // namespace warpwright::measure

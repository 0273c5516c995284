// Which instance of mma.sync a product gets: by a time in closed form from the figures of the chip.
#include <gtest/gtest.h>

#include <string>

#include "choice/choose.h"

namespace warpwright::choice {
namespace {

GemmProblem dense(int64_t m, int64_t n, int64_t k, DType type = DType::bf16) {
  GemmProblem p{.m = m, .n = n, .k = k};
  p.a.type = p.b.type = type;
  p.d.type = usual_result(type);
  return p;
}
Chip chip_of(const ChipLimits& limits) { return {limits.figures.name, limits.figures.multiprocessors, Arch::sm80}; }
const ChipLimits kA100 = limits_of(8, 0, 163 * 1024), kA6000 = limits_of(8, 6, 99 * 1024),
                 kL40s = limits_of(8, 9, 99 * 1024), kRtx5090 = limits_of(12, 0, 99 * 1024);

Result<Decision> decided(const GemmProblem& p, const ChipLimits& limits = {}, OnDemand on_demand = OnDemand::allowed) {
  return choose(p, chip_of(limits), on_demand, limits);
}
std::string chosen(const GemmProblem& p, const ChipLimits& limits = {}, OnDemand on_demand = OnDemand::allowed) {
  const auto d = decided(p, limits, on_demand);
  return d ? catalog::name_of(d->choice.instance) : d.status().message();
}

TEST(ChooseSm80, LargeProductsGetTheLargestTileThatTheChipHasRoomFor) {
  EXPECT_EQ(chosen(dense(4096, 4096, 4096)), "sm80/mma-128x256-w2x4/bf16");
  EXPECT_EQ(chosen(dense(4096, 4096, 4096), kA100), "sm80/mma-128x256-w2x4/bf16");
  for (const ChipLimits& limits : {kA6000, kL40s, kRtx5090}) {
    EXPECT_EQ(chosen(dense(8192, 8192, 1024), limits), "sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16");
  }
}

TEST(ChooseSm80, FewRowsGetATileOfFewRowsAndSharedDepth) {
  for (const ChipLimits& limits : {ChipLimits{}, kA100, kA6000, kL40s, kRtx5090}) {
    for (const DType type : {DType::bf16, DType::fp16, DType::s8}) {
      const std::string name = chosen(dense(8, 4096, 4096, type), limits);
      EXPECT_EQ(name.rfind("sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk", 0), 0u) << limits.figures.name << " " << name;
    }
  }
  // The fewer SMs, the less there is to share.
  const auto parts = [](int sms) {
    return choose(dense(8, 2048, 8192), {"some", sms, Arch::sm80}, OnDemand::allowed, kA100)->choice.estimate.split;
  };
  EXPECT_EQ(parts(8), 1);
  EXPECT_GT(parts(108), 2);
  GemmProblem same_bits = dense(8, 2048, 8192);
  same_bits.deterministic = true;
  EXPECT_EQ(decided(same_bits, kA100)->choice.estimate.split, 1);
}

// docs/evidence/sm80-log.md, cool: 281 us, and 128 x 128 6 to 7 % longer.
TEST(ChooseSm80, TheTimeIsNearWhatWasMeasuredOnAnH200) {
  GemmProblem p = dense(4096, 4096, 4096);
  const double us = decided(p)->choice.estimate.us;
  EXPECT_NEAR(us, 281, 0.05 * 281);
  p.plan = "mma-128x128-w2x2-d5-p2-l2400-b2";
  const auto smaller = decided(p);
  EXPECT_EQ(smaller->choice.by, ChosenBy::name);
  EXPECT_GT(smaller->choice.estimate.us, 1.03 * us);
  EXPECT_LT(smaller->choice.estimate.us, 1.12 * us);
}

TEST(ChooseSm80, NoTimeIsBelowWhatTheChipCanDo) {
  for (const ChipLimits& limits : {ChipLimits{}, kA100, kA6000, kL40s, kRtx5090}) {
    for (const int64_t m : {1, 16, 100, 1000, 10000}) {
      const GemmProblem p = dense(m, 4096, 2048);
      const PlanEstimate e = decided(p, limits)->choice.estimate;
      const double floor = 2.0 * double(m) * 4096 * 2048 / limits.figures.flops_per_us;
      EXPECT_GE(e.us, floor) << limits.figures.name << " " << m;
      EXPECT_GE(e.us, 4096 * 2048 * 2 / limits.figures.bytes_per_us) << limits.figures.name << " " << m;
    }
  }
}

TEST(ChooseSm80, RowsAreCopiedInTheLargestUnitsThatTheirStridesAllow) {
  const auto features = [](const GemmProblem& p) {
    const std::string name = chosen(p);
    return name.substr(name.rfind('/') + 1);
  };
  EXPECT_EQ(features(dense(64, 64, 64)), "bf16");
  EXPECT_EQ(features(dense(64, 64, 63)), "bf16-by_registers");
  EXPECT_EQ(features(dense(64, 64, 62)), "bf16-by_words");
  // With one row, or one matrix, the stride is never used.
  GemmProblem one = dense(1, 64, 64);
  one.a.stride = 67;
  one.b.batch_stride = 7;
  EXPECT_EQ(features(one), "bf16");
  one.batch = 2;
  EXPECT_EQ(features(one), "bf16-by_registers");
  GemmProblem along_m = dense(63, 64, 64);
  along_m.a.major = Major::MN;
  EXPECT_EQ(features(along_m), "bf16-tt-by_registers");
}

TEST(ChooseSm80, WhatNoListedInstanceServesIsCompiledWhereThatIsAllowed) {
  GemmProblem fused = dense(4096, 4096, 512);
  fused.epilogue.bias = Bias::per_column;
  fused.epilogue.activation = Activation::silu;
  EXPECT_EQ(chosen(fused), "sm80/mma-128x256-w2x4/bf16-bias-silu");
  EXPECT_EQ(decided(fused, {}, OnDemand::refused).status().code(), Code::unsupported);
  // A listed instance that is slower is better than none.
  GemmProblem along_n = dense(8, 4096, 4096);
  along_n.b.major = Major::MN;
  EXPECT_EQ(chosen(along_n, {}, OnDemand::refused), "sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16-nn");
  EXPECT_NE(chosen(along_n), chosen(along_n, {}, OnDemand::refused));
}

TEST(ChooseSm80, APlanThatCannotBeCompiledIsRefusedWithItsRule) {
  const auto named = [](const char* plan) {
    GemmProblem p = dense(64, 64, 64);
    p.plan = plan;
    return chosen(p);
  };
  EXPECT_EQ(named("mma-16x128-w1x4-d6-p1-l1200-b4"),
            "plan = mma-16x128-w1x4-d6-p1-l1200-b4: the rings of so many blocks exceed the shared memory of an SM.");
  EXPECT_EQ(named("mma-64x64-w2x2-d30-p2-l1200-b4"),
            "plan = mma-64x64-w2x2-d30-p2-l1200-b4: there is no schedule for this tile, depth and latency.");
  EXPECT_EQ(named("mma-128x128-w2x2-d5-p2-ca3-l2400-b2"),
            "plan = mma-128x128-w2x2-d5-p2-ca3-l2400-b2: mma_sync_gemm: every part of a copy is a whole number of "
            "16-byte chunks for each thread.");
}

TEST(ChooseSm80, TheReasonNamesTheFiguresThatItRestsOn) {
  const std::string reason = decided(dense(512, 512, 512), kL40s)->choice.reason;
  EXPECT_NE(reason.find("by the figures of an NVIDIA L40S"), std::string::npos) << reason;
  EXPECT_NE(reason.find("which nobody has measured"), std::string::npos) << reason;
  EXPECT_NE(reason.find(" wave"), std::string::npos) << reason;
}

}  // namespace
}  // namespace warpwright::choice

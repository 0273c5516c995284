// One choice for every architecture; that of Hopper is recorded (choice.recorded).
#include "choice/choose.h"

#include <gtest/gtest.h>

#include <string>

#include "catalog/instance.h"
#include "choice/grouped_facts.h"
#include "problem/validate.h"
#include "sim/timing.h"

namespace warpwright::choice {
namespace {

template <class Choice>
std::string instance_of(const Choice& choice) {
  if constexpr (requires { choice->choice; }) {
    return choice ? catalog::name_of(choice->choice.instance) : choice.status().message();
  } else {
    return choice ? catalog::name_of(choice->instance) : choice.status().message();
  }
}
std::string chosen(const GemmProblem& p, Arch arch) {
  EXPECT_TRUE(problem::validate(p, arch)) << problem::validate(p, arch).message();
  return instance_of(choose(p, simulated_chip(arch)));
}
std::string chosen(const GroupedProblem& p) {
  EXPECT_TRUE(problem::validate(p, Arch::sm100)) << problem::validate(p, Arch::sm100).message();
  return instance_of(choose(p, simulated_chip(Arch::sm100)));
}

GemmProblem dense(int64_t m, int64_t n, int64_t k, DType type = DType::bf16) {
  GemmProblem p{.m = m, .n = n, .k = k};
  p.a.type = p.b.type = type;
  p.d.type = usual_result(type);
  return p;
}
GemmProblem scaled(int64_t m, BlockScaling scaling) {
  GemmProblem p = dense(m, 512, 512, scaling == BlockScaling::mxfp8 ? DType::e4m3 : DType::e2m1);
  p.block_scaling = scaling;
  return p;
}
GroupedProblem blockwise(int64_t m) { return {.m = m, .n = 4096, .k = 4096}; }
GroupedProblem groups(int64_t rows, BlockScaling scaling) {
  GroupedProblem p{.groups = Groups::contiguous, .m = 8 * rows, .n = 4096, .k = 4096, .group_count = 8};
  p.scaling = scaling;
  p.type = scaling == BlockScaling::mxfp8 ? DType::e4m3 : DType::e2m1;
  return p;
}
GroupedProblem swiglu(int64_t rows) {
  GroupedProblem p = groups(rows, BlockScaling::mxfp8);
  p.activation = Activation::swiglu;
  p.out_scaling = BlockScaling::mxfp8;
  p.out = DType::e4m3;
  return p;
}

// choose_sm100_test.cpp asks how good these are.
TEST(Choose, TheLeastTimeByTheClockOfAB200) {
  EXPECT_EQ(chosen(dense(4096, 4736, 1024), Arch::sm100), "sm100/dense-128x256-c2x1-s6-pair/bf16");
  EXPECT_EQ(chosen(dense(300, 200, 176), Arch::sm100), "sm100/dense-64x64-c1x1-s8/bf16");
  EXPECT_EQ(chosen(dense(300, 200, 176, DType::fp16), Arch::sm100), "sm100/dense-128x128-c1x1-s6/fp16");
  EXPECT_EQ(chosen(scaled(300, BlockScaling::mxfp8), Arch::sm100), "sm100/dense-128x128-c2x1-s6-pair/e4m3-mxfp8");
  EXPECT_EQ(chosen(scaled(1, BlockScaling::nvfp4), Arch::sm100), "sm100/dense-128x128-c2x1-s6-pair/e2m1-nvfp4");
  // The depth is cut into as many parts as are of use.
  EXPECT_EQ(chosen(dense(16, 4096, 4096), Arch::sm100), "sm100/dense-128x16-c1x1-s10-splitk2-swap-early/bf16");
}

TEST(Choose, TheLargestTileThatIsMoreThanHalfFull) {
  EXPECT_EQ(chosen(dense(300, 259, 72), Arch::gfx950), "gfx950/matmul-pingpong/bf16");
  EXPECT_EQ(chosen(dense(64, 64, 64), Arch::gfx950), "gfx950/matmul-4wave/bf16");
  EXPECT_EQ(chosen(dense(64, 64, 64), Arch::gfx942), "gfx942/matmul-default/bf16");
  // Where it fills none, the smallest.
  EXPECT_EQ(chosen(dense(1, 8, 8), Arch::gfx950), "gfx950/matmul-4wave/bf16");
  // Few tiles share their depth, where a part of it is worth its own sums.
  EXPECT_EQ(chosen(dense(256, 256, 4096), Arch::gfx950), "gfx950/matmul-4wave-splitk8/bf16-general");
  EXPECT_EQ(chosen(dense(256, 256, 256), Arch::gfx950), "gfx950/matmul-pingpong/bf16");
  EXPECT_EQ(chosen(dense(4096, 4096, 4096), Arch::gfx950), "gfx950/matmul-pingpong/bf16");
  // No chip has a part in the bits of such a sum.
  GemmProblem same = dense(256, 256, 4096);
  same.deterministic = true;
  EXPECT_EQ(chosen(same, Arch::gfx950), "gfx950/matmul-pingpong/bf16");
}

TEST(Choose, WhatNoListedInstanceServesIsCompiledForIt) {
  GemmProblem wide = dense(64, 64, 64, DType::e4m3);
  wide.d.type = DType::fp32;
  EXPECT_EQ(chosen(wide, Arch::sm100), "sm100/dense-64x64-c1x1-s8/e4m3-to_fp32");
  GemmProblem fused = dense(300, 300, 64);
  fused.epilogue.bias = Bias::per_column;
  fused.epilogue.activation = Activation::silu;
  EXPECT_EQ(chosen(fused, Arch::sm100), "sm100/dense-64x64-c1x1-s8/bf16-bias-silu");
  GemmProblem none = dense(64, 64, 64, DType::e4m3);
  none.d.type = DType::fp32;
  EXPECT_EQ(chosen(none, Arch::gfx950), "gfx950/matmul-4wave-splitk/e4m3-general");
  const auto refused = choose(none, simulated_chip(Arch::gfx942));
  EXPECT_EQ(refused.status().code(), Code::unsupported);
}

TEST(Choose, GroupsByTheSameClock) {
  // Promotion sets the pace: where there are tiles for all SMs eight warps share it, and few tiles share their depth.
  EXPECT_EQ(chosen(blockwise(4096)), "sm100/blockwise-n128-s5-pair-e8-o2/e4m3");
  EXPECT_EQ(chosen(blockwise(132)), "sm100/blockwise-n128-s6-splitk2/e4m3");
  GroupedProblem grouped = blockwise(320);
  grouped.groups = Groups::masked;
  grouped.group_count = 8;
  EXPECT_EQ(chosen(grouped), "sm100/blockwise-n128-s6/e4m3-alpha-grouped");
  EXPECT_EQ(chosen(swiglu(129)), "sm100/grouped-n128-s6-pair/e4m3-mxfp8-swiglu_to_mxfp8");
  EXPECT_EQ(chosen(swiglu(10)), "sm100/grouped-n16-s8-swap/e4m3-mxfp8-swiglu_to_mxfp8");
  // Few rows in a group get a small tile, many a large one, in every format.
  for (const BlockScaling scaling : {BlockScaling::mxfp8, BlockScaling::mxfp4, BlockScaling::nvfp4}) {
    const auto tile = [&](int64_t rows) {
      const GroupedProblem p = groups(rows, scaling);
      const auto choice = choose(p, simulated_chip(Arch::sm100));
      EXPECT_TRUE(choice) << choice.status().message();
      return facts_of(choice->instance, p, 148).tile_m;
    };
    EXPECT_EQ(tile(1), 8);
    EXPECT_EQ(tile(30), 32);
    EXPECT_GE(tile(1000), 128);
  }
}

TEST(Choose, WhatIsNeverChosenCanBeNamed) {
  GroupedProblem p = blockwise(300);
  const std::string warps = "sm100/blockwise-n128-s5-pair-e8-o2/e4m3";
  p.plan = warps;
  EXPECT_EQ(chosen(p), warps);
  p.plan = "blockwise-n128-s5-pair-e8-o2";
  EXPECT_EQ(chosen(p), warps);
  // Another function.
  GroupedProblem clamped = groups(300, BlockScaling::nvfp4);
  clamped.activation = Activation::swiglu;
  clamped.out_scaling = BlockScaling::nvfp4;
  clamped.out = DType::e2m1;
  clamped.clamped_swiglu = true;
  clamped.plan = "sm100/grouped-n128-s4/e2m1-nvfp4-swiglu_to_nvfp4-clamped";
  EXPECT_EQ(chosen(clamped), clamped.plan);
  clamped.clamped_swiglu = false;
  EXPECT_NE(chosen(clamped).find("does not serve"), std::string::npos);
  // In no list.
  GemmProblem other = scaled(300, BlockScaling::mxfp8);
  other.plan = "sm100/dense-128x64-c1x1-s4/e4m3-mxfp8";
  EXPECT_EQ(chosen(other, Arch::sm100), other.plan);
  other.plan = "dense-128x64-c1x1-s4";
  EXPECT_EQ(chosen(other, Arch::sm100), "sm100/dense-128x64-c1x1-s4/e4m3-mxfp8");
}

TEST(Choose, APlanForAnotherProductIsRefusedWithTheNearestNames) {
  for (const char* plan : {"nonsense", "dense-128x128-c2x1-s6-pear", "sm90/dense-128x256-c2-s4/bf16-nt",
                           "sm100/tmem_lifecycle-n128-s4/bf16", "sm100/blockwise-n128-s6/e4m3"}) {
    GemmProblem p = scaled(300, BlockScaling::mxfp8);
    p.plan = plan;
    const std::string why = chosen(p, Arch::sm100);
    EXPECT_NE(why.find(std::string("plan = ") + plan), std::string::npos) << why;
    EXPECT_NE(why.find("The nearest are"), std::string::npos) << why;
  }
  GemmProblem other = scaled(300, BlockScaling::mxfp8);
  other.plan = "sm100/dense-128x128-c1x1-s6/bf16";
  EXPECT_NE(chosen(other, Arch::sm100).find("cannot serve"), std::string::npos);
  GemmProblem cdna = dense(64, 64, 64);
  cdna.plan = "matmul-5wave";
  EXPECT_NE(chosen(cdna, Arch::gfx950).find("matmul-4wave"), std::string::npos) << chosen(cdna, Arch::gfx950);
  GroupedProblem grouped = groups(10, BlockScaling::nvfp4);
  grouped.plan = "grouped-n8-s8-swop";
  EXPECT_NE(chosen(grouped).find("grouped-n8-s8-swap"), std::string::npos) << chosen(grouped);
}

TEST(Choose, ChipsHaveAsManySmsAsTheirSimulators) {
  for (const Arch arch : {Arch::sm80, Arch::sm90, Arch::sm100, Arch::gfx942, Arch::gfx950}) {
    EXPECT_EQ(simulated_chip(arch).multiprocessors, simulator::ChipTiming::of(arch).sms) << name(arch);
    EXPECT_EQ(simulated_chip(arch).arch, arch);
  }
}

}  // namespace
}  // namespace warpwright::choice

// Which Blackwell kernel serves a scaled product, and that those the choice never takes can be named.
#include "simulate/choose_sm100.h"

#include <gtest/gtest.h>

#include <string>

#include "catalog/instance.h"

namespace warpwright::simulate {
namespace {

std::string chosen(const ScaledProduct& p) {
  const auto k = choose_sm100(p);
  return k ? catalog::name_of(k->instance) : k.status().message();
}

TEST(ChooseSm100, TheFirstWhoseTileIsMoreThanHalfFull) {
  EXPECT_EQ(chosen({"mxfp8", false, false, 300}), "sm100/dense-128x128-c2x1-s6-pair/e4m3-mxfp8");
  EXPECT_EQ(chosen({"nvfp4", false, false, 1}), "sm100/dense-128x128-c2x1-s6-pair/e2m1-nvfp4");
  EXPECT_EQ(chosen({"blockwise", false, false, 129}), "sm100/blockwise-n128-s6-pair/e4m3");
  EXPECT_EQ(chosen({"blockwise", false, false, 128}), "sm100/blockwise-n128-s6/e4m3");
  EXPECT_EQ(chosen({"blockwise", false, false, 4}), "sm100/blockwise-n128-s6/e4m3");
  EXPECT_EQ(chosen({"blockwise", true, false, 40}), "sm100/blockwise-n128-s6/e4m3-alpha-grouped");
  EXPECT_EQ(chosen({"mxfp8", true, true, 129}), "sm100/grouped-n128-s6-pair/e4m3-mxfp8-swiglu_to_mxfp8");
  EXPECT_EQ(chosen({"mxfp8", true, true, 10}), "sm100/grouped-n16-s8-swap/e4m3-mxfp8-swiglu_to_mxfp8");
}

TEST(ChooseSm100, WhatIsNeverChosenCanBeNamed) {
  // The same tile as one before it.
  EXPECT_EQ(chosen({"mxfp8", true, false, 1}), "sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8");
  const std::string pointers = "sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8-pointers";
  EXPECT_EQ(chosen({"mxfp8", true, false, 1, pointers}), pointers);
  const std::string warps = "sm100/blockwise-n128-s5-pair-e8-o2/e4m3";
  EXPECT_EQ(chosen({"blockwise", false, false, 300, warps}), warps);
  EXPECT_EQ(chosen({"blockwise", false, false, 300, "blockwise-n128-s5-pair-e8-o2"}), warps);
  // Another function.
  const std::string clamped = "sm100/grouped-n128-s4/e2m1-nvfp4-swiglu_to_nvfp4-clamped";
  EXPECT_EQ(choose_sm100({"nvfp4", true, true, 300}).status().code(), Code::unsupported);
  EXPECT_EQ(chosen({"nvfp4", true, true, 300, clamped}), clamped);
  // In no list.
  EXPECT_EQ(chosen({"mxfp8", false, false, 300, "sm100/dense-128x64-c1x1-s4/e4m3-mxfp8"}),
            "sm100/dense-128x64-c1x1-s4/e4m3-mxfp8");
}

TEST(ChooseSm100, APlanForAnotherProductIsRefused) {
  for (const char* plan : {"nonsense", "sm100/dense-128x128-c1x1-s6/bf16", "sm90/dense-128x256-c2-s4/bf16-nt"}) {
    const auto k = choose_sm100({"mxfp8", false, false, 300, plan});
    EXPECT_EQ(k.status().code(), Code::invalid_argument) << plan;
    EXPECT_NE(k.status().message().find("sm100/dense-128x128-c2x1-s6-pair/e4m3-mxfp8"), std::string::npos);
  }
}

}  // namespace
}  // namespace warpwright::simulate

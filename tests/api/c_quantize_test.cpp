#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "warpwright/c_api.h"
#include "warpwright/quantize.h"

namespace warpwright {
namespace {

ww_quantize_problem problem() {
  ww_quantize_problem p;
  ww_quantize_problem_init(&p);
  return p;
}

TEST(CQuantize, OnTheHostItIsTheFunctionOfTheLibrary) {
  std::vector<float> x(40 * 96);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i * 7919 % 2001) - 1000);
  ww_quantize_problem p = problem();
  p.rows = 40;
  p.columns = 96;
  p.source = WW_FP32;
  p.kind = WW_QUANTIZE_NVFP4;
  p.type = WW_E2M1;
  p.layout = WW_SCALES_TILES;
  p.on_host = 1;
  std::vector<uint8_t> values(ww_quantize_value_bytes(&p)), scales(ww_quantize_scale_bytes(&p));
  ASSERT_EQ(values.size(), 40u * 48);
  ASSERT_EQ(scales.size(), 2u * 512);
  float tensor_scale = 0;
  ASSERT_EQ(ww_quantize(&p, x.data(), values.data(), scales.data(), &tensor_scale, nullptr), WW_OK) << ww_last_error();
  const ScaledMatrix m = quantize_nvfp4(x.data(), 40, 96);
  EXPECT_EQ(values, m.values);
  EXPECT_EQ(scales, tiled_scales(m));
  EXPECT_EQ(tensor_scale, m.tensor_scale);
}

TEST(CQuantize, WhatBreaksARuleIsRefusedWithASentence) {
  const auto expect = [](const ww_quantize_problem& p, const char* part) {
    EXPECT_EQ(ww_quantize_validate(&p), WW_INVALID_ARGUMENT);
    EXPECT_NE(std::string(ww_last_error()).find(part), std::string::npos) << ww_last_error();
  };
  ww_quantize_problem p = problem();
  EXPECT_EQ(ww_quantize_validate(&p), WW_OK);
  p.rows = -3;
  expect(p, "rows = -3");
  EXPECT_EQ(ww_quantize_value_bytes(&p), 0u);
  p = problem();
  p.kind = 4;
  expect(p, "kind = 4");
  p = problem();
  p.layout = WW_SCALES_TILES;
  expect(p, "layout = tiles");
  p = problem();
  p.size += 8;
  expect(p, "ww_quantize_problem_init");
  EXPECT_EQ(ww_quantize_validate(nullptr), WW_INVALID_ARGUMENT);
  p = problem();
  p.rows = p.columns = 1;
  p.on_host = 1;
  EXPECT_EQ(ww_quantize(&p, nullptr, nullptr, nullptr, nullptr, nullptr), WW_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ww_last_error()).find("source = null"), std::string::npos) << ww_last_error();
}

TEST(CQuantize, ASmallerStructureOfAnOlderCallerHasDefaultsForTheRest) {
  ww_quantize_problem p = problem();
  p.rows = p.columns = 4;
  p.on_host = 77;
  p.type = 99;
  p.size = offsetof(ww_quantize_problem, source);
  EXPECT_EQ(ww_quantize_validate(&p), WW_OK) << ww_last_error();
  EXPECT_EQ(ww_quantize_value_bytes(&p), 16u);
}

}  // namespace
}  // namespace warpwright

#include "warpwright/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace warpwright {
namespace {

// Rows whose sizes differ by many powers of two, so that one factor for all would lose the small ones.
std::vector<float> samples(int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(size_t(rows * columns));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(normal(random), int(i / size_t(columns) % 7) * 3 - 9 + int(i % size_t(columns) / 128) * 2);
  return x;
}
float largest(const std::vector<float>& x, int64_t columns, int64_t row, int64_t column, int64_t rows, int64_t width) {
  float all = 0;
  for (int64_t r = row; r < std::min(row + rows, int64_t(x.size()) / columns); ++r)
    for (int64_t c = column; c < std::min(column + width, columns); ++c)
      all = std::max(all, std::fabs(x[size_t(r * columns + c)]));
  return all;
}

// Half of the distance of two neighbours at the top of the block bounds the error of every element.
void expect_close(const std::vector<float>& x, const ScaledMatrix& m, double relative) {
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.columns; ++c) {
      const double bound = relative * largest(x, m.columns, r / m.block_rows * m.block_rows,
                                              c / m.block_columns * m.block_columns, m.block_rows, m.block_columns);
      ASSERT_NEAR(m.value(r, c), x[size_t(r * m.columns + c)], bound) << r << " " << c;
    }
}

TEST(Quantize, MxFactorsArePowersOfTwoThatNothingOverflows) {
  const auto x = samples(9, 200, 1);
  for (DType type : {DType::e4m3, DType::e5m2, DType::e2m1}) {
    const ScaledMatrix m = quantize_mx(x.data(), 9, 200, type);
    EXPECT_EQ(m.scale_columns(), 7);
    EXPECT_EQ(m.values.size(), size_t(9 * 200 * bits(type) / 8));
    const float top = type == DType::e4m3 ? 448.f : type == DType::e5m2 ? 57344.f : 6.f;
    for (int64_t r = 0; r < 9; ++r)
      for (int64_t b = 0; b < 7; ++b) {
        const float scale = m.scale(r, b), most = largest(x, 200, r, b * 32, 1, 32);
        int exponent;
        EXPECT_EQ(std::frexp(scale, &exponent), 0.5f);
        EXPECT_LE(most / scale, top);
        EXPECT_GT(most / scale, top / 2) << "a smaller factor would do";
      }
    expect_close(x, m, type == DType::e4m3 ? 1 / 14. : type == DType::e5m2 ? 1 / 7. : 1 / 3.);
  }
}

TEST(Quantize, Nvfp4HasAFactorForTheTensorAndOneForSixteenElements) {
  const auto x = samples(9, 200, 2);
  const ScaledMatrix m = quantize_nvfp4(x.data(), 9, 200);
  EXPECT_EQ(m.scale_columns(), 13);
  float most = 0, top = 0;
  for (float v : x) most = std::max(most, std::fabs(v));
  EXPECT_FLOAT_EQ(m.tensor_scale, most / (448 * 6));
  for (int64_t r = 0; r < 9; ++r)
    for (int64_t b = 0; b < 13; ++b) top = std::max(top, m.scale(r, b));
  EXPECT_EQ(top, 448);
  // A ue4m3 factor is right to one part in sixteen, or to half of the smallest one.
  for (int64_t r = 0; r < 9; ++r)
    for (int64_t c = 0; c < 200; ++c) {
      const double block = largest(x, 200, r, c / 16 * 16, 1, 16);
      ASSERT_NEAR(m.value(r, c), x[size_t(r * 200 + c)], block * 0.24 + 6 * m.tensor_scale / 1024) << r << " " << c;
    }
}

TEST(Quantize, TokensAndBlocksReachTheLargestElementExactly) {
  const auto x = samples(300, 264, 3);
  const ScaledMatrix token = quantize_per_token(x.data(), 300, 264), block = quantize_per_block(x.data(), 300, 264);
  EXPECT_EQ(token.scale_rows(), 300);
  EXPECT_EQ(token.scale_columns(), 3);
  EXPECT_EQ(block.scale_rows(), 3);
  EXPECT_EQ(block.scale_columns(), 3);
  for (int64_t r = 0; r < 300; ++r) EXPECT_FLOAT_EQ(token.scale(r, 2), largest(x, 264, r, 256, 1, 128) / 448);
  for (int64_t r = 0; r < 3; ++r) EXPECT_FLOAT_EQ(block.scale(r, 1), largest(x, 264, r * 128, 128, 128, 128) / 448);
  expect_close(x, token, 1 / 28.);
  expect_close(x, block, 1 / 28.);
  const std::vector<float> by_block = scales_by_block(token);
  ASSERT_EQ(by_block.size(), 900u);
  EXPECT_EQ(by_block[2 * 300 + 17], token.scale(17, 2));
}

TEST(Quantize, WhatIsRepresentableComesBackAsItWas) {
  std::vector<float> x(64 * 64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i * 7 % 7) - 3) * (i % 64 < 32 ? 0.5f : 4.f);
  for (size_t r = 0; r < 64; ++r) x[r * 64] = 3, x[r * 64 + 32] = 24;
  for (DType type : {DType::e4m3, DType::e5m2, DType::e2m1}) {
    EXPECT_EQ(dequantize(quantize_mx(x.data(), 64, 64, type)), x) << name(type);
  }
}

TEST(Quantize, ZerosStayZerosAndNaNSpoilsItsBlockOnly) {
  std::vector<float> x(2 * 256, 0.f);
  for (const ScaledMatrix& m : {quantize_mx(x.data(), 2, 256, DType::e4m3), quantize_nvfp4(x.data(), 2, 256),
                                quantize_per_token(x.data(), 2, 256), quantize_per_block(x.data(), 2, 256)}) {
    EXPECT_EQ(dequantize(m), x);
  }
  for (float& v : x) v = 1;
  x[130] = std::numeric_limits<float>::quiet_NaN();
  const ScaledMatrix m = quantize_mx(x.data(), 2, 256, DType::e4m3);
  EXPECT_TRUE(std::isnan(m.value(0, 130)));
  EXPECT_TRUE(std::isnan(m.scale(0, 4)));
  EXPECT_EQ(m.value(0, 127), 1);
  EXPECT_EQ(m.value(0, 160), 1);
  EXPECT_EQ(m.value(1, 130), 1);
}

TEST(Quantize, TiledFactorsLieAsTheCopyIntoTensorMemoryReadsThem) {
  const auto x = samples(300, 320, 4);
  const ScaledMatrix m = quantize_mx(x.data(), 300, 320, DType::e4m3);
  const std::vector<uint8_t> tiles = tiled_scales(m);
  ASSERT_EQ(tiles.size(), size_t(3 * 3 * 512));
  size_t used = 0;
  for (int64_t r = 0; r < 300; ++r)
    for (int64_t c = 0; c < 10; ++c, ++used)
      ASSERT_EQ(tiles[size_t(((r / 128 * 3 + c / 4) * 32 + r % 32) * 16 + r % 128 / 32 * 4 + c % 4)],
                m.scales[size_t(r * 10 + c)]);
  size_t zeros = 0;
  for (uint8_t b : tiles) zeros += b == 0;
  EXPECT_GE(zeros, tiles.size() - used) << "what the matrix does not reach is zero";

  // Groups of 5, 0 and 295 rows: the second tile row begins with row 5.
  const std::vector<uint8_t> grouped = tiled_scales(m, {0, 5, 5, 300});
  ASSERT_EQ(grouped.size(), size_t((1 + 3) * 3 * 512));
  EXPECT_EQ(grouped[3 * 512 + 1], m.scales[5 * 10 + 1]);
  EXPECT_EQ(grouped[0], m.scales[0]);
  EXPECT_EQ(grouped[5 * 16], 0) << "row 5 is not in the first group";
}

}  // namespace
}  // namespace warpwright

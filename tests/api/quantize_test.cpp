#include "warpwright/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "launch/quantize_rules.h"
#include "warpwright/core/numeric.h"
#include "warpwright/kernel/sm90/grouped/grouped_epilogue.h"

namespace warpwright {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Outcome {
  std::vector<uint8_t> values, scales;
  float tensor_scale = 0;
};
template <class T>
Outcome on_host(QuantizeProblem p, const std::vector<T>& source, float given = 0) {
  p.source = dtype_of<T>;
  Outcome out{std::vector<uint8_t>(size_t(value_bytes(p)), 0xee), std::vector<uint8_t>(size_t(scale_bytes(p)), 0xee),
              given};
  const Status s = quantize_on_host(p, {source.data(), out.values.data(), out.scales.data(), &out.tensor_scale});
  EXPECT_TRUE(s) << s.message();
  return out;
}
float float_at(const std::vector<uint8_t>& bytes, size_t index) {
  float x;
  std::memcpy(&x, bytes.data() + index * sizeof x, sizeof x);
  return x;
}

constexpr struct {
  Quantization kind;
  DType type;
} kKinds[] = {{Quantization::token, DType::e4m3}, {Quantization::token, DType::e5m2},
              {Quantization::block, DType::e4m3}, {Quantization::block, DType::e5m2},
              {Quantization::mx, DType::e4m3},    {Quantization::mx, DType::e5m2},
              {Quantization::mx, DType::e2m1},    {Quantization::nvfp4, DType::e2m1}};

TEST(QuantizeRules, FourBitCodesAreThoseOfTheFormat) {
  // All signs, exponents and the first seven bits of the fraction, with everything that can come after a tie.
  float x[8] = {};
  uint32_t words[1];
  for (uint32_t high = 0; high < 0x1'0000; ++high) {
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0xffffu}) {
      float& one = x[high % 8];
      one = std::bit_cast<float>(high << 16 | low);
      quantizing::convert<DType::e2m1>(x, 1, words);
      const uint32_t want = std::isnan(one) ? words[0] : uint32_t(from_float<e2m1>(one).bits) << (4 * (high % 8));
      ASSERT_EQ(words[0], want) << one;
      one = 0;
    }
  }
  x[3] = -1;
  quantizing::convert<DType::e2m1>(x, kNan, words);
  EXPECT_EQ(words[0], 0x7777'7777u);
}

TEST(QuantizeRules, FactorsAreTheSmallestPowersOfTwoThatNothingOverflows) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const uint32_t bits = random() & 0x7fff'ffff;
    if (bits >= quantizing::kInfinity) continue;
    const double x = double(std::bit_cast<float>(bits));
    const auto expect = [&](quantizing::Scale f, double top) {
      const double scale = double(to_float(ue8m0{uint8_t(f.code)}));
      EXPECT_LE(x, top * scale) << x;
      EXPECT_TRUE(f.code == 0 || x > top * scale / 2) << x << " has a smaller factor";
      EXPECT_EQ(double(f.by) * scale, 1) << f.code;
    };
    expect(quantizing::scale_of<Quantization::mx, DType::e4m3>(bits, 1), 448);
    expect(quantizing::scale_of<Quantization::mx, DType::e5m2>(bits, 1), 57344);
    expect(quantizing::scale_of<Quantization::mx, DType::e2m1>(bits, 1), 6);
  }
}

TEST(QuantizeRules, FactorsInFp32AreThoseOfTheKernels) {
  std::mt19937 random(4);
  for (int i = 0; i < 20000; ++i) {
    const uint32_t bits = i == 0 ? 0 : random() % quantizing::kInfinity;
    const quantizing::Scale f = quantizing::scale_of<Quantization::token, DType::e4m3>(bits, 1);
    ASSERT_EQ(std::bit_cast<float>(f.code), epilogue::scale_of_block(std::bit_cast<float>(bits)));
    ASSERT_EQ(f.by, 1 / std::bit_cast<float>(f.code));
  }
}

TEST(QuantizeOnHost, SixteenBitSourcesAndStridesGiveWhatTheSameNumbersInFp32Give) {
  constexpr int64_t rows = 133, columns = 270, stride = 275;
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 20);
  std::vector<bf16> narrow(rows * stride, bf16{0x7fff});
  std::vector<fp16> half(rows * stride, fp16{0x7fff});
  std::vector<float> wide(rows * columns);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      // What both 16-bit types hold.
      const float x = std::ldexp(std::round(normal(random) * 4), int(random() % 8) - 4);
      const size_t at = size_t(r * stride + c);
      narrow[at] = from_float<bf16>(x);
      half[at] = from_float<fp16>(to_float(narrow[at]));
      wide[size_t(r * columns + c)] = to_float(narrow[at]);
      ASSERT_EQ(to_float(half[at]), to_float(narrow[at]));
    }
  for (const auto& k : kKinds) {
    QuantizeProblem p{.rows = rows, .columns = columns, .kind = k.kind, .type = k.type};
    const Outcome want = on_host(p, wide);
    p.stride = stride;
    const Outcome a = on_host(p, narrow), b = on_host(p, half);
    EXPECT_EQ(a.values, want.values);
    EXPECT_EQ(a.scales, want.scales);
    EXPECT_EQ(b.values, want.values);
    EXPECT_EQ(b.scales, want.scales);
    EXPECT_EQ(a.tensor_scale, want.tensor_scale);
  }
}

TEST(QuantizeOnHost, LayoutsHoldTheSameFactorsAndZerosElsewhere) {
  constexpr int64_t rows = 150, columns = 300;
  std::vector<float> x(rows * columns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 977) + 1;
  QuantizeProblem p{.rows = rows, .columns = columns};
  for (const Quantization kind : {Quantization::token, Quantization::block}) {
    p.kind = kind;
    p.layout = ScaleLayout::rows;
    const ScaledMatrix m = kind == Quantization::token ? quantize_per_token(x.data(), rows, columns)
                                                       : quantize_per_block(x.data(), rows, columns);
    EXPECT_EQ(on_host(p, x).scales, m.scales);
    p.layout = ScaleLayout::columns;
    const std::vector<uint8_t> scales = on_host(p, x).scales;
    const std::vector<float> want = scales_by_block(m);
    ASSERT_EQ(scales.size(), want.size() * sizeof(float));
    for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(float_at(scales, i), want[i]) << i;
  }
  p.layout = ScaleLayout::tiles;
  p.kind = Quantization::mx;
  EXPECT_EQ(on_host(p, x).scales, tiled_scales(quantize_mx(x.data(), rows, columns, DType::e4m3)));
  p.kind = Quantization::nvfp4;
  p.type = DType::e2m1;
  EXPECT_EQ(on_host(p, x).scales, tiled_scales(quantize_nvfp4(x.data(), rows, columns)));
}

TEST(QuantizeOnHost, ATensorScaleThatIsGivenIsUsedAndKept) {
  std::vector<float> x(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i);
  QuantizeProblem p{.rows = 1, .columns = 32, .kind = Quantization::nvfp4, .type = DType::e2m1};
  p.given_tensor_scale = true;
  const Outcome out = on_host(p, x, 0.5f);
  EXPECT_EQ(out.tensor_scale, 0.5f);
  // 15 / 6 / 0.5 and 31 / 6 / 0.5, to the nearest.
  EXPECT_EQ(to_float(ue4m3{out.scales[0]}), 5.f);
  EXPECT_EQ(to_float(ue4m3{out.scales[1]}), 10.f);
  p.given_tensor_scale = false;
  EXPECT_EQ(on_host(p, x).tensor_scale, 31.f / (448 * 6));
}

TEST(QuantizeOnHost, WhatIsNotFiniteSaysSoInItsBlockOnly) {
  for (const auto& k : kKinds) {
    SCOPED_TRACE(std::string(name(k.type)) + " " + std::to_string(int(k.kind)));
    const QuantizeProblem p{.rows = 1, .columns = 256, .kind = k.kind, .type = k.type};
    const bool wide = bits(scale_dtype(k.kind)) == 32;
    std::vector<float> x(256, 1.f);
    const Outcome plain = on_host(p, x);
    x[200] = kNan;
    const Outcome nan = on_host(p, x);
    const size_t block = 200 / size_t(block_columns(k.kind)), size = wide ? 4 : 1;
    if (wide) {
      uint32_t bits;
      std::memcpy(&bits, nan.scales.data() + block * 4, 4);
      EXPECT_EQ(bits, 0x7fc0'0000u);
    } else {
      EXPECT_EQ(nan.scales[block], k.kind == Quantization::mx ? 0xff : 0x7f);
    }
    const size_t value = 200 * size_t(bits(k.type)) / 8;
    if (k.type == DType::e2m1) {
      EXPECT_EQ(nan.values[value], 0x77);
    } else {
      EXPECT_TRUE(k.type == DType::e4m3 ? is_nan(e4m3{nan.values[value]}) : is_nan(e5m2{nan.values[value]}));
    }
    EXPECT_TRUE(
        std::equal(nan.scales.begin(), nan.scales.begin() + std::ptrdiff_t(block * size), plain.scales.begin()));
    EXPECT_EQ(nan.values[0], plain.values[0]);

    x[200] = -kInfinite;
    const Outcome infinite = on_host(p, x);
    if (wide) {
      EXPECT_EQ(float_at(infinite.scales, block), kInfinite);
    } else {
      // The largest factor, and the largest element of its sign.
      EXPECT_EQ(infinite.scales[block], k.kind == Quantization::mx ? 0xfe : 0x7e);
      EXPECT_EQ(infinite.values[value] & (k.type == DType::e2m1 ? 0xf : 0xff), k.type == DType::e2m1   ? 0xf
                                                                               : k.type == DType::e4m3 ? 0xfe
                                                                                                       : 0xfb);
    }
  }
}

TEST(QuantizeOnHost, TheSmallestAndTheLargestNumbersStayWithinHalfAStep) {
  for (const auto& k : kKinds) {
    for (const float size : {0x1p-149f, 0x1p-140f, 0x1p-126f, 0x1p-100f, 0x1p100f, std::numeric_limits<float>::max()}) {
      std::vector<float> x(128);
      for (size_t i = 0; i < x.size(); ++i) x[i] = float(double(size) * double(i) / 127);
      const ScaledMatrix m = k.kind == Quantization::token   ? quantize_per_token(x.data(), 1, 128, k.type)
                             : k.kind == Quantization::block ? quantize_per_block(x.data(), 1, 128, k.type)
                             : k.kind == Quantization::mx    ? quantize_mx(x.data(), 1, 128, k.type)
                                                             : quantize_nvfp4(x.data(), 1, 128);
      // Where the factor is the smallest there is, steps are those of the smallest elements.
      const double least = (k.type == DType::e4m3 ? 0x1p-10 : k.type == DType::e5m2 ? 0x1p-17 : 0.25) * 0x1p-126;
      const double step = k.type == DType::e4m3 ? 1 / 14. : k.type == DType::e5m2 ? 1 / 7. : 0.35;
      for (int64_t c = 0; c < 128; ++c) {
        ASSERT_NEAR(m.value(0, c), double(x[size_t(c)]), step * double(size) + least)
            << name(k.type) << " " << int(k.kind) << " " << size << " " << c;
      }
    }
  }
}

TEST(QuantizeOnHost, NothingIsReadOrWrittenWithoutRowsOrColumns) {
  for (const auto& k : kKinds) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{0, 64}, {64, 0}, {0, 0}}) {
      const QuantizeProblem p{.rows = rows, .columns = columns, .kind = k.kind, .type = k.type};
      EXPECT_EQ(value_bytes(p), 0);
      float tensor_scale = 7;
      EXPECT_TRUE(quantize_on_host(p, {.tensor_scale = &tensor_scale}));
      EXPECT_EQ(tensor_scale, k.kind == Quantization::nvfp4 ? 0x1p-126f : 7.f);
    }
  }
}

TEST(QuantizeProblem, WhatBreaksARuleIsRefusedWithTheArgumentItsValueAndTheRule) {
  const auto expect = [](const QuantizeProblem& p, const char* part) {
    const Status s = validate(p);
    EXPECT_EQ(s.code(), Code::invalid_argument) << part;
    EXPECT_NE(s.message().find(part), std::string::npos) << s.message();
  };
  EXPECT_TRUE(validate(QuantizeProblem{}));
  expect({.rows = -1}, "rows = -1: it must not be negative");
  expect({.columns = int64_t(1) << 40}, "columns = 1099511627776: it must be at most");
  expect({.rows = 2, .columns = 64, .stride = 63}, "stride = 63: rows of 64 elements would overlap");
  expect({.source = DType::e4m3}, "source = e4m3: it must be bf16, fp16 or fp32");
  expect({.type = DType::e2m1}, "type = e2m1: elements with factors of a token are e4m3 or e5m2");
  expect({.kind = Quantization::nvfp4}, "type = e4m3: elements of nvfp4 are e2m1");
  expect({.kind = Quantization::mx, .type = DType::bf16}, "type = bf16: elements of mx are");
  expect({.columns = 33, .kind = Quantization::mx, .type = DType::e2m1}, "columns = 33: it must be even");
  expect({.layout = ScaleLayout::tiles}, "layout = tiles: the factors of a token are fp32");
  expect({.kind = Quantization::mx, .layout = ScaleLayout::columns}, "layout = columns: the factors of mx have 8 bits");
  expect({.given_tensor_scale = true}, "given_tensor_scale = true: only nvfp4");

  float x[4] = {}, scale = 0;
  uint8_t q[4] = {};
  const QuantizeProblem p{.rows = 1, .columns = 4, .source = DType::fp32};
  const auto refused = [&](const QuantizePointers& pointers, const char* part) {
    const Status s = quantize_on_host(p, pointers);
    EXPECT_NE(s.message().find(part), std::string::npos) << s.message();
  };
  refused({nullptr, q, &scale}, "source = null");
  refused({x, nullptr, &scale}, "values = null");
  refused({x, q, nullptr}, "scales = null");
  refused({reinterpret_cast<uint8_t*>(x) + 1, q, &scale}, "must be a multiple of 4 bytes");
  const Status s =
      quantize_on_host({.rows = 1, .columns = 4, .kind = Quantization::nvfp4, .type = DType::e2m1}, {x, q, &scale});
  EXPECT_NE(s.message().find("tensor_scale = null"), std::string::npos) << s.message();
}

}  // namespace
}  // namespace warpwright

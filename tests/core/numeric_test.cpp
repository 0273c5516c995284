#include "warpwright/core/numeric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <ios>
#include <limits>
#include <type_traits>
#include <vector>

namespace warpwright {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The definition of a small format, in doubles and by search: nothing here shares a line with the conversions.
struct Oracle {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity, has_nan;
  bool has_sign = true;

  int magnitudes() const { return 1 << (exponent_bits + mantissa_bits); }
  int largest() const {
    if (has_infinity) return (((1 << exponent_bits) - 1) << mantissa_bits) - 1;
    return has_nan ? magnitudes() - 2 : magnitudes() - 1;
  }
  // Value of a magnitude as if every code were a number; one past the largest is the next point of the grid.
  double grid(int code) const {
    const int exponent = code >> mantissa_bits;
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
  int canonical_nan() const { return has_nan || has_infinity ? magnitudes() - 1 : largest(); }
  int beyond(Saturation s) const {
    if (s == Saturation::finite) return largest();
    return has_infinity ? largest() + 1 : canonical_nan();
  }

  int convert(float x, Conversion how) const {
    if (std::isnan(x)) return canonical_nan();
    const bool negative = has_sign && std::signbit(x);
    const int sign = negative ? magnitudes() : 0;
    const double a = std::fabs(double(x));
    if (std::isinf(x)) return sign + beyond(how.saturation);
    int below = 0;  // the highest grid point not above a, the overflow point included
    for (int code = 0; code <= largest() + 1; ++code) {
      if (grid(code) <= a) below = code;
    }
    int result = below;
    if (below <= largest() && grid(below) != a) {
      const double low = a - grid(below), high = grid(below + 1) - a;
      switch (how.rounding) {
        case Rounding::nearest_even:
          result = low < high ? below : high < low ? below + 1 : below % 2 == 0 ? below : below + 1;
          break;
        case Rounding::nearest_away:
          result = low < high ? below : below + 1;
          break;
        case Rounding::toward_zero:
          break;
        case Rounding::up:
          result = negative ? below : below + 1;
          break;
      }
    }
    if (result <= largest()) return sign + result;
    const bool inward = how.rounding == Rounding::toward_zero || (how.rounding == Rounding::up && negative);
    return sign + (inward ? largest() : beyond(how.saturation));
  }

  double value(int code) const {
    const int magnitude = code % magnitudes();
    const double sign = code >= magnitudes() ? -1.0 : 1.0;
    if (has_infinity && magnitude == largest() + 1) return sign * kInf;
    if (magnitude > largest()) return kNan;
    return sign * grid(magnitude);
  }
};

constexpr Oracle kE4m3{4, 3, 7, false, true};
constexpr Oracle kE5m2{5, 2, 15, true, true};
constexpr Oracle kE2m1{2, 1, 1, false, false};
constexpr Oracle kUe4m3{4, 3, 7, false, true, false};

// Codes, midpoints, their neighbours in float, the edges of float itself, and a spread over all its bit patterns.
std::vector<float> interesting(const Oracle& o) {
  std::vector<float> out = {0.0f, kInf, kNan, 1e-45f, 1e-40f, 1.17549435e-38f, 3.4e38f, 1e30f, 1e-30f};
  for (int code = 0; code <= o.largest() + 1; ++code) {
    const double middle = (o.grid(code) + o.grid(code + 1)) / 2;
    for (double v : {o.grid(code), middle}) {
      const float f = float(v);
      for (float g : {f, std::nextafter(f, kInf), std::nextafter(f, -kInf)}) out.push_back(g);
    }
  }
  for (uint64_t word = 0; word < 0x1'0000'0000; word += 262'147) out.push_back(std::bit_cast<float>(uint32_t(word)));
  const size_t n = out.size();
  for (size_t i = 0; i < n; ++i) out.push_back(-out[i]);
  return out;
}

template <class T>
void expect_conversions_match(const Oracle& o) {
  const std::vector<float> inputs = interesting(o);
  for (Rounding r : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::up}) {
    for (Saturation s : {Saturation::finite, Saturation::none}) {
      for (float x : inputs) {
        ASSERT_EQ(int(from_float<T>(x, {r, s}).bits), o.convert(x, {r, s}))
            << std::hexfloat << x << " rounding " << int(r) << " saturation " << int(s);
      }
    }
  }
}

template <class T>
void expect_values_match(const Oracle& o) {
  for (int code = 0; code < o.magnitudes() * (o.has_sign ? 2 : 1); ++code) {
    const T x{uint8_t(code)};
    const double want = o.value(code);
    ASSERT_EQ(is_nan(x), std::isnan(want)) << code;
    ASSERT_EQ(std::isnan(to_float(x)), std::isnan(want)) << code;
    if (std::isnan(want)) continue;
    ASSERT_EQ(double(to_float(x)), want) << code;
    ASSERT_EQ(std::signbit(to_float(x)), std::signbit(want)) << code;
    if (std::isinf(want)) continue;
    ASSERT_EQ(from_float<T>(to_float(x)), x) << code;
  }
}

TEST(Numeric, EveryE4m3CodeHasItsValue) { expect_values_match<e4m3>(kE4m3); }
TEST(Numeric, EveryE5m2CodeHasItsValue) { expect_values_match<e5m2>(kE5m2); }
TEST(Numeric, EveryE2m1CodeHasItsValue) { expect_values_match<e2m1>(kE2m1); }
TEST(Numeric, EveryUe4m3CodeHasItsValue) { expect_values_match<ue4m3>(kUe4m3); }
TEST(Numeric, E4m3RoundsAsTheGridSays) { expect_conversions_match<e4m3>(kE4m3); }
TEST(Numeric, E5m2RoundsAsTheGridSays) { expect_conversions_match<e5m2>(kE5m2); }
TEST(Numeric, E2m1RoundsAsTheGridSays) { expect_conversions_match<e2m1>(kE2m1); }
TEST(Numeric, Ue4m3RoundsTheMagnitudeAsTheGridSays) { expect_conversions_match<ue4m3>(kUe4m3); }

TEST(Numeric, DefaultsAreThoseOfPtx) {
  EXPECT_EQ(from_float<e4m3>(kInf).bits, 0x7e);
  EXPECT_EQ(from_float<e4m3>(-1e6f).bits, 0xfe);
  EXPECT_EQ(from_float<e4m3>(kNan).bits, 0x7f);
  EXPECT_EQ(from_float<e4m3>(kInf, {Rounding::nearest_even, Saturation::none}).bits, 0x7f);
  EXPECT_EQ(to_float(from_float<e4m3>(1e6f)), 448.0f);
  EXPECT_EQ(from_float<e5m2>(kInf).bits, 0x7b);
  EXPECT_EQ(to_float(from_float<e5m2>(kInf)), 57344.0f);
  EXPECT_EQ(from_float<e5m2>(-kInf, {Rounding::nearest_even, Saturation::none}).bits, 0xfc);
  EXPECT_TRUE(is_nan(from_float<e5m2>(kNan)));
  EXPECT_EQ(from_float<e2m1>(kNan).bits, 0x7);
  EXPECT_EQ(from_float<e2m1>(-kNan).bits, 0x7);
  EXPECT_EQ(from_float<e2m1>(-kInf).bits, 0xf);
  EXPECT_EQ(from_float<e2m1>(-0.0f).bits, 0x8);
  EXPECT_EQ(from_float<bf16>(kInf).bits, 0x7f80);
  EXPECT_EQ(from_float<fp16>(1e6f).bits, 0x7c00);
  EXPECT_EQ(from_float<fp16>(1e6f, {Rounding::nearest_even, Saturation::finite}).bits, 0x7bff);
  EXPECT_EQ(from_float<bf16>(3.4e38f, {Rounding::nearest_even, Saturation::finite}).bits, 0x7f7f);
  EXPECT_EQ(from_float<bf16>(3.4e38f, {Rounding::nearest_even, Saturation::none}).bits, 0x7f80);
}

TEST(Numeric, E2m1PairsShareAByteLowNibbleFirst) {
  for (int a = 0; a < 16; ++a) {
    for (int b = 0; b < 16; ++b) {
      const uint8_t byte = pack2(e2m1{uint8_t(a)}, e2m1{uint8_t(b)});
      ASSERT_EQ(byte, a + 16 * b);
      ASSERT_EQ(unpack2(byte)[0].bits, a);
      ASSERT_EQ(unpack2(byte)[1].bits, b);
    }
  }
}

TEST(Numeric, Ue8m0CodesArePowersOfTwo) {
  for (int code = 0; code < 255; ++code) {
    ASSERT_EQ(double(to_float(ue8m0{uint8_t(code)})), std::ldexp(1.0, code - 127)) << code;
    ASSERT_EQ(from_float<ue8m0>(to_float(ue8m0{uint8_t(code)})).bits, code);
  }
  EXPECT_TRUE(is_nan(ue8m0{0xff}));
  EXPECT_TRUE(std::isnan(to_float(ue8m0{0xff})));
}

TEST(Numeric, Ue8m0RoundsTowardZeroOrUp) {
  std::vector<float> inputs = {0.0f, 1e-45f, kInf, 3.4028235e38f, 1.0f, 3.0f, -3.0f};
  for (int code = 0; code < 255; ++code) {
    const float power = float(std::ldexp(1.0, code - 127));
    for (float f : {power, std::nextafter(power, kInf), std::nextafter(power, 0.0f), 1.5f * power}) inputs.push_back(f);
  }
  for (uint64_t word = 0; word < 0x1'0000'0000; word += 65'537) inputs.push_back(std::bit_cast<float>(uint32_t(word)));
  for (float x : inputs) {
    if (std::isnan(x)) {
      ASSERT_EQ(from_float<ue8m0>(x).bits, 0xff);
      continue;
    }
    const double a = std::fabs(double(x));
    int down = 0, up = 0;
    while (down < 254 && std::ldexp(1.0, down + 1 - 127) <= a) ++down;
    while (up < 255 && std::ldexp(1.0, up - 127) < a) ++up;
    ASSERT_EQ(from_float<ue8m0>(x, {Rounding::toward_zero, Saturation::finite}).bits, down) << std::hexfloat << x;
    ASSERT_EQ(from_float<ue8m0>(x, {Rounding::up, Saturation::finite}).bits, std::min(up, 254)) << std::hexfloat << x;
    ASSERT_EQ(from_float<ue8m0>(x, {Rounding::up, Saturation::none}).bits, up) << std::hexfloat << x;
  }
  EXPECT_EQ(from_float<ue8m0>(kInf, {Rounding::toward_zero, Saturation::none}).bits, 0xff);
}

TEST(Numeric, EveryBf16CodeSurvives) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const bf16 x{uint16_t(code)};
    const float f = to_float(x);
    ASSERT_EQ(is_nan(x), std::isnan(f)) << code;
    if (std::isnan(f)) {
      ASSERT_EQ(from_float<bf16>(f).bits, 0x7fff);
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(f), code << 16);
      ASSERT_EQ(from_float<bf16>(f), x);
    }
  }
}

// Between neighbours `low` and `low + 1` of one sign, the middle goes to the even code and the rest to the nearer one.
TEST(Numeric, Bf16RoundsToTheNearerNeighbour) {
  for (uint32_t sign : {0u, 0x8000u}) {
    for (uint32_t low = 0; low < 0x7f7f; ++low) {
      const uint32_t code = sign | low;
      const double a = to_float(bf16{uint16_t(code)}), b = to_float(bf16{uint16_t(code + 1)});
      const float middle = float((a + b) / 2);
      ASSERT_EQ(double(middle), (a + b) / 2);
      for (Conversion how : {Conversion{}, Conversion{Rounding::nearest_even, Saturation::finite}}) {
        ASSERT_EQ(from_float<bf16>(middle, how).bits, code % 2 == 0 ? code : code + 1);
        ASSERT_EQ(from_float<bf16>(std::nextafter(middle, float(a)), how).bits, code);
        ASSERT_EQ(from_float<bf16>(std::nextafter(middle, float(b)), how).bits, code + 1);
      }
      ASSERT_EQ(from_float<bf16>(std::nextafter(float(b), float(a)), {Rounding::toward_zero, Saturation::none}).bits,
                code);
    }
  }
}

TEST(Numeric, EveryFp16CodeSurvives) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const fp16 x{uint16_t(code)};
    const float want = float(std::bit_cast<_Float16>(uint16_t(code)));
    ASSERT_EQ(is_nan(x), std::isnan(want)) << code;
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(to_float(x)));
      ASSERT_EQ(from_float<fp16>(want).bits, 0x7fff);
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(to_float(x)), std::bit_cast<uint32_t>(want)) << code;
      ASSERT_EQ(from_float<fp16>(want), x);
    }
  }
}

TEST(Numeric, Fp16RoundsAsTheCompilerDoes) {
  const auto check = [](float x) {
    if (std::isnan(x)) return;
    ASSERT_EQ(from_float<fp16>(x).bits, std::bit_cast<uint16_t>(_Float16(x))) << std::hexfloat << x;
  };
  for (uint32_t code = 0; code < 0xfc00; ++code) {
    if ((code & 0x7fff) >= 0x7c00) continue;
    const float a = to_float(fp16{uint16_t(code)});
    // Above the largest finite value the neighbour is the overflow threshold, 65536.
    const float b = (code & 0x7fff) == 0x7bff ? std::copysign(65536.0f, a) : to_float(fp16{uint16_t(code + 1)});
    const float middle = (a + b) / 2;
    for (float x : {a, middle, std::nextafter(middle, a), std::nextafter(middle, b), std::nextafter(a, b)}) check(x);
  }
  for (uint64_t word = 0; word < 0x1'0000'0000; word += 4'099) check(std::bit_cast<float>(uint32_t(word)));
}

TEST(Numeric, Tf32KeepsNineteenBits) {
  for (uint32_t low = 0; low < 0x3fbff; low += 7) {  // 18 magnitude bits; the last finite code has no finite neighbour
    for (uint32_t sign : {0u, 0x40000u}) {
      const uint32_t code = sign | low;
      const float a = std::bit_cast<float>(code << 13), b = std::bit_cast<float>((code + 1) << 13);
      const float middle = std::bit_cast<float>((code << 13) | 0x1000);
      ASSERT_EQ(double(middle), (double(a) + double(b)) / 2);
      ASSERT_EQ(from_float<tf32>(a).bits, code << 13);
      ASSERT_EQ(to_float(tf32{code << 13}), a);
      ASSERT_EQ(to_float(tf32{(code << 13) | 0x1fff}), a) << "the low 13 bits are not read";
      const Conversion away{Rounding::nearest_away, Saturation::none};
      const uint32_t even = code % 2 == 0 ? code : code + 1;
      ASSERT_EQ(from_float<tf32>(middle).bits, even << 13);
      ASSERT_EQ(from_float<tf32>(middle, away).bits, (code + 1) << 13);
      for (Conversion how : {Conversion{}, away}) {
        ASSERT_EQ(from_float<tf32>(std::nextafter(middle, a), how).bits, code << 13);
        ASSERT_EQ(from_float<tf32>(std::nextafter(middle, b), how).bits, (code + 1) << 13);
      }
    }
  }
  EXPECT_EQ(from_float<tf32>(kInf).bits, 0x7f800000u);
  EXPECT_TRUE(is_nan(from_float<tf32>(kNan)));
  EXPECT_TRUE(std::isnan(to_float(from_float<tf32>(-kNan))));
}

TEST(Numeric, ConversionsAreConstantExpressions) {
  static_assert(to_float(from_float<e4m3>(0.3f)) == 0.3125f);
  static_assert(to_float(from_float<e5m2>(0.3f)) == 0.3125f);
  static_assert(to_float(from_float<e2m1>(2.5f)) == 2.0f);
  static_assert(to_float(from_float<bf16>(1.0f)) == 1.0f);
  static_assert(to_float(from_float<fp16>(65504.0f)) == 65504.0f);
  static_assert(to_float(from_float<ue8m0>(5.0f)) == 8.0f);
  static_assert(is_nan(from_float<e4m3>(kNan)));
  static_assert(!std::is_convertible_v<float, bf16> && !std::is_convertible_v<bf16, float>);
}

TEST(DType, NamesParseBack) {
  for (int i = 0; i < kDTypeCount; ++i) {
    DType parsed = DType(i) == DType::s8 ? DType::bf16 : DType::s8;
    ASSERT_TRUE(parse_dtype(name(DType(i)), parsed));
    ASSERT_EQ(parsed, DType(i));
  }
  DType type = DType::bf16;
  EXPECT_TRUE(parse_dtype("fp8", type));
  EXPECT_EQ(type, DType::e4m3);
  EXPECT_TRUE(parse_dtype("f32", type));
  EXPECT_EQ(type, DType::fp32);
  for (const char* wrong : {"", "bf", "bf160", "BF16", "float", "e4"}) {
    EXPECT_FALSE(parse_dtype(wrong, type)) << wrong;
    EXPECT_EQ(type, DType::fp32);
  }
  EXPECT_FALSE(parse_dtype(nullptr, type));
}

template <DType D>
void expect_storage_round_trip() {
  static_assert(dtype_of<storage_t<D>> == D);
  EXPECT_EQ(int(sizeof(storage_t<D>)) * 8, D == DType::e2m1 ? 8 : bits(D)) << name(D);
}

TEST(DType, StorageTypesAndWidthsAgree) {
  expect_storage_round_trip<DType::bf16>();
  expect_storage_round_trip<DType::fp16>();
  expect_storage_round_trip<DType::tf32>();
  expect_storage_round_trip<DType::fp32>();
  expect_storage_round_trip<DType::e4m3>();
  expect_storage_round_trip<DType::e5m2>();
  expect_storage_round_trip<DType::e2m1>();
  expect_storage_round_trip<DType::ue8m0>();
  expect_storage_round_trip<DType::ue4m3>();
  expect_storage_round_trip<DType::s8>();
  EXPECT_EQ(bits(DType::e2m1), 4);
}

}  // namespace
}  // namespace warpwright

// Numeric formats: storage types and exact conversions from and to float. Bit arithmetic only, so the same code runs in
// constant expressions, on the host and in device code, and gives the same bits as the PTX cvt instructions.
#pragma once
#include "warpwright/core/dtype.h"
#include "warpwright/core/std.h"

namespace warpwright {

// A storage type holds one code. Equality compares codes, not values: +0 and -0 differ, a NaN equals itself.
struct bf16 {
  uint16_t bits;
  constexpr bool operator==(const bf16&) const = default;
};
struct fp16 {
  uint16_t bits;
  constexpr bool operator==(const fp16&) const = default;
};
// The upper 19 bits of a float (sign, 8 exponent, 10 mantissa) in their place; from_float leaves the other 13 zero.
struct tf32 {
  uint32_t bits;
  constexpr bool operator==(const tf32&) const = default;
};
// OCP e4m3fn: no infinity, NaN is 0x7f or 0xff, largest value 448.
struct e4m3 {
  uint8_t bits;
  constexpr bool operator==(const e4m3&) const = default;
};
// IEEE-like: infinity 0x7c, largest value 57344.
struct e5m2 {
  uint8_t bits;
  constexpr bool operator==(const e5m2&) const = default;
};
// One 4-bit code in the low nibble: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
struct e2m1 {
  uint8_t bits;
  constexpr bool operator==(const e2m1&) const = default;
};
// A power of two, 2^(bits - 127); 0xff is NaN; there is no zero.
struct ue8m0 {
  uint8_t bits;
  constexpr bool operator==(const ue8m0&) const = default;
};
// e4m3 without sign: 0x7f is NaN, largest value 448.
struct ue4m3 {
  uint8_t bits;
  constexpr bool operator==(const ue4m3&) const = default;
};

// `up` rounds toward positive infinity; nearest_away breaks ties away from zero (cvt.rna).
enum class Rounding : uint8_t { nearest_even, nearest_away, toward_zero, up };

// finite: what exceeds the range, infinities included, becomes the largest finite value of that sign (.satfinite).
// none: it becomes infinity, or NaN in a format that has no infinity.
enum class Saturation : uint8_t { finite, none };

struct Conversion {
  Rounding rounding = Rounding::nearest_even;
  Saturation saturation = Saturation::none;
};

namespace detail {

enum class Top : uint8_t {
  ieee,    // the highest exponent holds infinity and NaN
  nan,     // only the highest code is NaN, no infinity
  finite,  // neither
};

// A format with subnormals: sign (if any), `exponent` bits, `mantissa` bits.
struct Format {
  int exponent;
  int mantissa;
  Top top;
  bool sign;

  WW_HD constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  WW_HD constexpr uint32_t magnitude_mask() const { return (uint32_t(1) << (exponent + mantissa)) - 1; }
  WW_HD constexpr uint32_t sign_bit() const { return sign ? uint32_t(1) << (exponent + mantissa) : 0; }
  // Only for Top::ieee.
  WW_HD constexpr uint32_t infinity() const { return magnitude_mask() & ~((uint32_t(1) << mantissa) - 1); }
  WW_HD constexpr uint32_t largest() const {
    return top == Top::ieee ? infinity() - 1 : top == Top::nan ? magnitude_mask() - 1 : magnitude_mask();
  }
  // What NaN turns into: the canonical NaN of PTX (positive, all ones), or +MAX_NORM where there is none.
  WW_HD constexpr uint32_t nan() const { return magnitude_mask(); }
  // What an overflow turns into without saturation.
  WW_HD constexpr uint32_t overflow() const { return top == Top::ieee ? infinity() : magnitude_mask(); }
  WW_HD constexpr bool is_nan(uint32_t code) const {
    const uint32_t magnitude = code & magnitude_mask();
    return top == Top::ieee ? magnitude > infinity() : top == Top::nan && magnitude == magnitude_mask();
  }
};

inline constexpr uint32_t kFloatInfinity = 0x7f80'0000;

// The rounded quotient of significand / 2^shift, shift > 0. Magnitudes only: `up` needs the sign to know which way is
// up.
WW_HD constexpr uint32_t round_shift(uint32_t significand, int shift, Rounding rounding, bool negative) {
  const uint32_t quotient = significand >> shift;
  const uint32_t rest = significand - (quotient << shift);
  const uint32_t half = (uint32_t(1) << shift) >> 1;
  bool increment = false;
  switch (rounding) {
    case Rounding::nearest_even:
      increment = rest > half || (rest == half && (quotient & 1) != 0);
      break;
    case Rounding::nearest_away:
      increment = rest >= half;
      break;
    case Rounding::up:
      increment = rest != 0 && !negative;
      break;
    case Rounding::toward_zero:
      break;
  }
  return quotient + (increment ? 1 : 0);
}

WW_HD constexpr uint32_t encode(Format format, float value, Conversion how) {
  const uint32_t word = stdx::bit_cast<uint32_t>(value);
  const uint32_t magnitude = word & 0x7fff'ffff;
  if (magnitude > kFloatInfinity) return format.nan();

  const bool negative = format.sign && (word >> 31) != 0;
  const uint32_t sign = negative ? format.sign_bit() : 0;
  const uint32_t beyond = how.saturation == Saturation::finite ? format.largest() : format.overflow();
  if (magnitude == kFloatInfinity) return sign | beyond;

  // value = significand * 2^(exponent - 150); a float subnormal shares the exponent of the smallest normal.
  const int field = int(magnitude >> 23);
  const int exponent = field == 0 ? 1 : field;
  const uint32_t significand = (magnitude & 0x7f'ffff) | (field == 0 ? 0 : 0x80'0000);
  // Below the smallest normal exponent of the target the spacing of its values stays constant.
  const int smallest = 128 - format.bias();
  const int scale = exponent > smallest ? exponent : smallest;
  const int shift = 23 - format.mantissa + scale - exponent;
  // A significand has 24 bits, so 25 is already below half of the smallest subnormal and keeps the shift defined.
  const uint32_t steps = round_shift(significand, shift > 25 ? 25 : shift, how.rounding, negative);
  // The implicit one in `steps` adds itself to the exponent field, and so does a carry out of the mantissa.
  const uint32_t code = (uint32_t(scale - smallest) << format.mantissa) + steps;
  if (code <= format.largest()) return sign | code;
  // Directed rounding toward zero, or up from below, never reaches past the largest finite value.
  const bool inward = how.rounding == Rounding::toward_zero || (how.rounding == Rounding::up && negative);
  return sign | (inward ? format.largest() : beyond);
}

WW_HD constexpr float decode(Format format, uint32_t code) {
  const uint32_t sign = (code & format.sign_bit()) != 0 ? 0x8000'0000u : 0;
  const uint32_t magnitude = code & format.magnitude_mask();
  if (format.is_nan(code)) return stdx::bit_cast<float>(sign | 0x7fff'ffffu);
  if (format.top == Top::ieee && magnitude == format.infinity()) return stdx::bit_cast<float>(sign | kFloatInfinity);
  const uint32_t mantissa = magnitude & ((uint32_t(1) << format.mantissa) - 1);
  const int field = int(magnitude >> format.mantissa);
  if (field == 0) {
    // Every format decoded here has a smaller exponent range than float, so its subnormals are normal floats.
    const float unit = stdx::bit_cast<float>(uint32_t(128 - format.bias() - format.mantissa) << 23);
    return (sign != 0 ? -1.0f : 1.0f) * (float(mantissa) * unit);
  }
  return stdx::bit_cast<float>(sign | (uint32_t(field + 127 - format.bias()) << 23) |
                               (mantissa << (23 - format.mantissa)));
}

// A function, not a variable: device code may not refer to a host variable of class type, even a constant one.
template <class T>
WW_HD constexpr Format format_of() {
  if constexpr (stdx::is_same_v<T, bf16>) return {8, 7, Top::ieee, true};
  if constexpr (stdx::is_same_v<T, fp16>) return {5, 10, Top::ieee, true};
  if constexpr (stdx::is_same_v<T, tf32>) return {8, 10, Top::ieee, true};
  if constexpr (stdx::is_same_v<T, e4m3>) return {4, 3, Top::nan, true};
  if constexpr (stdx::is_same_v<T, e5m2>) return {5, 2, Top::ieee, true};
  if constexpr (stdx::is_same_v<T, e2m1>) return {2, 1, Top::finite, true};
  if constexpr (stdx::is_same_v<T, ue4m3>) return {4, 3, Top::nan, false};
}

// The unused low bits of a tf32 word.
inline constexpr int kTf32Shift = 13;

WW_HD constexpr bf16 encode_bf16(float value, Conversion how) {
  if (how.rounding == Rounding::nearest_even && how.saturation == Saturation::none) {
    // The common case without branches on the exponent: the carry of the rounding runs into the exponent field.
    const uint32_t word = stdx::bit_cast<uint32_t>(value);
    if ((word & 0x7fff'ffff) > kFloatInfinity) return {uint16_t(format_of<bf16>().nan())};
    return {uint16_t((word + 0x7fff + ((word >> 16) & 1)) >> 16)};
  }
  return {uint16_t(encode(format_of<bf16>(), value, how))};
}

// Drops the sign, as cvt does. The smallest code is 2^-127 and represents everything below it, zero included.
WW_HD constexpr ue8m0 encode_ue8m0(float value, Conversion how) {
  const uint32_t magnitude = stdx::bit_cast<uint32_t>(value) & 0x7fff'ffff;
  if (magnitude > kFloatInfinity) return {0xff};
  uint32_t code = magnitude >> 23;
  const uint32_t fraction = magnitude & 0x7f'ffff;
  // 2^-127 is the float subnormal with fraction 0x400000 and is code 0 exactly, like all smaller values.
  const bool above = code == 0 ? fraction > 0x40'0000 : fraction != 0;
  if (how.rounding == Rounding::up && above && code != 0xff) ++code;
  if (code == 0xff && how.saturation == Saturation::finite) code = 0xfe;
  return {uint8_t(code)};
}

}  // namespace detail

// How from_float converts unless told otherwise: 16-bit and wider types overflow to infinity, 8-bit and narrower ones
// saturate as PTX demands, scale factors round up so that the scaled block cannot overflow.
template <class T>
inline constexpr Conversion default_conversion{Rounding::nearest_even, Saturation::finite};
template <>
inline constexpr Conversion default_conversion<bf16>{Rounding::nearest_even, Saturation::none};
template <>
inline constexpr Conversion default_conversion<fp16>{Rounding::nearest_even, Saturation::none};
template <>
inline constexpr Conversion default_conversion<tf32>{Rounding::nearest_even, Saturation::none};
template <>
inline constexpr Conversion default_conversion<ue8m0>{Rounding::up, Saturation::finite};

// NaN becomes the canonical NaN of the format, or its largest value (positive) in e2m1, which has none. The unsigned
// formats convert the magnitude. ue8m0 knows toward_zero and up; any other rounding means toward_zero there.
template <class T>
WW_HD constexpr T from_float(float value, Conversion how = default_conversion<T>) {
  if constexpr (stdx::is_same_v<T, float>) {
    return value;
  } else if constexpr (stdx::is_same_v<T, bf16>) {
    return detail::encode_bf16(value, how);
  } else if constexpr (stdx::is_same_v<T, ue8m0>) {
    return detail::encode_ue8m0(value, how);
  } else if constexpr (stdx::is_same_v<T, tf32>) {
    return {detail::encode(detail::format_of<tf32>(), value, how) << detail::kTf32Shift};
  } else {
    T result{};
    result.bits = static_cast<decltype(result.bits)>(detail::encode(detail::format_of<T>(), value, how));
    return result;
  }
}

WW_HD constexpr float to_float(float x) { return x; }
WW_HD constexpr float to_float(bf16 x) { return stdx::bit_cast<float>(uint32_t(x.bits) << 16); }
WW_HD constexpr float to_float(fp16 x) { return detail::decode(detail::format_of<fp16>(), x.bits); }
// The tensor core reads 19 bits of the word and ignores the rest.
WW_HD constexpr float to_float(tf32 x) { return stdx::bit_cast<float>(x.bits & ~((1u << detail::kTf32Shift) - 1)); }
WW_HD constexpr float to_float(e4m3 x) { return detail::decode(detail::format_of<e4m3>(), x.bits); }
WW_HD constexpr float to_float(e5m2 x) { return detail::decode(detail::format_of<e5m2>(), x.bits); }
WW_HD constexpr float to_float(e2m1 x) { return detail::decode(detail::format_of<e2m1>(), x.bits); }
WW_HD constexpr float to_float(ue4m3 x) { return detail::decode(detail::format_of<ue4m3>(), x.bits); }
WW_HD constexpr float to_float(ue8m0 x) {
  if (x.bits == 0xff) return stdx::bit_cast<float>(0x7fff'ffffu);
  return stdx::bit_cast<float>(x.bits == 0 ? 0x0040'0000u : uint32_t(x.bits) << 23);
}

WW_HD constexpr bool is_nan(float x) { return (stdx::bit_cast<uint32_t>(x) & 0x7fff'ffff) > detail::kFloatInfinity; }
WW_HD constexpr bool is_nan(bf16 x) { return detail::format_of<bf16>().is_nan(x.bits); }
WW_HD constexpr bool is_nan(fp16 x) { return detail::format_of<fp16>().is_nan(x.bits); }
WW_HD constexpr bool is_nan(tf32 x) { return detail::format_of<tf32>().is_nan(x.bits >> detail::kTf32Shift); }
WW_HD constexpr bool is_nan(e4m3 x) { return detail::format_of<e4m3>().is_nan(x.bits); }
WW_HD constexpr bool is_nan(e5m2 x) { return detail::format_of<e5m2>().is_nan(x.bits); }
WW_HD constexpr bool is_nan(e2m1) { return false; }
WW_HD constexpr bool is_nan(ue8m0 x) { return x.bits == 0xff; }
WW_HD constexpr bool is_nan(ue4m3 x) { return detail::format_of<ue4m3>().is_nan(x.bits); }

// Two e2m1 codes in a byte, the element with the lower index in the low nibble (e2m1x2).
WW_HD constexpr uint8_t pack2(e2m1 low, e2m1 high) { return uint8_t((low.bits & 0xf) | ((high.bits & 0xf) << 4)); }
WW_HD constexpr stdx::array<e2m1, 2> unpack2(uint8_t byte) {
  return {e2m1{uint8_t(byte & 0xf)}, e2m1{uint8_t(byte >> 4)}};
}

static_assert(sizeof(bf16) == 2 && sizeof(fp16) == 2 && sizeof(tf32) == 4 && sizeof(e4m3) == 1 && sizeof(e5m2) == 1 &&
              sizeof(e2m1) == 1 && sizeof(ue8m0) == 1 && sizeof(ue4m3) == 1);
static_assert(stdx::is_trivially_copyable_v<bf16> && stdx::is_trivially_copyable_v<e4m3>);

}  // namespace warpwright

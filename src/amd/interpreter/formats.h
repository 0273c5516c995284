// The small floating-point formats as the chips read them. gfx942 has the FNUZ forms of the 8-bit formats: exponent
// bias one higher, no negative zero (its code is the NaN) and no infinity; gfx950 the OCP ones.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "amd/program.h"
#include "warpwright/core/numeric.h"

namespace warpwright::amd {

enum class Element { bf16, f16, fp8, bf8, fp4, i8, f32 };

inline float fnuz(uint8_t code, int mantissa, int bias) {
  if (code == 0x80) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = (code & 0x7f) >> mantissa, fraction = code & ((1 << mantissa) - 1);
  const float magnitude = exponent == 0 ? std::ldexp(float(fraction), 1 - bias - mantissa)
                                        : std::ldexp(float(fraction + (1 << mantissa)), exponent - bias - mantissa);
  return code & 0x80 ? -magnitude : magnitude;
}

// What an 8-bit code means on a chip; the tables are made once.
inline const std::array<float, 256>& eight_bit_table(Chip chip, Element element) {
  static const auto make = [](Chip c, Element e) {
    std::array<float, 256> table{};
    for (int i = 0; i < 256; ++i) {
      const auto code = uint8_t(i);
      if (e == Element::fp8)
        table[size_t(i)] = c == Chip::gfx942 ? fnuz(code, 3, 8) : to_float(warpwright::e4m3{code});
      else
        table[size_t(i)] = c == Chip::gfx942 ? fnuz(code, 2, 16) : to_float(warpwright::e5m2{code});
    }
    return table;
  };
  static const std::array<float, 256> tables[2][2] = {
      {make(Chip::gfx942, Element::fp8), make(Chip::gfx942, Element::bf8)},
      {make(Chip::gfx950, Element::fp8), make(Chip::gfx950, Element::bf8)}};
  return tables[chip == Chip::gfx942 ? 0 : 1][element == Element::fp8 ? 0 : 1];
}

// The nearest code, ties to even, by search: conversions are few. Too large a value becomes the largest one.
inline uint8_t eight_bit_code(Chip chip, Element element, float value) {
  const std::array<float, 256>& table = eight_bit_table(chip, element);
  if (std::isnan(value)) return chip == Chip::gfx942 ? 0x80 : 0x7f;
  const float magnitude = std::fabs(value);
  int best = 0;
  for (int code = 1; code < 128; ++code) {
    if (!std::isfinite(table[size_t(code)])) break;
    const float now = std::fabs(table[size_t(code)] - magnitude), was = std::fabs(table[size_t(best)] - magnitude);
    if (now < was || (now == was && code % 2 == 0)) best = code;
  }
  if (chip == Chip::gfx942 && best == 0) return 0;
  return uint8_t(std::signbit(value) ? best | 0x80 : best);
}

}  // namespace warpwright::amd

// The three instructions besides v_rcp and v_fma that a correctly rounded division needs: one scales its operands away
// from subnormal numbers, one multiplies and undoes that, and the last one gives the special cases their results.
//
// Numbers that would be scaled stop the run: the manuals of the chips do not agree on what is done to them. The
// reciprocals of the shipped kernels are of 1 and more, up to 2^126, and of infinity; none of them is scaled.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "amd/interpreter/bits.h"
#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

int exponent(float x) { return int(u(x) >> 23 & 0xff); }
bool is_subnormal(float x) { return x != 0 && std::fabs(x) < std::numeric_limits<float>::min(); }

bool is_scaled(float denominator, float numerator) {
  if (std::isnan(denominator) || std::isnan(numerator)) return false;
  return exponent(numerator) - exponent(denominator) >= 96 || is_subnormal(denominator) ||
         is_subnormal(1.0f / denominator) || is_subnormal(numerator / denominator) || exponent(numerator) <= 23;
}

void stop_for_scale(Machine& m, const Op& op) {
  m.stop("a division of numbers that are scaled is not supported: " + Machine::place_of(op));
}

// The value to be scaled, the denominator, the numerator; also writes a mask of the lanes that were.
void div_scale(Machine& m, Wave& w, const Op& op) {
  Lanes room[3], values;
  const U* s[3];
  for (size_t n = 0; n < 3; ++n) s[n] = m.modified_lanes(w, op.operand(n + 2), room[n]);
  for (int l = 0; l < kLanes; ++l) {
    values[l] = s[0][l];
    if ((w.exec() >> l & 1) == 0) continue;
    if (f(s[1][l]) == 0 || f(s[2][l]) == 0) {
      values[l] = u(std::numeric_limits<float>::quiet_NaN());
    } else if (is_scaled(f(s[1][l]), f(s[2][l]))) {
      return stop_for_scale(m, op);
    }
  }
  m.store_lanes(w, op.operand(0), values);
  m.set_scalar64(w, op.operand(1), 0);
}

void div_fmas(Machine& m, Wave& w, const Op& op) {
  Lanes room[3], values;
  const U* s[3];
  for (size_t n = 0; n < 3; ++n) s[n] = m.modified_lanes(w, op.operand(n + 1), room[n]);
  const uint64_t scaled = (w.s[kVccIndex] | uint64_t(w.s[kVccIndex + 1]) << 32) & w.exec();
  if (scaled != 0) return stop_for_scale(m, op);
  for (int l = 0; l < kLanes; ++l) values[l] = u(std::fmaf(f(s[0][l]), f(s[1][l]), f(s[2][l])));
  m.store_lanes(w, op.operand(0), values);
}

float fixed(float quotient, float denominator, float numerator) {
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const auto signed_as = [&](float magnitude) { return negative ? -magnitude : magnitude; };
  if (std::isnan(numerator)) return f(u(numerator) | 0x0040'0000);
  if (std::isnan(denominator)) return f(u(denominator) | 0x0040'0000);
  if ((denominator == 0 && numerator == 0) || (std::isinf(denominator) && std::isinf(numerator))) return f(0xffc0'0000);
  if (denominator == 0 || std::isinf(numerator)) return signed_as(std::numeric_limits<float>::infinity());
  if (std::isinf(denominator) || numerator == 0) return signed_as(0);
  return signed_as(std::fabs(quotient));
}
void div_fixup(Machine& m, Wave& w, const Op& op) {
  Lanes room[3], values;
  const U* s[3];
  for (size_t n = 0; n < 3; ++n) s[n] = m.modified_lanes(w, op.operand(n + 1), room[n]);
  for (int l = 0; l < kLanes; ++l) values[l] = u(fixed(f(s[0][l]), f(s[1][l]), f(s[2][l])));
  m.store_lanes(w, op.operand(0), values);
}

}  // namespace

void add_divide_ops(OpTable& t) {
  t["v_div_scale_f32"] = {.run = div_scale, .modifiers = true};
  t["v_div_fmas_f32"] = {.run = div_fmas, .modifiers = true};
  t["v_div_fixup_f32"] = {.run = div_fixup, .modifiers = true};
}

}  // namespace warpwright::amd

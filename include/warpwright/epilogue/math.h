// Functions for user-defined epilogues. Like the activations they give the same bits on the GPU and in the
// simulator: every step is an operation with one rounding. Errors are relative unless stated otherwise, and hold
// wherever the result is not subnormal; tests/sim/epilogue_math_test.cpp holds them to float64. A NaN stays a NaN.
#pragma once
#include "warpwright/epilogue/activation.h"
#include "warpwright/tile/convert.h"
#if !defined(__CUDACC__)
#include <cmath>
#endif

namespace warpwright::inline WW_WORLD::epilogue::math {

using epilogue::gelu_erf;
WW_FN float gelu(float x) { return gelu_tanh(x); }
using epilogue::relu;
using epilogue::sigmoid;
using epilogue::silu;

namespace detail {
using epilogue::detail::exp_of_negative;
using epilogue::detail::exp_of_rest;
using epilogue::detail::exp_of_rest_less_1;
using epilogue::detail::kExpShift;
}  // namespace detail

inline constexpr float kInfinity = stdx::numeric_limits<float>::infinity();
inline constexpr float kNan = stdx::numeric_limits<float>::quiet_NaN();

// ---- whole numbers: every operation is defined. They wrap around, and a division by 0 gives 0.

WW_FN int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }
WW_FN int subtract(int a, int b) { return int(unsigned(a) - unsigned(b)); }
WW_FN int multiply(int a, int b) { return int(unsigned(a) * unsigned(b)); }
WW_FN int divide(int a, int b) { return b == 0 ? 0 : b == -1 ? subtract(0, a) : a / b; }
WW_FN int remainder(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }
WW_FN int shift_left(int a, int b) { return int(unsigned(a) << (unsigned(b) & 31u)); }
WW_FN int shift_right(int a, int b) { return a >> (unsigned(b) & 31u); }
WW_FN int abs(int a) { return a < 0 ? subtract(0, a) : a; }
WW_FN int min(int a, int b) { return b < a ? b : a; }
WW_FN int max(int a, int b) { return a < b ? b : a; }
WW_FN int clamp(int a, int low, int high) { return min(max(a, low), high); }
// Towards 0, and to the nearest representable value; NaN becomes 0.
WW_FN int to_int(float x) {
  if (x != x) return 0;
  return x >= 2147483648.f ? 0x7fff'ffff : x <= -2147483648.f ? -0x7fff'ffff - 1 : int(x);
}

// ---- fp32, correctly rounded

WW_FN float add(float a, float b) { return tile::add(a, b); }
WW_FN float subtract(float a, float b) { return tile::add(a, -b); }
WW_FN float multiply(float a, float b) { return tile::multiply(a, b); }
WW_FN float divide(float a, float b) { return tile::divide(a, b); }
WW_FN float fma(float a, float b, float c) { return tile::multiply_add(a, b, c); }
WW_FN float sqrt(float x) { return tile::square_root(x); }
WW_FN float abs(float x) { return stdx::bit_cast<float>(stdx::bit_cast<uint32_t>(x) & 0x7fff'ffffu); }
// A NaN in either stays.
WW_FN float min(float a, float b) { return b != b || b < a ? b : a; }
WW_FN float max(float a, float b) { return b != b || a < b ? b : a; }
WW_FN float clamp(float x, float low, float high) { return min(max(x, low), high); }
#if defined(__CUDACC__)
WW_FN float floor(float x) { return ::floorf(x); }
WW_FN float ceil(float x) { return ::ceilf(x); }
WW_FN float trunc(float x) { return ::truncf(x); }
WW_FN float round(float x) { return ::roundf(x); }
#else
WW_FN float floor(float x) { return std::floor(x); }
WW_FN float ceil(float x) { return std::ceil(x); }
WW_FN float trunc(float x) { return std::trunc(x); }
WW_FN float round(float x) { return std::round(x); }  // halves away from 0
#endif

// ---- and nearly so: not always the nearest result

WW_FN float rsqrt(float x) { return tile::reciprocal(tile::square_root(x)); }

// Relative error below 2^-22.
WW_FN float exp(float x) {
  // Beyond these the result is infinity or 0, which the last product gives.
  x = x > 89.f ? 89.f : x < -104.f ? -104.f : x;
  const float shifted = tile::multiply_add(x, 1.44269504f, detail::kExpShift);
  const float p = detail::exp_of_rest(x, shifted);
  // The power of two comes in two parts, so that neither leaves the exponents of fp32 and only the last product rounds.
  const int n = int(stdx::bit_cast<uint32_t>(shifted) - stdx::bit_cast<uint32_t>(detail::kExpShift));
  const int half = n >> 1;
  const auto power = [](int e) { return stdx::bit_cast<float>(uint32_t(e + 127) << 23); };
  return tile::multiply(tile::multiply(p, power(half)), power(n - half));
}

// Relative error below 2^-22.
WW_FN float log(float x) {
  if (!(x > 0.f)) return x == 0.f ? -kInfinity : kNan;
  if (x == kInfinity) return x;
  const bool subnormal = x < 1.17549435e-38f;
  if (subnormal) x = tile::multiply(x, 8388608.f);
  // x = 2^e (1 + f), from sqrt(1/2) to sqrt(2).
  constexpr uint32_t root_half = 0x3f3504f3u, one = 0x3f800000u;
  const uint32_t shifted = stdx::bit_cast<uint32_t>(x) + (one - root_half);
  const float e = float(int(shifted >> 23) - 127 - (subnormal ? 23 : 0));
  const float f = tile::add(stdx::bit_cast<float>((shifted & 0x7f'ffffu) + root_half), -1.f);
  // With s = f / (2 + f) it is 2 artanh(s), and 2s = f - sf: so f, which is exact, is the largest term.
  const float s = tile::divide(f, tile::add(f, 2.f)), z = tile::multiply(s, s);
  float p = tile::multiply_add(z, 2.f / 11, 2.f / 9);
  p = tile::multiply_add(p, z, 2.f / 7);
  p = tile::multiply_add(p, z, 2.f / 5);
  p = tile::multiply_add(p, z, 2.f / 3);
  const float rest = tile::multiply(-s, tile::multiply_add(-z, p, f));
  const float low = tile::multiply_add(e, -2.12194440e-4f, rest);
  return tile::multiply_add(e, 0.693359375f, tile::add(f, low));
}

// Below 2^-21. With u = e^-2|x| - 1 it is -u / (2 + u); u = 2^n (e^r - 1) + (2^n - 1) keeps its digits near 0.
WW_FN float tanh(float x) {
  const float a = abs(x), y = a > 43.5f ? -87.f : tile::multiply(a, -2.f);
  const float shifted = tile::multiply_add(y, 1.44269504f, detail::kExpShift);
  const float part = detail::exp_of_rest_less_1(y, shifted);
  const uint32_t exponent = (stdx::bit_cast<uint32_t>(shifted) - stdx::bit_cast<uint32_t>(detail::kExpShift) + 127u)
                            << 23;
  const float power = stdx::bit_cast<float>(exponent);
  const float u = tile::multiply_add(part, power, tile::add(power, -1.f));
  const float t = tile::divide(u, tile::add(u, 2.f));
  return stdx::bit_cast<float>((stdx::bit_cast<uint32_t>(t) & 0x7fff'ffffu) |
                               (stdx::bit_cast<uint32_t>(x) & 0x8000'0000u));
}

// Relative error below 2^-21.
WW_FN float erf(float x) {
  const float a = abs(x);
  if (a < 1.f) {  // Taylor
    const float z = tile::multiply(x, x);
    float p = tile::multiply_add(z, 1.f / 76204800, -1.f / 6894720);
    p = tile::multiply_add(p, z, 1.f / 685440);
    p = tile::multiply_add(p, z, -1.f / 75600);
    p = tile::multiply_add(p, z, 1.f / 9360);
    p = tile::multiply_add(p, z, -1.f / 1320);
    p = tile::multiply_add(p, z, 1.f / 216);
    p = tile::multiply_add(p, z, -1.f / 42);
    p = tile::multiply_add(p, z, 1.f / 10);
    p = tile::multiply_add(p, z, -1.f / 3);
    constexpr float high = 1.12837917f, low = -5.86353834e-8f;  // 2 / sqrt(pi)
    return tile::multiply_add(x, high, tile::multiply(x, tile::multiply_add(tile::multiply(p, z), high, low)));
  }
  // What is missing to 1, by Abramowitz and Stegun 7.1.26.
  const float t = tile::reciprocal(tile::multiply_add(a, 0.3275911f, 1.f));
  float p = tile::multiply_add(t, 1.061405429f, -1.453152027f);
  p = tile::multiply_add(p, t, 1.421413741f);
  p = tile::multiply_add(p, t, -0.284496736f);
  p = tile::multiply_add(p, t, 0.254829592f);
  const float rest = tile::multiply(tile::multiply(p, t), detail::exp_of_negative(tile::multiply(a, -a)));
  const float v = tile::add(1.f, -rest);
  return x < 0.f ? -v : v;
}

namespace detail {

// sin(x + quarter * pi / 2). Absolute error below 2e-7 up to 100000; beyond, where pi / 2 would need more digits, NaN.
WW_FN float sine(float x, int quarter) {
  if (!(abs(x) <= 100000.f)) return kNan;
  const float shifted = tile::multiply_add(x, 0.636619747f, kExpShift), n = tile::add(shifted, -kExpShift);
  float r = tile::multiply_add(n, -1.57079637f, x);  // exact
  r = tile::multiply_add(n, 4.37113883e-8f, r);
  r = tile::multiply_add(n, 1.71512451e-15f, r);
  const uint32_t turn = stdx::bit_cast<uint32_t>(shifted) + uint32_t(quarter);
  const float z = tile::multiply(r, r);
  float v;
  if (turn % 2 == 0) {
    float p = tile::multiply_add(z, 1.f / 362880, -1.f / 5040);
    p = tile::multiply_add(p, z, 1.f / 120);
    p = tile::multiply_add(p, z, -1.f / 6);
    v = tile::multiply_add(tile::multiply(r, z), p, r);
  } else {
    float p = tile::multiply_add(z, -1.f / 3628800, 1.f / 40320);
    p = tile::multiply_add(p, z, -1.f / 720);
    p = tile::multiply_add(p, z, 1.f / 24);
    p = tile::multiply_add(p, z, -0.5f);
    v = tile::multiply_add(p, z, 1.f);
  }
  return turn / 2 % 2 == 0 ? v : -v;
}

}  // namespace detail

WW_FN float sin(float x) { return detail::sine(x, 0); }
WW_FN float cos(float x) { return detail::sine(x, 1); }

// Relative error below (1 + |y log x|) 2^-21; for a negative x only whole powers are numbers.
WW_FN float pow(float x, float y) {
  if (y == 0.f || x == 1.f) return 1.f;
  const float l = log(abs(x)), high = tile::multiply(y, l);
  float v = exp(high);
  // What the product has lost by rounding. Infinite logarithms and results have lost nothing.
  if (v > 0.f && v < kInfinity) v = tile::multiply_add(v, tile::multiply_add(y, l, -high), v);
  if (x >= 0.f || x != x) return v;
  if (floor(y) != y) return kNan;
  return abs(y) < 16777216.f && to_int(y) % 2 != 0 ? -v : v;
}
// The same by multiplications, for an exponent known beforehand.
template <int N>
WW_FN float power(float x) {
  static_assert(N >= 0);
  if constexpr (N == 0) {
    return 1.f;
  } else if constexpr (N == 1) {
    return x;
  } else {
    const float half = power<N / 2>(x), square = tile::multiply(half, half);
    return N % 2 == 0 ? square : tile::multiply(square, x);
  }
}

}  // namespace warpwright::inline WW_WORLD::epilogue::math

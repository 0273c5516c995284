// Activation functions that give the same bits on the GPU and in the simulator: every step is an operation of
// tile/convert.h with exactly one rounding, no approximate instruction of the GPU and no function of the C library.
// A NaN stays a NaN; its payload is not part of the promise.
#pragma once
#include "warpwright/epilogue/config.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::epilogue {

// Keeps NaN, unlike max(v, 0).
WW_FN float relu(float v) { return v < 0.f ? 0.f : v; }

namespace detail {

// What is left of x when a multiple n of ln 2 is taken off, and p such that e^r is 1 + p r. The low bits of `shifted`
// are n: adding and subtracting 1.5 * 2^23 rounds to an integer.
constexpr float kExpShift = 12582912.f;
struct Rest {
  float r, p;
};
WW_FN Rest rest_of(float x, float shifted) {
  const float n = tile::add(shifted, -kExpShift);
  // ln 2 in two parts; the first has 9 significant bits, so that n times it is exact.
  float r = tile::multiply_add(n, -0.693359375f, x);
  r = tile::multiply_add(n, 2.12194440e-4f, r);
  // The Taylor polynomial of degree 7: |r| <= 0.35, so what is left out is below 0.35^8 / 8! < 6e-9.
  float p = tile::multiply_add(r, 1.f / 5040, 1.f / 720);
  p = tile::multiply_add(p, r, 1.f / 120);
  p = tile::multiply_add(p, r, 1.f / 24);
  p = tile::multiply_add(p, r, 1.f / 6);
  p = tile::multiply_add(p, r, 0.5f);
  return {r, tile::multiply_add(p, r, 1.f)};
}
// e^r, relative error below 2^-22.
WW_FN float exp_of_rest(float x, float shifted) {
  const Rest e = rest_of(x, shifted);
  return tile::multiply_add(e.p, e.r, 1.f);
}
// The same minus 1.
WW_FN float exp_of_rest_less_1(float x, float shifted) {
  const Rest e = rest_of(x, shifted);
  return tile::multiply(e.p, e.r);
}

// e^x for x <= 0. Below -87 it is 0: the true value, under 1.7e-38, would be subnormal.
WW_FN float exp_of_negative(float x) {
  if (x < -87.f) return 0.f;
  const float shifted = tile::multiply_add(x, 1.44269504f, kExpShift);
  const float p = exp_of_rest(x, shifted);
  const uint32_t exponent = (stdx::bit_cast<uint32_t>(shifted) - stdx::bit_cast<uint32_t>(kExpShift) + 127u) << 23;
  return tile::multiply(p, stdx::bit_cast<float>(exponent));
}

WW_FN float negative_magnitude(float x) { return stdx::bit_cast<float>(stdx::bit_cast<uint32_t>(x) | 0x8000'0000u); }

}  // namespace detail

// 1 / (1 + e^-x), accurate relative to its value on both sides.
WW_FN float sigmoid(float x) {
  const float e = detail::exp_of_negative(detail::negative_magnitude(x));
  const float s = tile::reciprocal(tile::add(1.f, e));
  return x < 0.f ? tile::multiply(e, s) : s;
}

// Relative error below 2^-20.
WW_FN float silu(float x) { return tile::multiply(x, sigmoid(x)); }

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), written with 0.5 (1 + tanh u) = sigmoid(2u).
WW_FN float gelu_tanh(float x) {
  constexpr float k = 1.59576912f, k3 = 0.0713548163f;  // 2 sqrt(2/pi), and 0.044715 times it
  const float slope = tile::multiply_add(tile::multiply(x, x), k3, k);
  return tile::multiply(x, sigmoid(tile::multiply(x, slope)));
}

// x Phi(x), where Phi is the normal distribution: 1 - Phi(|x|) = 0.5 erfc(|x| / sqrt 2) by Abramowitz and Stegun
// 7.1.26, whose error is below 7.5e-8 of Phi; with rounding, the result is within 4e-7 of the true one for every x.
WW_FN float gelu_erf(float x) {
  const float z = tile::multiply(-detail::negative_magnitude(x), 0.707106781f);
  const float t = tile::reciprocal(tile::multiply_add(z, 0.3275911f, 1.f));
  float p = tile::multiply_add(t, 1.061405429f, -1.453152027f);
  p = tile::multiply_add(p, t, 1.421413741f);
  p = tile::multiply_add(p, t, -0.284496736f);
  p = tile::multiply_add(p, t, 0.254829592f);
  const float half = tile::multiply(tile::multiply(p, t), 0.5f);
  const float tail = tile::multiply(half, detail::exp_of_negative(tile::multiply(z, -z)));
  return tile::multiply(x, x < 0.f ? tail : tile::add(1.f, -tail));
}

template <Activation A>
WW_FN float activate(float v) {
  if constexpr (A == Activation::relu) {
    return relu(v);
  } else if constexpr (A == Activation::gelu_tanh) {
    return gelu_tanh(v);
  } else if constexpr (A == Activation::gelu_erf) {
    return gelu_erf(v);
  } else if constexpr (A == Activation::silu) {
    return silu(v);
  } else {
    static_assert(A == Activation::none || is_pair(A), "this activation has no function yet");
    return v;
  }
}

}  // namespace warpwright::inline WW_WORLD::epilogue

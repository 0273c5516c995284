// A dense product element by element in double precision, for the host and for the GPU, and how far a kernel may be
// off. On purpose it shares nothing with the kernels that it judges: not their loads, not their conversions, not their
// epilogue.
#pragma once
#include <cmath>

#include "warpwright/epilogue/config.h"
#include "warpwright/kernel/config.h"

namespace warpwright {

// Element (row, column) of matrix `batch` is at row * row_step + column * column_step + batch * batch_step.
struct VerifyMatrix {
  const void* data = nullptr;
  DType type = DType::fp32;
  int64_t row_step = 0, column_step = 0, batch_step = 0;
};

// What was found: all counted with atomic additions, `first` with a minimum.
struct VerifyFound {
  unsigned long long checked = 0;
  unsigned long long wrong = 0;
  unsigned long long first = ~0ull;  // the number of the first wrong element, (batch * m + row) * n + column
  double got = 0, expected = 0;      // of that element, written by a second launch
};

struct VerifyArgs {
  VerifyMatrix a, b;  // [m, k] and [n, k]
  VerifyMatrix c, d, residual;
  VerifyMatrix bias;  // with a step of 0 along one side
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t step = 1;  // one element in this many is compared
  float alpha = 1, beta = 0;
  const float* a_scales = nullptr;  // null: none
  const float* b_scales = nullptr;
  int64_t a_scales_step = 0, b_scales_step = 0;  // from one row to the next; 0: one for the tensor
  const float* d_scale = nullptr;
  Activation activation = Activation::none;
  bool promoted = true;  // sums of 8-bit operands are fp32
  VerifyFound* found = nullptr;

  WW_HD int64_t elements() const { return m * n * batch; }
  WW_HD int64_t compared() const { return (elements() + step - 1) / step; }
};

namespace verifying {

// A number of `exponent` and `mantissa` bits. `ends`: the largest exponent is infinity and NaN; e4m3 has numbers there
// and one NaN.
WW_HD double decode(uint32_t bits, int exponent, int mantissa, bool ends) {
  const uint32_t m = bits & ((1u << mantissa) - 1), e = bits >> mantissa & ((1u << exponent) - 1);
  const double sign = bits >> (exponent + mantissa) & 1 ? -1 : 1;
  const uint32_t last = (1u << exponent) - 1;
  const double nan = __builtin_nan(""), infinity = __builtin_inf();
  if (ends && e == last) return m == 0 ? sign * infinity : nan;
  if (!ends && e == last && m == (1u << mantissa) - 1) return nan;
  const int bias = (1 << (exponent - 1)) - 1;
  double value = e == 0 ? double(m) : double(m + (1u << mantissa));
  // Exact: a power of two at a time.
  for (int shift = (e == 0 ? 1 : int(e)) - bias - mantissa; shift != 0; shift += shift < 0 ? 1 : -1) {
    value *= shift < 0 ? 0.5 : 2.0;
  }
  return sign * value;
}

WW_HD double element(const VerifyMatrix& v, int64_t row, int64_t column, int64_t batch) {
  const int64_t at = row * v.row_step + column * v.column_step + batch * v.batch_step;
  switch (v.type) {
    case DType::fp32:
      return double(static_cast<const float*>(v.data)[at]);
    case DType::tf32:  // the tensor core reads 10 bits of the fraction
      return decode(static_cast<const uint32_t*>(v.data)[at] >> 13, 8, 10, true);
    case DType::bf16:
      return decode(static_cast<const uint16_t*>(v.data)[at], 8, 7, true);
    case DType::fp16:
      return decode(static_cast<const uint16_t*>(v.data)[at], 5, 10, true);
    case DType::e4m3:
      return decode(static_cast<const uint8_t*>(v.data)[at], 4, 3, false);
    case DType::e5m2:
      return decode(static_cast<const uint8_t*>(v.data)[at], 5, 2, true);
    case DType::s8:
      return double(static_cast<const int8_t*>(v.data)[at]);
    case DType::e2m1:
    case DType::ue8m0:
    case DType::ue4m3:
      break;
  }
  return __builtin_nan("");
}

WW_HD double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::silu:
      return x / (1 + exp(-x));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Activation::gelu_erf:
      return 0.5 * x * (1 + erf(x * 0.7071067811865476));
    case Activation::none:
    case Activation::swiglu:
      break;
  }
  return x;
}

// For a type of results: how far apart neighbours are relative to their size and near 0, and the largest value.
struct Rounding {
  double relative, absolute, largest;
  bool saturates;
};
WW_HD Rounding rounding_of(DType type) {
  switch (type) {
    case DType::bf16:
      return {0x1p-8, 0x1p-126, 0x1.fep127, false};
    case DType::fp16:
      return {0x1p-10, 0x1p-24, 65504, false};
    case DType::e4m3:
      return {0x1p-3, 0x1p-9, 448, true};
    case DType::e5m2:
      return {0x1p-2, 0x1p-16, 57344, true};
    default:
      return {0x1p-20, 0x1p-126, 0x1.fffffep127, false};
  }
}

struct Element {
  double expected = 0;
  double bound = 0;  // how far the kernel may be off
};
WW_HD Element expected_at(const VerifyArgs& p, int64_t row, int64_t column, int64_t batch) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < p.k; ++i) {
    const double product = element(p.a, row, i, batch) * element(p.b, column, i, batch);
    sum += product;
    magnitude += product < 0 ? -product : product;
  }
  double factor = p.alpha;
  if (p.a_scales != nullptr) {
    const int64_t a = p.a_scales_step == 0 ? 0 : batch * p.m + row, b = p.b_scales_step == 0 ? 0 : batch * p.n + column;
    factor *= double(p.a_scales[a]) * double(p.b_scales[b]);
  }
  // Tensor cores add products of 8-bit floating-point operands with 14 bits; everything else with about 23.
  const bool narrow = (p.a.type == DType::e4m3 || p.a.type == DType::e5m2) && !p.promoted;
  double bound = (narrow ? 0x1p-8 : 0x1p-14) * magnitude * (factor < 0 ? -factor : factor);
  double v = factor * sum;
  if (p.c.data != nullptr) v += double(p.beta) * element(p.c, row, column, batch);
  if (p.bias.data != nullptr) v += element(p.bias, row, column, batch);
  v = activated(p.activation, v);
  bound *= 1.25;  // no activation is steeper
  if (p.residual.data != nullptr) v += element(p.residual, row, column, batch);
  if (p.d_scale != nullptr) {
    const double scale = *p.d_scale;
    v *= scale;
    bound *= scale < 0 ? -scale : scale;
  }
  const Rounding r = rounding_of(p.d.type);
  const double size = v < 0 ? -v : v;
  return {v, bound + r.relative * size + r.absolute + 0x1p-20 * size};
}

// Whether D has there what it may have.
WW_HD bool is_right(const VerifyArgs& p, const Element& e, double got) {
  const Rounding r = rounding_of(p.d.type);
  const auto is_nan = [](double x) { return x != x; };
  if (is_nan(e.expected)) return is_nan(got);
  if (is_nan(got)) return false;
  const double most = r.largest, size = e.expected < 0 ? -e.expected : e.expected;
  if (size + e.bound >= most) {
    // Beyond the largest number: the largest itself, or infinity of its sign.
    const double allowed = e.expected < 0 ? -got : got;
    if (allowed >= most * (1 - r.relative)) return true;
    if (size - e.bound > most) return false;
  }
  const double off = got < e.expected ? e.expected - got : got - e.expected;
  return off <= e.bound;
}

// All of the elements that are asked for, one after the other, in memory that the caller can read.
inline VerifyFound compare(const VerifyArgs& p) {
  VerifyFound found;
  for (int64_t i = 0; i < p.compared(); ++i) {
    const int64_t number = i * p.step, column = number % p.n, row = number / p.n % p.m, batch = number / p.n / p.m;
    const Element expected = expected_at(p, row, column, batch);
    const double got = element(p.d, row, column, batch);
    ++found.checked;
    if (is_right(p, expected, got)) continue;
    if (found.wrong++ > 0) continue;
    found.first = uint64_t(number);
    found.got = got;
    found.expected = expected.expected;
  }
  return found;
}

}  // namespace verifying
}  // namespace warpwright

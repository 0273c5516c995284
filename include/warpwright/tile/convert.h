// Arithmetic on elements that must give the same bits on the GPU and in the simulator: one instruction there,
// core/numeric.h or the C library here.
#pragma once
#include "warpwright/core/dtype.h"
#include "warpwright/core/numeric.h"
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#elif !defined(__AMDGCN__)
#include <cmath>
#endif

namespace warpwright::inline WW_WORLD::tile {

#if defined(__CUDACC__)
namespace detail {
// bit_cast for the toolkit's pair types, which are not trivially copyable.
template <class To, class From>
WW_FN To reinterpret(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<const To&>(from);
}
}  // namespace detail
#endif

// a * b + c with one rounding, whatever the compiler's settings for contraction.
WW_FN float multiply_add(float a, float b, float c) {
#if defined(__CUDACC__)
  return __fmaf_rn(a, b, c);
#elif defined(__AMDGCN__)
  return __builtin_fmaf(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

// One operation with one rounding: the compiler may not merge it with a neighbour into a fused one.
WW_FN float multiply(float a, float b) {
#if defined(__CUDACC__)
  return __fmul_rn(a, b);
#elif defined(__AMDGCN__)
#pragma clang fp contract(off)
  return a * b;
#else
  return std::fma(a, b, -0.f);  // adding -0 changes no product, a zero's sign included
#endif
}
WW_FN float add(float a, float b) {
#if defined(__CUDACC__)
  return __fadd_rn(a, b);
#elif defined(__AMDGCN__)
#pragma clang fp contract(off)
  return a + b;
#else
  return std::fma(a, 1.f, b);
#endif
}
// 1 / a, correctly rounded.
WW_FN float reciprocal(float a) {
#if defined(__CUDACC__)
  return __frcp_rn(a);
#else
  return 1.f / a;
#endif
}

// a / b and the square root, correctly rounded.
WW_FN float divide(float a, float b) {
#if defined(__CUDACC__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}
WW_FN float square_root(float a) {
#if defined(__CUDACC__)
  return __fsqrt_rn(a);
#elif defined(__AMDGCN__)
  return __builtin_sqrtf(a);
#else
  return std::sqrt(a);
#endif
}

// `low` goes to bits 0..15, the element with the smaller index.
template <DType T>
WW_FN uint32_t pack2(float low, float high) {
  static_assert(T == DType::bf16 || T == DType::fp16, "two elements in one register: bf16 or fp16");
#if defined(__CUDACC__)
  if constexpr (T == DType::bf16) {
    return detail::reinterpret<uint32_t>(__floats2bfloat162_rn(low, high));
  } else {
    return detail::reinterpret<uint32_t>(__floats2half2_rn(low, high));
  }
#elif defined(__AMDGCN__)
  using Element = stdx::conditional_t<T == DType::bf16, __bf16, _Float16>;
  using Pair = Element __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(uint32_t, Pair{Element(low), Element(high)});
#else
  return uint32_t(from_float<storage_t<T> >(low).bits) | uint32_t(from_float<storage_t<T> >(high).bits) << 16;
#endif
}

// Two numbers that were packed in one register.
struct FloatPair {
  float low, high;
};

// The two 16-bit numbers of a register.
template <DType T>
WW_FN FloatPair unpack2(uint32_t packed) {
  static_assert(T == DType::bf16 || T == DType::fp16, "two elements in one register: bf16 or fp16");
#if defined(__CUDACC__)
  if constexpr (T == DType::bf16) {
    const float2 f = __bfloat1622float2(detail::reinterpret<__nv_bfloat162>(packed));
    return {f.x, f.y};
  } else {
    const float2 f = __half22float2(detail::reinterpret<__half2>(packed));
    return {f.x, f.y};
  }
#elif defined(__AMDGCN__)
  if constexpr (T == DType::bf16) {
    return {stdx::bit_cast<float>(packed << 16), stdx::bit_cast<float>(packed & 0xffff'0000)};
  } else {
    using Pair = _Float16 __attribute__((ext_vector_type(2)));
    const Pair halves = __builtin_bit_cast(Pair, packed);
    return {float(halves.x), float(halves.y)};
  }
#else
  return {to_float(storage_t<T>{uint16_t(packed)}), to_float(storage_t<T>{uint16_t(packed >> 16)})};
#endif
}

// Four elements of one byte each, the element with the smallest index in the lowest byte. What exceeds the range
// becomes the largest finite value of its sign.
template <DType T>
WW_FN uint32_t pack4(float a, float b, float c, float d) {
  static_assert(T == DType::e4m3 || T == DType::e5m2, "four elements in one register: e4m3 or e5m2");
#if defined(__CUDACC__)
  constexpr __nv_fp8_interpretation_t kind = T == DType::e4m3 ? __NV_E4M3 : __NV_E5M2;
  const uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, kind);
  const uint32_t high = __nv_cvt_float2_to_fp8x2(make_float2(c, d), __NV_SATFINITE, kind);
  return low | high << 16;
#else
  // For constant evaluation: a variable in a header is memory to a device compiler, and would be loaded.
  constexpr Conversion how = default_conversion<storage_t<T> >;
  const auto code = [=](float x) { return uint32_t(from_float<storage_t<T> >(x, how).bits); };
  return code(a) | code(b) << 8 | code(c) << 16 | code(d) << 24;
#endif
}

// One element to and from fp32.
template <DType T>
WW_FN storage_t<T> narrow(float x) {
  if constexpr (T == DType::fp32) {
    return x;
  } else if constexpr (T == DType::bf16 || T == DType::fp16) {
    return {uint16_t(pack2<T>(x, 0.f))};
  } else {
    return {uint8_t(pack4<T>(x, 0.f, 0.f, 0.f))};
  }
}
template <DType T>
WW_FN float widen(storage_t<T> x) {
  if constexpr (T == DType::fp16) {
    return unpack2<T>(x.bits).low;
  } else {
    return to_float(x);
  }
}

}  // namespace warpwright::inline WW_WORLD::tile

// Arithmetic on elements that must give the same bits on the GPU and in the simulator: one instruction there,
// core/numeric.h or the C library here.
#pragma once
#include "warpwright/core/dtype.h"
#include "warpwright/core/numeric.h"
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
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

// a * b + c with one rounding, whatever the compiler thinks of contraction.
WW_FN float multiply_add(float a, float b, float c) {
#if defined(__CUDACC__)
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
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
#else
  return uint32_t(from_float<storage_t<T> >(low).bits) | uint32_t(from_float<storage_t<T> >(high).bits) << 16;
#endif
}

struct FloatPair {
  float low, high;
};

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
#else
  return {to_float(storage_t<T>{uint16_t(packed)}), to_float(storage_t<T>{uint16_t(packed >> 16)})};
#endif
}

}  // namespace warpwright::inline WW_WORLD::tile

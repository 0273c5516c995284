// What the comparisons of products share: elements by their type, and the verdict on one of them.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdint>

#include "gpu/device_check.h"
#include "warpwright/epilogue/activation.h"

namespace warpwright::device_check {

inline __device__ float get(DType type, const void* data, int64_t i) {
  switch (type) {
    case DType::bf16:
      return __uint_as_float(uint32_t(static_cast<const uint16_t*>(data)[i]) << 16);
    case DType::fp16:
      return __half2float(static_cast<const __half*>(data)[i]);
    case DType::e4m3:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<const uint8_t*>(data)[i], __NV_E4M3)));
    case DType::e5m2:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<const uint8_t*>(data)[i], __NV_E5M2)));
    default:
      return static_cast<const float*>(data)[i];
  }
}
inline __device__ void put(DType type, void* data, int64_t i, float v) {
  switch (type) {
    case DType::bf16:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(v);
      return;
    case DType::fp16:
      static_cast<__half*>(data)[i] = __float2half_rn(v);
      return;
    case DType::e4m3:
      static_cast<uint8_t*>(data)[i] = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3);
      return;
    case DType::e5m2:
      static_cast<uint8_t*>(data)[i] = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E5M2);
      return;
    default:
      static_cast<float*>(data)[i] = v;
  }
}
inline __device__ float rounded(DType type, float v) {
  uint32_t slot;
  put(type, &slot, 0, v);
  return get(type, &slot, 0);
}
// The most that rounding to the type can move a value of this size: half of the distance between its neighbours.
inline __device__ double half_ulp(DType type, double v) {
  struct Format {
    int mantissa, least_exponent;
  };
  const Format format = type == DType::bf16   ? Format{7, -126}
                        : type == DType::fp16 ? Format{10, -14}
                        : type == DType::e4m3 ? Format{3, -6}
                                              : Format{23, -126};
  const int exponent = v == 0 ? format.least_exponent : max(ilogb(v), format.least_exponent);
  return ldexp(1., exponent - format.mantissa - 1);
}

// A tile of D: sums in float64, four by four for each thread, then the epilogue and the comparison.
inline constexpr int kTile = kRowBlock, kDepth = 16, kEach = 4;

// Compares element `at` of D with the true value, which may be off by `before` ahead of the last rounding.
inline __device__ void settle(const Matrix& d, bool exact, int64_t at, double v, double before,
                              unsigned long long index, Findings& mine) {
  const float have = get(d.type, d.data, at);
  bool right;
  if (have != have) {
    ++mine.unwritten;
    right = false;
  } else if (exact) {
    right = have == rounded(d.type, float(v));
  } else {
    const double rounding = half_ulp(d.type, fabs(v) + before);
    // Beyond the range 8-bit results stay at its end.
    const double error = fabs(double(have) - (d.type == DType::e4m3 ? fmin(fmax(v, -448.), 448.) : v));
    right = error <= before + rounding;
    mine.worst = fmax(mine.worst, (error - rounding) / before);
  }
  if (!right) {
    ++mine.wrong;
    mine.first_wrong = index < mine.first_wrong ? index : mine.first_wrong;
  }
}

// One thread's findings become those of all, by whole warps.
inline __device__ void add(Findings* findings, Findings& mine, bool exact) {
  if (mine.wrong > 0) {
    atomicAdd(&findings->wrong, mine.wrong);
    atomicAdd(&findings->unwritten, mine.unwritten);
    atomicMin(&findings->first_wrong, mine.first_wrong);
  }
  if (exact) return;
  for (int offset = 16; offset > 0; offset /= 2) {
    mine.worst = fmax(mine.worst, __shfl_xor_sync(~0u, mine.worst, offset));
  }
  // Positive doubles are ordered like their bits.
  if (threadIdx.x % 32 == 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(&findings->worst),
              (unsigned long long)__double_as_longlong(mine.worst));
  }
}

// A number and how far it may be off.
struct Bounded {
  double v, error;
};
// swiglu of two sums.
inline __device__ Bounded gated(Bounded x, Bounded up, bool exact) {
  const double gate = double(epilogue::silu(float(x.v)));
  // No part of it is steeper than 1.1.
  const double error = 1.1 * x.error * (fabs(up.v) + up.error) + fabs(gate) * up.error;
  const double v = exact ? double(float(gate) * float(up.v)) : gate * up.v;
  return {v, error + 0x1p-20 * (fabs(v) + fabs(up.v) * 0x1p-20)};
}

}  // namespace warpwright::device_check

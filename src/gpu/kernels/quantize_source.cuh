// The elements that a thread quantizes, as they are loaded.
#pragma once
#include "launch/quantize_rules.h"
#include "warpwright/core/unroll.h"

namespace warpwright::inline WW_WORLD::quantizing {

// Eight elements of a row as they were loaded. They are converted later, so that the loads of several rows are under
// way together.
template <DType S>
struct Raw {
  static constexpr int kVectors = bits(S) / 16;
  uint4 vectors[kVectors];

  __device__ void floats(float (&x)[kElements]) const {
    WW_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      const uint32_t words[4] = {vectors[i].x, vectors[i].y, vectors[i].z, vectors[i].w};
      WW_UNROLL
      for (int w = 0; w < 4; ++w) {
        if constexpr (S == DType::fp32) {
          x[4 * i + w] = __uint_as_float(words[w]);
        } else {
          const tile::FloatPair pair = tile::unpack2<S>(words[w]);
          x[2 * w] = pair.low;
          x[2 * w + 1] = pair.high;
        }
      }
    }
  }
  // The largest magnitude, as the bits of a float. Those of 16-bit types are ordered as the numbers are, too.
  __device__ uint32_t largest() const {
    if constexpr (S == DType::fp32) {
      float x[kElements];
      floats(x);
      uint32_t all = 0;
      WW_UNROLL
      for (int e = 0; e < kElements; ++e) all = max(all, magnitude(x[e]));
      return all;
    } else {
      constexpr uint32_t signs = 0x7fff'7fff;
      const uint4& v = vectors[0];
      const uint32_t three = __vimax3_u16x2(v.x & signs, v.y & signs, v.z & signs);
      const uint32_t pair = __vimax3_u16x2(three, v.w & signs, v.w & signs);
      const uint32_t code = max(pair >> 16, pair & 0xffff);
      return S == DType::bf16 ? code << 16 : __float_as_uint(tile::unpack2<S>(code).low);
    }
  }
};

inline __device__ float widened(DType type, const void* source, int64_t at) {
  switch (type) {
    case DType::bf16:
      return to_float(bf16{static_cast<const uint16_t*>(source)[at]});
    case DType::fp16:
      return tile::widen<DType::fp16>(fp16{static_cast<const uint16_t*>(source)[at]});
    default:
      return static_cast<const float*>(source)[at];
  }
}

// Eight columns of N rows that are `apart` rows apart; zeros past the edges of the matrix. Where vectors cannot be
// used, elements of any source become fp32 one by one.
template <DType S, bool Vectors, int N>
__device__ void load(const QuantizeArgs& p, int64_t row, int apart, int64_t column, Raw<S> (&raw)[N]) {
  const int64_t first = row * p.stride + column, step = apart * p.stride;
  WW_UNROLL
  for (int i = 0; i < N; ++i) {
    if constexpr (Vectors) {
      const bool inside = row + i * apart < p.rows && column < p.columns;
      const auto* const from =
          reinterpret_cast<const uint4*>(static_cast<const uint8_t*>(p.source) + (first + i * step) * (bits(S) / 8));
      WW_UNROLL
      for (int v = 0; v < Raw<S>::kVectors; ++v) raw[i].vectors[v] = inside ? __ldg(from + v) : make_uint4(0, 0, 0, 0);
    } else {
      static_assert(S == DType::fp32);
      uint32_t words[kElements];
      WW_UNROLL
      for (int e = 0; e < kElements; ++e) {
        const bool inside = row + i * apart < p.rows && column + e < p.columns;
        words[e] = inside ? __float_as_uint(widened(p.source_type, p.source, first + i * step + e)) : 0;
      }
      raw[i].vectors[0] = make_uint4(words[0], words[1], words[2], words[3]);
      raw[i].vectors[1] = make_uint4(words[4], words[5], words[6], words[7]);
    }
  }
}

}  // namespace warpwright::inline WW_WORLD::quantizing

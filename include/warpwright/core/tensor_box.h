// The part of a matrix that one TMA operation moves.
#pragma once
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/std.h"

namespace warpwright {

// The box of a two-dimensional tensor map over a row-major matrix, in elements; `inner` runs along a row.
struct TensorBox {
  DType type = DType::bf16;
  int inner = 0;
  int outer = 0;
  Swizzle swizzle = Swizzle::none;
  // For 4-bit elements that an MMA multiplies by 8-bit ones: in shared memory sixteen of them fill the first half of
  // sixteen bytes.
  bool padded = false;
  // Bytes in shared memory, and bytes that the TMA counts.
  WW_HD constexpr uint32_t bytes() const { return padded ? uint32_t(inner) * uint32_t(outer) : transferred(); }
  WW_HD constexpr uint32_t transferred() const {
    return uint32_t(inner) * uint32_t(outer) * uint32_t(warpwright::bits(type)) / 8;
  }
};

}  // namespace warpwright

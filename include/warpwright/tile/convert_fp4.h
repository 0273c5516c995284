// e2m1 elements, two in a byte, with the same bits on the GPU and in the simulator.
#pragma once
#include "warpwright/tile/convert.h"
#if defined(__CUDACC_RTC__)
#include <cuda_fp4.h>
#elif defined(__CUDACC__)
// A function in the toolkit's header has a parameter that it does not use.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <cuda_fp4.h>
#pragma GCC diagnostic pop
#endif

namespace warpwright::inline WW_WORLD::tile {

// To the nearest, ties to even; anything above 6 becomes 6. `low` is the element with the smaller index, in bits 0..3.
WW_FN uint8_t pack2_e2m1(float low, float high) {
#if defined(__CUDACC__)
  return uint8_t(__nv_cvt_float2_to_fp4x2(make_float2(low, high), __NV_E2M1, cudaRoundNearest));
#else
  return ::warpwright::pack2(from_float<e2m1>(low), from_float<e2m1>(high));
#endif
}
WW_FN uint32_t pack8_e2m1(const float* v) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= uint32_t(pack2_e2m1(v[2 * i], v[2 * i + 1])) << (8 * i);
  return word;
}

}  // namespace warpwright::inline WW_WORLD::tile

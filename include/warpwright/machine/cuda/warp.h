// Words that a whole warp executes together.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"

namespace warpwright::inline WW_WORLD::machine {

inline constexpr uint32_t kFullMask = 0xffff'ffffu;

WW_FN bool elect_one(here = {}) {
  uint32_t elected;
  asm volatile(
      "{\n"
      ".reg .pred is_elected;\n"
      "elect.sync _|is_elected, 0xffffffff;\n"
      "selp.b32 %0, 1, 0, is_elected;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}
WW_FN void sync_warp(uint32_t mask = kFullMask, here = {}) { __syncwarp(mask); }
WW_FN uint32_t ballot(bool predicate, here = {}) { return __ballot_sync(kFullMask, predicate); }
WW_FN uint32_t shuffle_bits(uint32_t value, uint32_t source_lane, here) {
  return __shfl_sync(kFullMask, value, int(source_lane));
}

template <class T>
requires(sizeof(T) == 4) WW_FN T shuffle(T value, uint32_t source_lane, here at = {}) {
  return stdx::bit_cast<T>(shuffle_bits(stdx::bit_cast<uint32_t>(value), source_lane, at));
}
template <class T>
requires(sizeof(T) == 4) WW_FN T shuffle_xor(T value, uint32_t lane_mask, here = {}) {
  return stdx::bit_cast<T>(__shfl_xor_sync(kFullMask, stdx::bit_cast<uint32_t>(value), int(lane_mask)));
}
// The same value in every lane, known to be so by the compiler: the register becomes uniform.
WW_FN uint32_t warp_uniform(uint32_t value, here at = {}) { return shuffle(value, 0, at); }

}  // namespace warpwright::inline WW_WORLD::machine

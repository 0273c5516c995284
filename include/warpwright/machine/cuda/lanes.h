// Shuffles along the lanes of a warp, and votes, by the whole warp.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/warp.h"

namespace warpwright::inline WW_WORLD::machine {

// From the lane that is `distance` further down or up; a lane that has none keeps its own value.
template <class T>
requires(sizeof(T) == 4) WW_FN T shuffle_up(T value, uint32_t distance, here = {}) {
  return stdx::bit_cast<T>(__shfl_up_sync(kFullMask, stdx::bit_cast<uint32_t>(value), distance));
}
template <class T>
requires(sizeof(T) == 4) WW_FN T shuffle_down(T value, uint32_t distance, here = {}) {
  return stdx::bit_cast<T>(__shfl_down_sync(kFullMask, stdx::bit_cast<uint32_t>(value), distance));
}
// Whether it holds in one lane, in every lane.
WW_FN bool vote_any(bool predicate, here = {}) { return __any_sync(kFullMask, predicate) != 0; }
WW_FN bool vote_all(bool predicate, here = {}) { return __all_sync(kFullMask, predicate) != 0; }

}  // namespace warpwright::inline WW_WORLD::machine

// Shuffles along the lanes of a warp, and votes, by the whole warp.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"
#include "warpwright/machine/sim/identity.h"
#include "warpwright/machine/sim/warp.h"

namespace warpwright::inline WW_WORLD::machine {

// From the lane that is `distance` further down or up; a lane that has none keeps its own value.
template <class T>
requires(sizeof(T) == 4) T shuffle_up(T value, uint32_t distance, here at = {}) {
  const uint32_t lane = lane_index();
  return shuffle(value, lane < distance ? lane : lane - distance, at);
}
template <class T>
requires(sizeof(T) == 4) T shuffle_down(T value, uint32_t distance, here at = {}) {
  const uint32_t lane = lane_index();
  return shuffle(value, distance > 31 - lane ? lane : lane + distance, at);
}
// Whether it holds in one lane, in every lane.
bool vote_any(bool predicate, here at = {});
bool vote_all(bool predicate, here at = {});

}  // namespace warpwright::inline WW_WORLD::machine

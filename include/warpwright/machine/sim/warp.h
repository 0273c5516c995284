// Words that a whole warp executes together. Lanes rendezvous; divergence is reported.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

inline constexpr uint32_t kFullMask = 0xffff'ffffu;

bool elect_one(here at = {});                             // elect.sync, full mask: true in one lane (always the same)
void sync_warp(uint32_t mask = kFullMask, here at = {});  // __syncwarp
uint32_t ballot(bool predicate, here at = {});            // vote.ballot, full mask
namespace detail {
uint32_t shuffle_bits(uint32_t value, uint32_t source_lane, here at);
}

template <class T>
requires(sizeof(T) == 4) T shuffle(T value, uint32_t source_lane, here at = {}) {
  return stdx::bit_cast<T>(detail::shuffle_bits(stdx::bit_cast<uint32_t>(value), source_lane, at));
}
template <class T>
requires(sizeof(T) == 4) T shuffle_xor(T value, uint32_t lane_mask, here at = {});
// The same value in every lane, known to be so by the compiler (a register becomes uniform on the GPU).
inline uint32_t warp_uniform(uint32_t value, here at = {}) { return shuffle(value, 0, at); }

}  // namespace warpwright::inline WW_WORLD::machine

#include "warpwright/machine/sim/identity.h"
namespace warpwright::inline WW_WORLD::machine {
template <class T>
requires(sizeof(T) == 4) T shuffle_xor(T value, uint32_t lane_mask, here at) {
  return shuffle(value, lane_index() ^ lane_mask, at);
}
}  // namespace warpwright::inline WW_WORLD::machine

// What an op touches. Dependences follow from declared accesses, not from roles: a write of K tile v into a buffer
// comes before the reads of v, and those come before the write that reuses their place.
//
// A K tile is counted from the K position of the loop iteration: a load with KOffset k0 writes tile 0. If an iteration
// consumes T tiles, an access with tile v in iteration i touches tile v + T*i, so the distance of a dependence is the
// difference of the tiles divided by T. The place of a tile is slot = tile mod depth, once the depth is known.
#pragma once
#include "warpwright/schedule/op.h"

namespace warpwright::schedule {

// Where the bytes of an access lie.
enum class Space : uint8_t { shared, registers, accumulator };
// update: reads what the previous update of the same place left and writes it back (an accumulator).
enum class AccessMode : uint8_t { read, write, update };

// All parts of a slot; all roles.
inline constexpr uint8_t kAllRegions = 0xff;
inline constexpr uint8_t kAllRoles = 0xff;

// One access of an op: what it touches and how.
struct Access {
  Space space = Space::shared;
  AccessMode mode = AccessMode::read;
  uint8_t buffer = 0;             // which array of slots: A, B, staging, accumulator
  uint8_t regions = kAllRegions;  // set of the parts of a slot
  int8_t tile = 0;                // K tile relative to the iteration
  int8_t slot = -1;               // physical slot where it is already fixed, otherwise -1
  uint8_t roles = kAllRoles;      // set of the wave roles whose instance of the op makes this access

  constexpr bool operator==(const Access&) const = default;
  constexpr bool writes() const { return mode != AccessMode::read; }
  constexpr bool reads() const { return mode != AccessMode::write; }
  constexpr bool made_by(int role) const { return (roles >> role & 1) != 0; }
  // Whether both may touch the same bytes when their slots coincide.
  constexpr bool overlaps(const Access& o) const {
    return space == o.space && buffer == o.buffer && (regions & o.regions) != 0;
  }
};

// The most accesses that an op has.
inline constexpr int kAccesses = 4;

// The accesses of an op; one too many is an error, not a write beyond the list.
struct AccessList {
  Access list[kAccesses] = {};
  int8_t count = 0;
  Diagnostic error = {};

  constexpr AccessList() = default;
  constexpr AccessList& add(const Access& a) {
    if (count < kAccesses) {
      list[count++] = a;
    } else {
      error = {.code = Code::access_capacity, .have = kAccesses + 1, .need = kAccesses};
    }
    return *this;
  }
  constexpr const Access* begin() const { return list; }
  constexpr const Access* end() const { return list + count; }
};

// Role sets: wave groups of a CDNA workgroup, or producer and consumers on sm_90a.
struct WaveRole {
  Name name = {};
  int barrier_offset = 0;  // barriers this role passes before the common ones: the stagger of ping-pong
};

}  // namespace warpwright::schedule

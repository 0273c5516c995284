// The workspace through which clusters that share the depth of a tile add their sums. World-free: the host allocates
// it.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

// First a counter for each warp of each CTA of each tile, then slots: the sums of one cluster for one tile. The
// counters must be zero before the first launch, and the kernel leaves them zero.
struct FixupConfig {
  int ctas = 1;       // CTAs of a cluster
  int threads = 128;  // threads of a CTA that hold sums
  int values = 0;     // how many sums each of them holds, a multiple of 4

  WW_HD constexpr int warps() const { return threads / 32; }
  WW_HD constexpr int64_t cta_values() const { return int64_t(threads) * values; }
  WW_HD constexpr int64_t counters(int64_t tiles) const { return tiles * ctas * warps(); }
  // Slots begin on a line of memory.
  WW_HD constexpr int64_t counter_bytes(int64_t tiles) const { return (counters(tiles) * 4 + 127) / 128 * 128; }
  WW_HD constexpr int64_t bytes(int64_t tiles, int64_t slots) const {
    return slots == 0 ? 0 : counter_bytes(tiles) + slots * ctas * cta_values() * 4;
  }
  bool operator==(const FixupConfig&) const = default;
};

}  // namespace warpwright

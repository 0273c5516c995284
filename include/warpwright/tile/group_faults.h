// What kernels with groups report about a table that is wrong.
#pragma once
#include "warpwright/machine/machine.h"
#include "warpwright/tile/group_table.h"

namespace warpwright::inline WW_WORLD::tile {

// Called by one thread of each of several warps, each of which found a part of the faults; the word was 0 at launch.
WW_FN void add_faults(const GroupTable& table, uint32_t faults, machine::here at = {}) {
  if (table.status == nullptr || faults == 0) return;
  const Global<uint32_t> word{table.status};
  for (uint32_t seen = 0;;) {
    const uint32_t old = machine::atomic_compare_swap(word, seen, seen | faults, at);
    if (old == seen) return;
    seen = old;
  }
}

}  // namespace warpwright::inline WW_WORLD::tile

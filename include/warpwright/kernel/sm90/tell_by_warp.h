// Slots that whole warps fill or read by ordinary accesses.
#pragma once
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// One lane speaks for the warp.
struct TellByWarp {
  static constexpr bool expects_bytes = false;
  WW_FN static void acquired(machine::here) {}
  WW_FN static void publish(Shared<Mbarrier> full, machine::here at) { tell(full, at); }
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) { tell(empty, at); }

 private:
  WW_FN static void tell(Shared<Mbarrier> barrier, machine::here at) {
    machine::sync_warp(machine::kFullMask, at);
    if (machine::lane_index() == 0) machine::mbarrier_arrive(barrier, 1, at);
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

// Two warpgroups start their MMAs in turns. If both could start freely, they would end together and add up together
// while the tensor core waits for both; so one adds up while the other multiplies.
#pragma once
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Kernel has the named barriers "turn.first" and "turn.second" in its plan, if its config takes turns.
template <class Kernel>
class Turns {
 public:
  WW_FN Turns() {
    if constexpr (kTaken) {
      constexpr uint32_t first = Kernel::plan.named_barrier("turn.first").id,
                         second = Kernel::plan.named_barrier("turn.second").id;
      static_assert(second == first + 1, "which is whose is computed");
      // From a shuffle, so that they are kept: computing them again costs time while the tensor core waits.
      own_ = machine::shuffle(first + machine::warp_index() / 4, machine::lane_index());
      other_ = machine::shuffle(second - machine::warp_index() / 4, machine::lane_index());
    }
  }
  WW_FN void await() const {
    if constexpr (kTaken) {
      machine::named_barrier_sync(own_, uint32_t(Kernel::plan.role("mma").threads()));
      machine::sync_warp();  // an MMA wants the lanes together, which that barrier does not promise
    }
  }
  WW_FN void pass() const {
    if constexpr (kTaken) machine::named_barrier_arrive(other_, uint32_t(Kernel::plan.role("mma").threads()));
  }
  WW_FN void leave_out() const {
    await();
    pass();
  }

 private:
  static constexpr bool kTaken = Kernel::config.takes_turns();
  uint32_t own_ = 0, other_ = 0;
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

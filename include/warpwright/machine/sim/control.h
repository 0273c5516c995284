// Registers, dependent launches, cluster launch control, timers.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
void set_max_registers(uint32_t count, bool increase, here at);
void clc_try_cancel(uint32_t response, uint32_t bar, bool multicast, here at);
}  // namespace detail

// setmaxnreg: by all four warps of a warpgroup.
template <uint32_t N>
void registers_increase(here at = {}) {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "setmaxnreg takes 24..256 in steps of 8");
  detail::set_max_registers(N, true, at);
}
template <uint32_t N>
void registers_decrease(here at = {}) {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "setmaxnreg takes 24..256 in steps of 8");
  detail::set_max_registers(N, false, at);
}

void grid_dependency_wait(here at = {});    // griddepcontrol.wait: the primary's memory is visible after it
void grid_dependency_launch(here at = {});  // griddepcontrol.launch_dependents

// clusterlaunchcontrol: 16-byte response in shared memory, completes 16 bytes on the barrier.
using ClcResponse = Vec<uint32_t, 4>;
inline void clc_try_cancel(Shared<ClcResponse> response, Shared<Mbarrier> bar, here at = {}) {
  detail::clc_try_cancel(response.address, bar.address, false, at);
}
inline void clc_try_cancel_multicast(Shared<ClcResponse> response, Shared<Mbarrier> bar, here at = {}) {
  detail::clc_try_cancel(response.address, bar.address, true, at);
}
bool clc_is_canceled(const ClcResponse& r, here at = {});
Index3 clc_first_ctaid(const ClcResponse& r, here at = {});  // only if canceled

uint64_t clock_cycles();     // %clock64
uint64_t global_timer_ns();  // %globaltimer
[[noreturn]] void trap(const char* why, here at = {});

}  // namespace warpwright::inline WW_WORLD::machine

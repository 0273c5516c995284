// Registers, dependent launches, cluster launch control, timers.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/record.h"

namespace warpwright::inline WW_WORLD::machine {

// setmaxnreg: by all four warps of a warpgroup.
template <uint32_t N>
WW_FN void registers_increase(here = {}) {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "setmaxnreg takes 24..256 in steps of 8");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <uint32_t N>
WW_FN void registers_decrease(here = {}) {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "setmaxnreg takes 24..256 in steps of 8");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

WW_FN void grid_dependency_wait(here at = {}) {
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_grid, 0, 0, at);
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
WW_FN void grid_dependency_launch(here = {}) { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// clusterlaunchcontrol (sm_100): 16-byte response in shared memory, completes 16 bytes on the barrier.
using ClcResponse = Vec<uint32_t, 4>;
WW_FN void clc_try_cancel(Shared<ClcResponse> response, Shared<Mbarrier> bar, here = {}) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                   response.address),
               "r"(bar.address)
               : "memory");
}
WW_FN void clc_try_cancel_multicast(Shared<ClcResponse> response, Shared<Mbarrier> bar, here = {}) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
      "[%0], [%1];" ::"r"(response.address),
      "r"(bar.address)
      : "memory");
}
WW_FN bool clc_is_canceled(const ClcResponse& r, here = {}) {
  const auto halves = stdx::bit_cast<ulonglong2>(r);
  uint32_t canceled;
  asm("{\n"
      ".reg .pred canceled;\n"
      ".reg .b128 response;\n"
      "mov.b128 response, {%1, %2};\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, response;\n"
      "selp.b32 %0, 1, 0, canceled;\n"
      "}"
      : "=r"(canceled)
      : "l"(halves.x), "l"(halves.y));
  return canceled != 0;
}
// Volatile: undefined unless canceled, so it must stay after the caller's test.
WW_FN Index3 clc_first_ctaid(const ClcResponse& r, here = {}) {
  const auto halves = stdx::bit_cast<ulonglong2>(r);
  Index3 first;
  asm volatile(
      "{\n"
      ".reg .b128 response;\n"
      "mov.b128 response, {%3, %4};\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, _}, response;\n"
      "}"
      : "=r"(first.x), "=r"(first.y), "=r"(first.z)
      : "l"(halves.x), "l"(halves.y));
  return first;
}

WW_FN uint64_t clock_cycles() { return uint64_t(clock64()); }
WW_FN uint64_t global_timer_ns() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}
[[noreturn]] WW_FN void trap(const char*, here = {}) {
  __trap();
  __builtin_unreachable();
}

}  // namespace warpwright::inline WW_WORLD::machine

// Which warp does what. A kernel declares its roles with declare() and asks with the predicates, so both agree.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::warp {

namespace detail {
WW_FN bool thread_in(int first, int count) {
  const int thread = int(machine::thread_index());
  return thread >= first && thread < first + count;
}
}  // namespace detail

// Dense, block-scaled and blockwise kernels. The epilogue comes first: a warp reaches the lanes of tensor memory that
// its place in the warpgroup gives it, and warp 0 issues TMA stores.
struct WarpRole {
  static constexpr int NUM_EPILOGUE_THREADS = kTmemLanes;
  static constexpr int NUM_SCHEDULER_THREADS = kWarpThreads;
  static constexpr int NUM_LOAD_THREADS = kWarpThreads;
  static constexpr int NUM_MMA_THREADS = kWarpThreads;
  static constexpr int NUM_EPILOGUE_LOAD_THREADS = kWarpThreads;
  static constexpr int EPILOGUE_WARP_START = 0;
  static constexpr int SCHEDULER_WARP_START = EPILOGUE_WARP_START + NUM_EPILOGUE_THREADS;
  static constexpr int LOAD_WARP_START = SCHEDULER_WARP_START + NUM_SCHEDULER_THREADS;
  static constexpr int MMA_WARP_START = LOAD_WARP_START + NUM_LOAD_THREADS;
  static constexpr int EPILOGUE_LOAD_WARP_START = MMA_WARP_START + NUM_MMA_THREADS;
  static constexpr int TOTAL_THREADS = EPILOGUE_LOAD_WARP_START;
  static constexpr int TOTAL_THREADS_WITH_EPILOGUE_LOAD = TOTAL_THREADS + NUM_EPILOGUE_LOAD_THREADS;

  WW_FN static bool is_epilogue() { return detail::thread_in(EPILOGUE_WARP_START, NUM_EPILOGUE_THREADS); }
  WW_FN static bool is_scheduler() { return detail::thread_in(SCHEDULER_WARP_START, NUM_SCHEDULER_THREADS); }
  WW_FN static bool is_load() { return detail::thread_in(LOAD_WARP_START, NUM_LOAD_THREADS); }
  WW_FN static bool is_mma() { return detail::thread_in(MMA_WARP_START, NUM_MMA_THREADS); }
  WW_FN static bool is_epilogue_load() {
    return detail::thread_in(EPILOGUE_LOAD_WARP_START, NUM_EPILOGUE_LOAD_THREADS);
  }

  static constexpr void declare(BlockPlan& plan, bool with_epilogue_load = false) {
    plan.role("epilogue", NUM_EPILOGUE_THREADS / kWarpThreads).role("scheduler", NUM_SCHEDULER_THREADS / kWarpThreads);
    plan.role("load", NUM_LOAD_THREADS / kWarpThreads).role("mma", NUM_MMA_THREADS / kWarpThreads);
    if (with_epilogue_load) plan.role("epilogue_load", NUM_EPILOGUE_LOAD_THREADS / kWarpThreads);
  }
};

// The roles of WarpRole1D1D, for callers that know its parameters as values.
constexpr void declare_roles_1d1d(BlockPlan& plan, bool has_sfb, int epilogue_warps, bool with_scheduler = true) {
  plan.role("epilogue", epilogue_warps).role("load", 1).role("mma", 1);
  if (has_sfb) plan.role("sfb_tma_load", 1).role("sfb_load", kTmemWarps);
  if (with_scheduler) plan.role("scheduler", 1);
}

// Grouped 1D-1D kernels, by thread index. With has_sfb (MMA_N < 64) one warp loads the scale factors of B and four move
// them into tensor memory; without it the scheduler has that place, so asking is_sfb_* does not compile.
template <bool has_sfb = false, int num_epi_warps = 4>
struct WarpRole1D1D {
  static_assert(num_epi_warps >= 1, "there is an epilogue");
  static constexpr int NUM_EPILOGUE_THREADS = num_epi_warps * kWarpThreads;
  static constexpr int NUM_LOAD_THREADS = kWarpThreads;
  static constexpr int NUM_MMA_THREADS = kWarpThreads;
  static constexpr int NUM_SCHEDULER_THREADS = kWarpThreads;
  static constexpr int NUM_SFB_TMA_LOAD_THREADS = kWarpThreads;
  static constexpr int NUM_SFB_LOAD_THREADS = kTmemLanes;
  static constexpr int EPILOGUE_WARP_START = 0;
  static constexpr int LOAD_WARP_START = NUM_EPILOGUE_THREADS;
  static constexpr int MMA_WARP_START = LOAD_WARP_START + NUM_LOAD_THREADS;
  static constexpr int SFB_TMA_LOAD_WARP_START = MMA_WARP_START + NUM_MMA_THREADS;
  static constexpr int SFB_LOAD_WARP_START = SFB_TMA_LOAD_WARP_START + NUM_SFB_TMA_LOAD_THREADS;
  static constexpr int SCHEDULER_WARP_START =
      has_sfb ? SFB_LOAD_WARP_START + NUM_SFB_LOAD_THREADS : SFB_TMA_LOAD_WARP_START;
  static constexpr int TOTAL_THREADS = NUM_EPILOGUE_THREADS + NUM_LOAD_THREADS + NUM_MMA_THREADS;
  static constexpr int TOTAL_THREADS_WITH_SFB = TOTAL_THREADS + NUM_SFB_TMA_LOAD_THREADS + NUM_SFB_LOAD_THREADS;
  static constexpr int TOTAL_THREADS_WITH_SCHED = SCHEDULER_WARP_START + NUM_SCHEDULER_THREADS;
  static_assert(TOTAL_THREADS_WITH_SCHED <= 1024, "a block has at most 1024 threads");

  WW_FN static bool is_epilogue() { return detail::thread_in(EPILOGUE_WARP_START, NUM_EPILOGUE_THREADS); }
  WW_FN static bool is_load() { return detail::thread_in(LOAD_WARP_START, NUM_LOAD_THREADS); }
  WW_FN static bool is_mma() { return detail::thread_in(MMA_WARP_START, NUM_MMA_THREADS); }
  WW_FN static bool is_sfb_tma_load() requires(has_sfb) {
    return detail::thread_in(SFB_TMA_LOAD_WARP_START, NUM_SFB_TMA_LOAD_THREADS);
  }
  WW_FN static bool is_sfb_load() requires(has_sfb) {
    return detail::thread_in(SFB_LOAD_WARP_START, NUM_SFB_LOAD_THREADS);
  }
  WW_FN static bool is_scheduler() { return detail::thread_in(SCHEDULER_WARP_START, NUM_SCHEDULER_THREADS); }

  static constexpr void declare(BlockPlan& plan, bool with_scheduler = true) {
    declare_roles_1d1d(plan, has_sfb, num_epi_warps, with_scheduler);
  }
};

}  // namespace warpwright::inline WW_WORLD::warp

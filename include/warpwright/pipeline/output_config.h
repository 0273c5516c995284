// Where accumulators are in tensor memory and how they change hands: the one parameter of the output ring, the MMA warp
// and the epilogue warp, and what a block plan declares for them.
#pragma once
#include "warpwright/core/block_plan.h"

namespace warpwright {

// How many accumulators there are and where they lie in tensor memory. declare_output() completes one.
struct OutputPipelineConfig {
  int num_stages = 2;           // how many accumulators there are
  int stage_stride_cols = 256;  // columns of tensor memory from one to the next
  int cta_group = 1;            // 2: a pair of CTAs multiplies together, the even one leads
  uint32_t first_column = 0;    // where accumulator 0 begins in the allocation
  uint32_t tmem_columns = 0;    // how many are allocated; 0: the smallest legal number that holds the accumulators
  uint32_t sync_id = 1;         // named barrier on which the address is handed from the MMA warp to the epilogue

  WW_HD constexpr uint32_t used_columns() const {
    return first_column + uint32_t(num_stages) * uint32_t(stage_stride_cols);
  }
  WW_HD constexpr uint32_t allocated_columns() const {
    if (tmem_columns != 0) return tmem_columns;
    uint32_t columns = 32;
    while (columns < used_columns()) columns *= 2;
    return columns;
  }
  WW_HD constexpr bool stages_are_legal() const { return num_stages >= 1 && stage_stride_cols >= 1; }
  WW_HD constexpr bool group_is_legal() const { return cta_group == 1 || cta_group == 2; }
  WW_HD constexpr bool columns_are_legal() const {
    const uint32_t n = allocated_columns();
    return n >= 32 && n <= kTmemColumns && (n & (n - 1)) == 0 && used_columns() <= n;
  }
  WW_HD constexpr bool sync_is_legal() const { return sync_id >= 1 && sync_id <= 15; }
  // Arrivals that complete a phase of accum.empty, and of tmem.done.
  WW_HD constexpr int epilogue_arrivals(int epilogue_threads) const { return cta_group * epilogue_threads; }

  constexpr bool operator==(const OutputPipelineConfig&) const = default;
};

// Adds to the plan all that MmaWarp and EpilogueWarp share: the ring accum.full and accum.empty, the barrier tmem.done,
// in pair mode the barrier tmem.peer, the word tmem.address, the named barrier tmem.allocated and the tensor memory.
// Returns the config with the id that the plan gave to the named barrier.
constexpr OutputPipelineConfig declare_output(BlockPlan& plan, OutputPipelineConfig opc, const char* mma = "mma",
                                              const char* epilogue = "epilogue") {
  const int mma_threads = detail::find_by_name(plan.roles, plan.role_count, mma).threads();
  const int epilogue_threads = detail::find_by_name(plan.roles, plan.role_count, epilogue).threads();
  const int arrivals = opc.epilogue_arrivals(epilogue_threads);
  plan.region("tmem.address", sizeof(uint32_t), 1, 16);
  plan.barrier("accum.full", opc.num_stages, 1, epilogue, {mma, 1});
  plan.barrier("accum.empty", opc.num_stages, arrivals, mma, {epilogue, arrivals});
  plan.barrier("tmem.done", 1, arrivals, mma, {epilogue, arrivals}).used_once("tmem.done");
  if (opc.cta_group == 2) plan.barrier("tmem.peer", 1, 1, mma, {mma, 1}).used_once("tmem.peer");
  plan.named_barrier("tmem.allocated", mma_threads + epilogue_threads).used_once("tmem.allocated");
  plan.tensor_memory("tmem", opc.allocated_columns());
  opc.sync_id = uint32_t(plan.named[plan.named_count - 1].id);
  return opc;
}

}  // namespace warpwright

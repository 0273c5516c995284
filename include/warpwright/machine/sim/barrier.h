// Barriers of the block and of the cluster.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

// __syncthreads: barrier 0, all threads of the block, converged and from one instruction (it is the aligned form).
void sync_block(here at = {});
// Named barriers 1..15; `threads` is a multiple of 32. The unaligned forms may be executed from different role
// branches.
void named_barrier_sync(uint32_t id, uint32_t threads, here at = {});
void named_barrier_arrive(uint32_t id, uint32_t threads, here at = {});
// The aligned form (bar.sync): all participants must reach the same instruction.
void named_barrier_sync_aligned(uint32_t id, uint32_t threads, here at = {});

void cluster_arrive(here at = {});          // release
void cluster_arrive_relaxed(here at = {});  // publishes nothing
void cluster_wait(here at = {});            // acquire
inline void cluster_sync(here at = {}) {
  cluster_arrive(at);
  cluster_wait(at);
}

}  // namespace warpwright::inline WW_WORLD::machine

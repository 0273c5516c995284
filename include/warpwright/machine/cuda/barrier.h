// Barriers of the block and of the cluster.
#pragma once
#include <cuda/ptx>

#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/record.h"

namespace warpwright::inline WW_WORLD::machine {

WW_FN void sync_block(here at = {}) {
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_named, 0, 0, at);
  __syncthreads();
}
// Named barriers 1..15; `threads` is a multiple of 32. The unaligned forms may be executed from different role
// branches.
WW_FN void named_barrier_sync(uint32_t id, uint32_t threads, here at = {}) {
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_named, id, 0, at);
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
WW_FN void named_barrier_arrive(uint32_t id, uint32_t threads, here at = {}) {
  record::arrival(record::Kind::arrive_named, id, 1, at);
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// The aligned form: all participants must reach the same instruction.
WW_FN void named_barrier_sync_aligned(uint32_t id, uint32_t threads, here at = {}) {
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_named, id, 0, at);
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Unaligned: at a kernel's end the warps come from different role branches and their lanes may have diverged.
WW_FN void cluster_arrive(here at = {}) {
  record::arrival(record::Kind::arrive_cluster, 0, 1, at);
  ::cuda::ptx::barrier_cluster_arrive(::cuda::ptx::sem_release);
}
WW_FN void cluster_arrive_relaxed(here at = {}) {
  record::arrival(record::Kind::arrive_cluster, 0, 1, at);
  ::cuda::ptx::barrier_cluster_arrive(::cuda::ptx::sem_relaxed);
}
WW_FN void cluster_wait(here at = {}) {
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_cluster, 0, 0, at);
  ::cuda::ptx::barrier_cluster_wait(::cuda::ptx::sem_acquire);
}
WW_FN void cluster_sync(here at = {}) {
  cluster_arrive(at);
  cluster_wait(at);
}

}  // namespace warpwright::inline WW_WORLD::machine

// Barrier initialisation, derived from the Plan.
#pragma once
#include "warpwright/core/plan.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/unroll.h"

namespace warpwright::inline WW_WORLD::pipeline {

namespace detail {
template <class K, int I>
WW_FN void init_barrier(uint32_t base, machine::here at) {
  constexpr uint32_t offset = K::plan.barriers[I].offset;
  constexpr int stages = K::plan.barriers[I].stages;
  constexpr int count = K::plan.barriers[I].count;
  WW_UNROLL
  for (int stage = 0; stage < stages; ++stage) {
    machine::mbarrier_init(Shared<Mbarrier>{base + offset} + stage, count, at);
  }
}
template <class K, int... I>
WW_FN void init_barriers(uint32_t base, machine::here at, stdx::integer_sequence<int, I...>) {
  (init_barrier<K, I>(base, at), ...);
}
}  // namespace detail

// Initialises every barrier of K's plan. One thread calls it; a block or cluster barrier must follow before any use.
template <class K>
WW_FN void init_barriers(uint32_t base, machine::here at = {}) {
  detail::init_barriers<K>(base, at, stdx::make_integer_sequence<int, K::plan.barrier_count>{});
  machine::fence_mbarrier_init(at);
}

// By all threads of the block. Returns when every barrier of every CTA of the cluster may be used.
template <class K>
WW_FN void set_up_barriers(uint32_t base, machine::here at = {}) {
  if (machine::thread_index() == 0) init_barriers<K>(base, at);
  if constexpr (K::plan.cluster > 1) {
    machine::cluster_sync(at);
  } else {
    machine::sync_block(at);
  }
}

// By all threads of the block, last in the kernel: shared memory of a CTA must outlive what its peers send there.
template <class K>
WW_FN void leave_cluster(machine::here at = {}) {
  if constexpr (K::plan.cluster > 1) machine::cluster_sync(at);
}

}  // namespace warpwright::inline WW_WORLD::pipeline

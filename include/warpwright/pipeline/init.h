// Barrier initialisation, derived from the block plan.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/unroll.h"
#include "warpwright/machine/machine.h"

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
WW_FN void init_barriers([[maybe_unused]] uint32_t base, [[maybe_unused]] machine::here at,
                         stdx::integer_sequence<int, I...>) {
  (init_barrier<K, I>(base, at), ...);
}
}  // namespace detail

namespace detail {
template <class K>
WW_FN void init_all(uint32_t base, machine::here at) {
  init_barriers<K>(base, at, stdx::make_integer_sequence<int, K::plan.barrier_count>{});
  machine::fence_mbarrier_init(at);
}

// Asked by every way to start a block but run_block.
template <class K>
constexpr bool may_leave_alone() {
  static_assert(K::plan.cluster == 1 || K::plan.arch != Arch::sm100,
                "on Blackwell the CTAs of a cluster use each other's memory until the end: run_block<K>() has the "
                "barrier at the exit");
  return true;
}
}  // namespace detail

// Initialises every barrier of K's plan. One thread calls it; a block or cluster barrier must follow before any use.
template <class K>
WW_FN void init_barriers(uint32_t base, machine::here at = {}) {
  static_assert(detail::may_leave_alone<K>());
  detail::init_all<K>(base, at);
}

namespace detail {
template <class K>
WW_FN void enter_block(uint32_t base, machine::here at) {
  if (machine::thread_index() == 0) init_all<K>(base, at);
  if constexpr (K::plan.cluster > 1) {
    machine::cluster_sync(at);
  } else {
    machine::sync_block(at);
  }
}
}  // namespace detail

// The start of a block whose loader must not wait for the others: it initialises the barriers (init_barriers(), which
// fences), announces them and goes on. The other warps await them; nobody else has anything to publish, so the arrivals
// at the cluster's barrier are relaxed and cost no trip to L2. The plan of a kernel without a cluster has a named
// barrier "start" of all its threads.
template <class K>
WW_FN void announce_barriers(machine::here at = {}) {
  static_assert(detail::may_leave_alone<K>());
  if constexpr (K::plan.cluster > 1) {
    machine::cluster_arrive_relaxed(at);
  } else {
    constexpr uint32_t id = K::plan.named_barrier("start").id;
    machine::named_barrier_arrive(id, uint32_t(K::plan.threads()), at);
  }
}
template <class K>
WW_FN void await_barriers(machine::here at = {}) {
  static_assert(detail::may_leave_alone<K>());
  if constexpr (K::plan.cluster > 1) {
    machine::cluster_arrive_relaxed(at);
    machine::cluster_wait(at);
  } else {
    constexpr uint32_t id = K::plan.named_barrier("start").id;
    machine::named_barrier_sync(id, uint32_t(K::plan.threads()), at);
  }
}
// By every thread that announced, once: its own CTA's barriers may be used before, those of the peers after.
template <class K>
WW_FN void await_peers([[maybe_unused]] machine::here at = {}) {
  static_assert(detail::may_leave_alone<K>());
  if constexpr (K::plan.cluster > 1) machine::cluster_wait(at);
}

// By all threads of the block, last in the kernel: shared memory of a CTA must outlive what its peers send there.
template <class K>
WW_FN void leave_cluster(machine::here at = {}) {
  if constexpr (K::plan.cluster > 1) machine::cluster_sync(at);
}

// The life of a block, by all its threads: every barrier of every CTA of the cluster is ready, body(), and no CTA
// leaves before its peers are done with it. Roles branch inside the body and return to its end.
template <class K, class Body>
WW_FN void run_block(uint32_t base, Body&& body, machine::here at = {}) {
  detail::enter_block<K>(base, at);
  body();
  leave_cluster<K>(at);
}

// By all threads of the block. Returns when every barrier of every CTA of the cluster may be used.
template <class K>
WW_FN void set_up_barriers(uint32_t base, machine::here at = {}) {
  static_assert(detail::may_leave_alone<K>());
  detail::enter_block<K>(base, at);
}

}  // namespace warpwright::inline WW_WORLD::pipeline

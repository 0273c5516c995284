// What it means to hand a stage on: one type per meaning. A producer publishes a stage on its full barrier, a consumer
// releases it on its empty barrier. `acquired` runs after the wait, before the stage is touched. A meaning that needs a
// multicast mask holds it; the others are empty types.
#pragma once
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::pipeline {

// Publishing, from producer to consumer.

// The TMA fills the stage. The one arrival was made by expect_bytes, the bytes complete the phase: nothing is left
// to do.
struct PublishByTma {
  static constexpr bool expects_bytes = true;
  WW_FN static void acquired(machine::here) {}
  WW_FN static void publish(Shared<Mbarrier>, machine::here) {}
};

// Who reads what the threads wrote: other threads, or the asynchronous proxy (a TMA store, an MMA).
enum class To : uint8_t { threads, async };

// Each thread that wrote a part of the stage arrives.
template <To T>
struct PublishByThread {
  static constexpr bool expects_bytes = false;
  WW_FN static void acquired(machine::here) {}
  WW_FN static void publish(Shared<Mbarrier> full, machine::here at) {
    // A proxy fence covers the writes of the thread that executes it, so it comes before the arrival of each writer.
    if constexpr (T == To::async) machine::fence_proxy_async<ProxySpace::shared_cta>(at);
    machine::mbarrier_arrive(full, 1, at);
  }
};

// The tensor core fills the stage in tensor memory: the arrival happens when all MMAs issued by this thread are
// complete.
template <int CtaGroup>
struct PublishByCommit {
  static constexpr bool expects_bytes = false;
  // Orders the MMAs that come next after the readers' tcgen05.ld, which precede their arrival.
  WW_FN static void acquired(machine::here at) { machine::tcgen05_fence_after(at); }
  WW_FN static void publish(Shared<Mbarrier> full, machine::here at) { machine::tcgen05_commit<CtaGroup>(full, at); }
};

// The same by a whole warp, whose elected lane issued the MMAs. In pair mode the one commit of the leader arrives in
// the CTAs of the mask: itself and its peer (KernelContext::mma_complete_mask).
template <int CtaGroup>
struct PublishByWarpCommit {
  static constexpr bool expects_bytes = false;
  uint16_t mask = 1;
  WW_FN static void acquired(machine::here at) { machine::tcgen05_fence_after(at); }
  WW_FN void publish(Shared<Mbarrier> full, machine::here at) const {
    if (machine::elect_one(at)) {
      if constexpr (CtaGroup == 2) {
        machine::tcgen05_commit_multicast<CtaGroup>(full, mask, at);
      } else {
        machine::tcgen05_commit<CtaGroup>(full, at);
      }
    }
  }
};

// Releasing, from consumer back to producer.

// Who read the stage. `async`: wgmma or a bulk store, whose wait the kernel has executed. `threads`: ordinary loads,
// which the TMA's next write must not overtake. `tmem`: tcgen05.ld, whose wait the kernel has executed.
enum class Readers : uint8_t { async, threads, tmem };

namespace detail {
template <Readers R, ProxySpace Space>
WW_FN void order_reads(machine::here at) {
  if constexpr (R == Readers::threads) machine::fence_proxy_async<Space>(at);
  if constexpr (R == Readers::tmem) machine::tcgen05_fence_before(at);
}
template <Readers R>
WW_FN void order_after_wait(machine::here at) {
  if constexpr (R == Readers::tmem) machine::tcgen05_fence_after(at);
}
}  // namespace detail

// Each thread that holds the stage arrives.
template <Readers R>
struct ReleaseByThread {
  WW_FN static void acquired(machine::here at) { detail::order_after_wait<R>(at); }
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    detail::order_reads<R, ProxySpace::shared_cta>(at);
    machine::mbarrier_arrive(empty, 1, at);
  }
};

// One lane arrives for its warp.
template <Readers R>
struct ReleaseByWarp {
  WW_FN static void acquired(machine::here at) { detail::order_after_wait<R>(at); }
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    detail::order_reads<R, ProxySpace::shared_cta>(at);
    // The lane speaks for loads of the others; waits of asynchronous readers are executed by the whole warp anyway.
    if constexpr (R != Readers::async) machine::sync_warp(machine::kFullMask, at);
    if (machine::lane_index() == 0) machine::mbarrier_arrive(empty, 1, at);
  }
};

// A stage that every CTA of the cluster fills: lane r of each warp arrives at CTA r.
template <int Cluster, Readers R>
struct ReleaseToCluster {
  static_assert(Cluster >= 1 && Cluster <= 16, "a cluster has 1 to 16 CTAs");
  // The plain remote arrival orders nothing but completed asynchronous reads and costs no barrier through L2.
  static constexpr Scope scope = R == Readers::async ? Scope::cta : Scope::cluster;

  WW_FN static void acquired(machine::here at) { detail::order_after_wait<R>(at); }
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    detail::order_reads<R, ProxySpace::shared_cluster>(at);
    if constexpr (R != Readers::async) machine::sync_warp(machine::kFullMask, at);
    const uint32_t rank = machine::lane_index();
    if (rank < uint32_t(Cluster)) {
      if (rank == machine::cluster_rank()) {
        machine::mbarrier_arrive(empty, 1, at);
      } else {
        machine::mbarrier_arrive<scope>(machine::map_to_rank(empty, rank), 1, at);
      }
    }
  }
};

// A stage that MMAs read and that the CTAs of the same row and of the same column of the cluster fill: lane r of each
// warp arrives at CTA r if it is one of those. Ranks count along the columns first.
template <int Rows, int Columns>
struct ReleaseToFillers {
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    if constexpr (Rows == 1 || Columns == 1) {
      ReleaseToCluster<Rows * Columns, Readers::async>::release(empty, at);
    } else {
      const uint32_t rank = machine::lane_index(), own = machine::cluster_rank();
      if (rank == own) {
        machine::mbarrier_arrive(empty, 1, at);
      } else if (rank < uint32_t(Rows * Columns) &&
                 (rank / Columns == own / Columns || rank % Columns == own % Columns)) {
        machine::mbarrier_arrive<Scope::cta>(machine::map_to_rank(empty, rank), 1, at);
      }
    }
  }
};

// A stage of a CTA pair that the leader's warp refills: each thread of both CTAs arrives at the leader. The plain
// remote arrival is enough for tcgen05.ld, which is an asynchronous read.
template <int CtaGroup, Readers R>
struct ReleaseToLeader {
  static_assert(CtaGroup == 1 || R != Readers::threads, "ordinary loads of a peer need an arrival at cluster scope");
  WW_FN static void acquired(machine::here at) { detail::order_after_wait<R>(at); }
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    detail::order_reads<R, ProxySpace::shared_cta>(at);
    if constexpr (CtaGroup == 2) {
      machine::mbarrier_arrive(machine::map_to_leader(empty), 1, at);
    } else {
      machine::mbarrier_arrive(empty, 1, at);
    }
  }
};

// The tensor core read the stage: free when all MMAs issued by this thread are complete.
template <int CtaGroup>
struct ReleaseByCommit {
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) { machine::tcgen05_commit<CtaGroup>(empty, at); }
};

// The same by a whole warp, whose elected lane issued the MMAs.
template <int CtaGroup>
struct ReleaseByWarpCommit {
  static constexpr int cta_group = CtaGroup;
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    if (machine::elect_one(at)) machine::tcgen05_commit<CtaGroup>(empty, at);
  }
};

// The same in every CTA whose loads fill what this one multiplies (KernelContext::input_release_mask).
template <int CtaGroup>
struct ReleaseByWarpCommitMulticast {
  static constexpr int cta_group = CtaGroup;
  uint16_t mask = 1;
  WW_FN static void acquired(machine::here) {}
  WW_FN void release(Shared<Mbarrier> empty, machine::here at) const {
    if (machine::elect_one(at)) machine::tcgen05_commit_multicast<CtaGroup>(empty, mask, at);
  }
};

}  // namespace warpwright::inline WW_WORLD::pipeline

// Who a thread is in its cluster and whom it sends to: one function, so that no kernel computes a mask of its own.
#pragma once
#include "warpwright/machine/machine.h"

namespace warpwright {

// CTAs along M and N that share operand loads. Ranks run along M first: rank = m + n * ctas_m.
struct ClusterConfig {
  int ctas_m = 1, ctas_n = 1;
  int cta_group = 1;
  WW_HD constexpr int size() const { return ctas_m * ctas_n; }
  WW_HD constexpr bool is_legal() const {
    return ctas_m >= 1 && ctas_n >= 1 && size() <= 16 && (cta_group == 1 || (cta_group == 2 && ctas_m % 2 == 0));
  }
  // How many commits complete a phase of input.empty: the leaders of the row and those of the column pair, with the one
  // that is in both.
  WW_HD constexpr int input_empty_arrivals() const { return ctas_m / cta_group + ctas_n - 1; }
  // A CTA loads one slice of A and of B and multicasts it to those that need it.
  WW_HD constexpr int a_slices() const { return ctas_n; }
  WW_HD constexpr int b_slices() const { return ctas_m / cta_group; }
  constexpr bool operator==(const ClusterConfig&) const = default;
};

// A thread's place in its cluster, and the masks it multicasts with.
struct KernelContext {
  uint32_t warp = 0;
  bool elect_one_warp = false;    // warp 0
  bool elect_one_thread = false;  // the elected lane of each warp
  bool elect_one_cta = false;     // issues MMAs: the leader of a pair, every CTA otherwise
  bool is_first_cta_in_cluster = false;
  uint32_t rank = 0, rank_m = 0, rank_n = 0;
  uint32_t peer_rank = 0;             // the other CTA of the pair; itself without pairs
  uint32_t place_in_pair = 0;         // 0: leader
  uint32_t pair_m = 0;                // which pair along M
  uint32_t a_slice = 0, b_slice = 0;  // which slice of the operand tile this CTA loads
  uint16_t a_multicast_mask = 0;      // same rows of A: CTAs with this rank_m
  uint16_t b_multicast_mask = 0;      // same rows of B: this rank_n, same place in the pair
  uint16_t mma_complete_mask = 0;     // where the commit of an accumulator arrives
  uint16_t input_release_mask = 0;    // where the commit of an input stage arrives: all whose loads it held
};

// The context of a thread, from its rank and number: constexpr, so that tests can ask for any.
WW_HD constexpr KernelContext kernel_context(ClusterConfig c, uint32_t rank, uint32_t thread, bool elected) {
  KernelContext k;
  const uint32_t m = uint32_t(c.ctas_m), n = uint32_t(c.ctas_n), group = uint32_t(c.cta_group);
  k.warp = thread / 32;
  k.elect_one_warp = k.warp == 0;
  k.elect_one_thread = elected;
  k.rank = rank;
  k.rank_m = rank % m;
  k.rank_n = rank / m;
  k.is_first_cta_in_cluster = rank == 0;
  k.place_in_pair = k.rank_m % group;
  k.elect_one_cta = k.place_in_pair == 0;
  k.pair_m = k.rank_m / group;
  k.peer_rank = group == 2 ? rank ^ 1 : rank;
  k.a_slice = k.rank_n;
  k.b_slice = k.pair_m;
  uint32_t row = 0, column = 0, pairs = 0;
  for (uint32_t i = 0; i < n; ++i) column |= 1u << (i * m);
  for (uint32_t i = 0; i < m; ++i) row |= 1u << i;
  for (uint32_t i = 0; i < m / group; ++i) pairs |= 1u << (i * group);
  k.a_multicast_mask = uint16_t(column << k.rank_m);
  k.b_multicast_mask = uint16_t(pairs << k.place_in_pair << (k.rank_n * m));
  k.mma_complete_mask = uint16_t(1u << rank | 1u << k.peer_rank);
  k.input_release_mask =
      uint16_t(row << (k.rank_n * m) | column << k.rank_m | column << (group == 2 ? k.rank_m ^ 1 : k.rank_m));
  return k;
}

inline namespace WW_WORLD {
namespace warp {
// The context of the calling thread. Call it from a converged warp.
template <ClusterConfig c>
WW_FN KernelContext kernel_context(machine::here at = {}) {
  static_assert(c.is_legal(), "a cluster has up to 16 CTAs, and pairs need an even number of them along M");
  return ::warpwright::kernel_context(c, machine::cluster_rank(), machine::thread_index(), machine::elect_one(at));
}
}  // namespace warp
}  // namespace WW_WORLD

}  // namespace warpwright

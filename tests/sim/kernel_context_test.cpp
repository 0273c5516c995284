// KernelContext as a constant expression, for every cluster of up to 16 CTAs, with and without pairs: each rank, mask
// and peer against a definition that counts CTAs. If anything is wrong here, it does not compile.
#include "warpwright/warp/kernel_context.h"

#include <gtest/gtest.h>

#include <utility>

namespace warpwright {
namespace {

// Which CTAs need what: a tile of A belongs to the CTAs at one place along M, a tile of B to those at one place along
// N, where each CTA of a pair has half.
constexpr bool same_a(ClusterConfig c, int i, int j) { return i % c.ctas_m == j % c.ctas_m; }
constexpr bool same_b(ClusterConfig c, int i, int j) {
  return i / c.ctas_m == j / c.ctas_m && i % c.ctas_m % c.cta_group == j % c.ctas_m % c.cta_group;
}
constexpr bool same_pair(ClusterConfig c, int i, int j) { return i / c.cta_group == j / c.cta_group; }
// The MMA of i's pair reads what j has loaded: for i itself or for its peer.
constexpr bool reads_from(ClusterConfig c, int i, int j) {
  bool reads = false;
  for (int k = 0; k < c.size(); ++k)
    if (same_pair(c, i, k)) reads = reads || same_a(c, j, k) || same_b(c, j, k);
  return reads;
}

// The first rank at which something differs, -1 if none does.
constexpr int first_difference(ClusterConfig c) {
  const int n = c.size();
  int arrivals[16] = {}, a_slices[16] = {}, b_slices[16] = {};
  for (int i = 0; i < n; ++i) {
    const KernelContext k = kernel_context(c, uint32_t(i), 37, i % 2 == 0);
    uint32_t a = 0, b = 0, done = 0, freed = 0;
    int peer = i;
    for (int j = 0; j < n; ++j) {
      if (same_a(c, i, j)) a |= 1u << j;
      if (same_b(c, i, j)) b |= 1u << j;
      if (same_pair(c, i, j)) done |= 1u << j;
      if (same_pair(c, i, j) && j != i) peer = j;
      if (reads_from(c, i, j)) freed |= 1u << j;
    }
    const bool leader = i % c.cta_group == 0;
    const bool right = k.rank == uint32_t(i) && k.rank_m + k.rank_n * uint32_t(c.ctas_m) == uint32_t(i) &&
                       k.rank_m < uint32_t(c.ctas_m) && k.peer_rank == uint32_t(peer) && k.elect_one_cta == leader &&
                       k.place_in_pair == uint32_t(i % c.cta_group) && k.is_first_cta_in_cluster == (i == 0) &&
                       k.warp == 1 && !k.elect_one_warp && k.elect_one_thread == (i % 2 == 0) &&
                       k.a_multicast_mask == a && k.b_multicast_mask == b && k.mma_complete_mask == done &&
                       k.input_release_mask == freed;
    if (!right) return i;
    for (int j = 0; j < n; ++j) {
      if (leader && (k.input_release_mask >> j & 1)) ++arrivals[j];
      if (k.a_multicast_mask >> j & 1) a_slices[j] += 1 << k.a_slice;
      if (k.b_multicast_mask >> j & 1) b_slices[j] += 1 << k.b_slice;
    }
  }
  // Each phase of input.empty completes by one commit from every leader that names the CTA; each slice comes once.
  for (int i = 0; i < n; ++i)
    if (arrivals[i] != c.input_empty_arrivals() || a_slices[i] != (1 << c.a_slices()) - 1 ||
        b_slices[i] != (1 << c.b_slices()) - 1)
      return i;
  return -1;
}

struct Checked {
  int clusters = 0, different = 0;
};
constexpr Checked check(int m) {
  Checked r;
  for (int n = 1; n <= 17; ++n)
    for (int group = 1; group <= 2; ++group) {
      const ClusterConfig c{m, n, group};
      const bool legal = m * n <= 16 && m % group == 0;
      if (c.is_legal() != legal) ++r.different;
      if (!legal) continue;
      ++r.clusters;
      if (first_difference(c) >= 0) ++r.different;
    }
  return r;
}
// One constant expression per width, because compilers limit how much a single one may compute.
template <int m>
constexpr Checked kChecked = check(m);
template <int... i>
constexpr Checked sum(std::integer_sequence<int, i...>) {
  return {(0 + ... + kChecked<i + 1>.clusters), (0 + ... + kChecked<i + 1>.different)};
}
static_assert(sum(std::make_integer_sequence<int, 17>{}).different == 0);
// There are 50 pairs (m, n) with m * n <= 16, and 20 with an even m.
static_assert(sum(std::make_integer_sequence<int, 17>{}).clusters == 50 + 20);
static_assert(!ClusterConfig{2, 1, 3}.is_legal() && !ClusterConfig{0, 1, 1}.is_legal());

TEST(KernelContext, EveryClusterUpTo16) {
  for (int m = 1; m <= 16; ++m)
    for (int n = 1; m * n <= 16; ++n)
      for (int group = 1; group <= 2; ++group)
        if (m % group == 0) {
          EXPECT_EQ(first_difference({m, n, group}), -1) << m << "x" << n << " cta_group " << group;
        }
}

// A constant mask is the mistake that these functions replace.
TEST(KernelContext, AConstantMaskIsWrongInAllButTheFirstPair) {
  for (uint32_t rank = 2; rank < 8; ++rank) {
    EXPECT_NE(kernel_context({8, 1, 2}, rank, 0, true).mma_complete_mask, 0b11);
  }
}

}  // namespace
}  // namespace warpwright

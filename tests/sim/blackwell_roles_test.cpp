// WarpRole1D1D against the arithmetic of its reference page, and KernelContext against counting CTAs one by one.
#include <string>
#include <utility>
#include <vector>

#include "sim/rules.h"
#include "warpwright/warp/kernel_context.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright {

using rules::verdict;

template <bool has_sfb, int warps>
void check_constants() {
  using R = warp::WarpRole1D1D<has_sfb, warps>;
  EXPECT_EQ(R::EPILOGUE_WARP_START, 0);
  EXPECT_EQ(R::NUM_EPILOGUE_THREADS, warps * 32);
  EXPECT_EQ(R::NUM_LOAD_THREADS, 32);
  EXPECT_EQ(R::NUM_MMA_THREADS, 32);
  EXPECT_EQ(R::NUM_SCHEDULER_THREADS, 32);
  EXPECT_EQ(R::NUM_SFB_TMA_LOAD_THREADS, 32);
  EXPECT_EQ(R::NUM_SFB_LOAD_THREADS, 128);
  EXPECT_EQ(R::LOAD_WARP_START, warps * 32);
  EXPECT_EQ(R::MMA_WARP_START, warps * 32 + 32);
  EXPECT_EQ(R::SFB_TMA_LOAD_WARP_START, warps * 32 + 64);
  EXPECT_EQ(R::SFB_LOAD_WARP_START, warps * 32 + 96);
  EXPECT_EQ(R::SCHEDULER_WARP_START, has_sfb ? warps * 32 + 224 : warps * 32 + 64);
  EXPECT_EQ(R::TOTAL_THREADS, warps * 32 + 64);
  EXPECT_EQ(R::TOTAL_THREADS_WITH_SFB, warps * 32 + 224);
  EXPECT_EQ(R::TOTAL_THREADS_WITH_SCHED, has_sfb ? warps * 32 + 256 : warps * 32 + 96);
}
template <int... warps>
void check_all(std::integer_sequence<int, warps...>) {
  (check_constants<false, warps + 1>(), ...);
  (check_constants<true, warps + 1>(), ...);
}
// 24 epilogue warps and the eight others of the extended layout fill a block of 1024 threads.
TEST(WarpRole1D1D, ConstantsOfThePageForEveryNumberOfEpilogueWarps) {
  check_all(std::make_integer_sequence<int, 24>{});
}
TEST(WarpRole1D1D, LayoutsWrittenOutOnThePage) {
  using Plain = warp::WarpRole1D1D<>;
  EXPECT_EQ(Plain::TOTAL_THREADS_WITH_SCHED, 224);
  EXPECT_EQ(Plain::SCHEDULER_WARP_START, 192);
  using Extended = warp::WarpRole1D1D<true>;
  EXPECT_EQ(Extended::TOTAL_THREADS_WITH_SCHED, 384);
  EXPECT_EQ(Extended::SFB_LOAD_WARP_START, 224);
  EXPECT_EQ(Extended::SCHEDULER_WARP_START, 352);
}

// Each thread asks every predicate: exactly one is true, the one for the role to which the block plan gives its warp.
template <bool has_sfb, int warps>
std::string ask_everyone() {
  using R = warp::WarpRole1D1D<has_sfb, warps>;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("roles", Arch::sm100);
    R::declare(p);
    return p;
  }();
  EXPECT_EQ(plan.threads(), R::TOTAL_THREADS_WITH_SCHED);
  return verdict(plan, [] {
    const int warp = int(machine::warp_index());
    int said = 0;
    const auto agree = [&](bool answer, const RoleSpec& role) {
      said += answer;
      if (answer != role.holds_warp(warp)) machine::trap("a predicate and the block plan differ");
    };
    agree(R::is_epilogue(), plan.role("epilogue"));
    agree(R::is_load(), plan.role("load"));
    agree(R::is_mma(), plan.role("mma"));
    agree(R::is_scheduler(), plan.role("scheduler"));
    if constexpr (has_sfb) {
      agree(R::is_sfb_tma_load(), plan.role("sfb_tma_load"));
      agree(R::is_sfb_load(), plan.role("sfb_load"));
    }
    if (said != 1) machine::trap("a thread has one role");
  });
}
TEST(WarpRole1D1D, PredicatesAgreeWithThePlan) {
  EXPECT_EQ((ask_everyone<false, 4>()), "");
  EXPECT_EQ((ask_everyone<true, 4>()), "");
  EXPECT_EQ((ask_everyone<false, 6>()), "");
  EXPECT_EQ((ask_everyone<true, 8>()), "");
}

TEST(WarpRole, PredicatesAgreeWithThePlan) {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("roles", Arch::sm100);
    warp::WarpRole::declare(p, true);
    return p;
  }();
  EXPECT_EQ(warp::WarpRole::TOTAL_THREADS, 224);
  EXPECT_EQ(plan.threads(), warp::WarpRole::TOTAL_THREADS_WITH_EPILOGUE_LOAD);
  EXPECT_EQ(verdict(plan,
                    [] {
                      using R = warp::WarpRole;
                      const int warp = int(machine::warp_index());
                      const bool right = R::is_epilogue() == (warp <= 3) && R::is_scheduler() == (warp == 4) &&
                                         R::is_load() == (warp == 5) && R::is_mma() == (warp == 6) &&
                                         R::is_epilogue_load() == (warp == 7) &&
                                         R::is_mma() == plan.role("mma").holds_warp(warp) &&
                                         R::is_load() == plan.role("load").holds_warp(warp) &&
                                         R::is_epilogue() == plan.role("epilogue").holds_warp(warp) &&
                                         R::is_scheduler() == plan.role("scheduler").holds_warp(warp) &&
                                         R::is_epilogue_load() == plan.role("epilogue_load").holds_warp(warp);
                      if (!right) machine::trap("a predicate is wrong");
                    }),
            "");
}

// Which CTA needs whose operands, CTA by CTA.
TEST(KernelContext, MasksOfEveryClusterUpTo4x4) {
  for (int m = 1; m <= 4; ++m)
    for (int n = 1; n <= 4; ++n)
      for (int group = 1; group <= 2; ++group) {
        const ClusterConfig c{m, n, group};
        if (!c.is_legal()) {
          EXPECT_TRUE(group == 2 && m % 2 == 1);
          continue;
        }
        std::vector<int> arrivals(size_t(m * n)), slices_a(size_t(m * n)), slices_b(size_t(m * n));
        for (int rank = 0; rank < m * n; ++rank) {
          const KernelContext k = kernel_context(c, uint32_t(rank), 0, true);
          const int rm = rank % m, rn = rank / m;
          ASSERT_EQ(int(k.rank_m), rm);
          ASSERT_EQ(int(k.rank_n), rn);
          ASSERT_EQ(k.elect_one_cta, group == 1 || rm % 2 == 0);
          ASSERT_EQ(k.is_first_cta_in_cluster, rank == 0);
          const int peer = group == 2 ? (rm % 2 ? rank - 1 : rank + 1) : rank;
          ASSERT_EQ(int(k.peer_rank), peer);
          uint32_t a = 0, b = 0, done = 0, freed = 0;
          for (int other = 0; other < m * n; ++other) {
            const int om = other % m, on = other / m;
            // A tile of A belongs to a row of CTAs of the result, one of B to a column; each of a pair has half of B.
            if (om == rm) a |= 1u << other;
            if (on == rn && om % group == rm % group) b |= 1u << other;
            if (other == rank || other == peer) done |= 1u << other;
            // The MMA of the pair reads what these CTAs loaded for one of its two CTAs.
            if (on == rn || om / group == rm / group) freed |= 1u << other;
            if (k.elect_one_cta && (k.input_release_mask >> other & 1)) ++arrivals[size_t(other)];
            slices_a[size_t(other)] |= (k.a_multicast_mask >> other & 1) << k.a_slice;
            slices_b[size_t(other)] |= (k.b_multicast_mask >> other & 1) << k.b_slice;
          }
          ASSERT_EQ(k.a_multicast_mask, a) << m << 'x' << n << " group " << group << " rank " << rank;
          ASSERT_EQ(k.b_multicast_mask, b) << m << 'x' << n << " group " << group << " rank " << rank;
          ASSERT_EQ(k.mma_complete_mask, done);
          ASSERT_EQ(k.input_release_mask, freed);
        }
        for (int rank = 0; rank < m * n; ++rank) {
          EXPECT_EQ(arrivals[size_t(rank)], c.input_empty_arrivals()) << m << 'x' << n << " group " << group;
          // Every CTA receives every slice of its operands, none twice.
          EXPECT_EQ(slices_a[size_t(rank)], (1 << c.a_slices()) - 1);
          EXPECT_EQ(slices_b[size_t(rank)], (1 << c.b_slices()) - 1);
        }
      }
}
TEST(KernelContext, Election) {
  const KernelContext k = kernel_context({2, 1, 2}, 1, 33, false);
  EXPECT_EQ(k.warp, 1u);
  EXPECT_FALSE(k.elect_one_warp);
  EXPECT_FALSE(k.elect_one_thread);
  EXPECT_FALSE(k.elect_one_cta);
  EXPECT_TRUE(kernel_context({2, 1, 2}, 0, 31, true).elect_one_warp);
  EXPECT_TRUE(kernel_context({2, 1, 2}, 0, 31, true).elect_one_thread);
}

}  // namespace warpwright

// WarpRole1D1D for every value of its parameters: the numbers on its reference page, every predicate in every thread of
// a block, and no predicate for warps that do not exist.
#include <string>
#include <utility>

#include "sim/rules.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright {
namespace {

using rules::verdict;

template <class R>
concept AsksForScales = requires {
  R::is_sfb_load();
  R::is_sfb_tma_load();
};

template <bool has_sfb, int warps>
std::string ask_everyone() {
  using R = warp::WarpRole1D1D<has_sfb, warps>;
  static_assert(AsksForScales<R> == has_sfb, "without SFB the scheduler has these threads: asking must not compile");
  constexpr int epilogue = 32 * warps, sfb = has_sfb ? 160 : 0;
  static_assert(R::EPILOGUE_WARP_START == 0 && R::NUM_EPILOGUE_THREADS == epilogue);
  static_assert(R::LOAD_WARP_START == epilogue && R::NUM_LOAD_THREADS == 32);
  static_assert(R::MMA_WARP_START == epilogue + 32 && R::NUM_MMA_THREADS == 32);
  static_assert(R::SFB_TMA_LOAD_WARP_START == epilogue + 64 && R::NUM_SFB_TMA_LOAD_THREADS == 32);
  static_assert(R::SFB_LOAD_WARP_START == epilogue + 96 && R::NUM_SFB_LOAD_THREADS == 128);
  static_assert(R::SCHEDULER_WARP_START == epilogue + 64 + sfb && R::NUM_SCHEDULER_THREADS == 32);
  static_assert(R::TOTAL_THREADS == epilogue + 64 && R::TOTAL_THREADS_WITH_SFB == epilogue + 224);
  static_assert(R::TOTAL_THREADS_WITH_SCHED == epilogue + 96 + sfb);
  static constexpr BlockPlan plan = [] {
    BlockPlan p("roles", Arch::sm100);
    R::declare(p);
    return p;
  }();
  EXPECT_EQ(plan.threads(), R::TOTAL_THREADS_WITH_SCHED);
  simulator::Options once;
  simulator::Launch launch;
  launch.plan = &plan;
  const simulator::Result r = simulator::run(launch, once, [] {
    const int t = int(machine::thread_index()), warp = int(machine::warp_index());
    bool right = R::is_epilogue() == (t < epilogue) && R::is_load() == (t / 32 == warps) &&
                 R::is_mma() == (t / 32 == warps + 1) && R::is_scheduler() == (t >= epilogue + 64 + sfb);
    if constexpr (has_sfb)
      right = right && R::is_sfb_tma_load() == (t / 32 == warps + 2) &&
              R::is_sfb_load() == (t / 32 >= warps + 3 && t / 32 < warps + 7) &&
              R::is_sfb_load() == plan.role("sfb_load").holds_warp(warp) &&
              R::is_sfb_tma_load() == plan.role("sfb_tma_load").holds_warp(warp);
    right = right && R::is_epilogue() == plan.role("epilogue").holds_warp(warp) &&
            R::is_load() == plan.role("load").holds_warp(warp) && R::is_mma() == plan.role("mma").holds_warp(warp) &&
            R::is_scheduler() == plan.role("scheduler").holds_warp(warp);
    if (!right) machine::trap("a predicate is wrong");
  });
  return r.ok() ? "" : r.findings.front().text();
}

template <bool has_sfb, int... i>
void ask_all(std::integer_sequence<int, i...>) {
  const std::string answers[] = {ask_everyone<has_sfb, i + 1>()...};
  for (size_t n = 0; n < sizeof...(i); ++n) EXPECT_EQ(answers[n], "") << n + 1 << " epilogue warps";
}
// As many epilogue warps as fit into a block of 1024 threads together with the other roles.
TEST(WarpRole1D1D, EveryNumberOfEpilogueWarpsWithoutScaleFactors) {
  ask_all<false>(std::make_integer_sequence<int, 29>{});
}
TEST(WarpRole1D1D, EveryNumberOfEpilogueWarpsWithScaleFactors) { ask_all<true>(std::make_integer_sequence<int, 24>{}); }

// What the roles mean to the checker: a warp that does another one's work is named.
TEST(WarpRole1D1D, AWarpThatArrivesInPlaceOfAnotherIsReported) {
  using R = warp::WarpRole1D1D<false, 6>;
  const auto kernel = [](bool right_warp) {
    static constexpr BlockPlan plan = [] {
      BlockPlan p("roles", Arch::sm100);
      R::declare(p);
      p.barrier("input.full", 1, 1, "mma", {"load", 1});
      return p;
    }();
    return verdict(plan, [=] {
      const Shared<Mbarrier> full{machine::shared_base() + plan.barrier("input.full").offset};
      if (rules::thread() == 0) {
        machine::mbarrier_init(full, 1);
        machine::fence_mbarrier_init();
      }
      machine::sync_block();
      if ((right_warp ? R::is_load() : R::is_scheduler()) && machine::elect_one()) machine::mbarrier_arrive(full);
      if (R::is_mma()) machine::mbarrier_wait(full, machine::Phase::consumer());
    });
  };
  EXPECT_EQ(kernel(true), "");
  EXPECT_EQ(kernel(false), "mbarrier.foreign_arrival");
}

}  // namespace
}  // namespace warpwright

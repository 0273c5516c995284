// Each synchronization of the epilogue's store and load roles and of their partners: break it, and the simulator says
// what is wrong.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sim/epilogue_problem.h"

namespace warpwright {

using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using testing_epilogue::Problem;
using Action = Fault::Action;
using Config = DenseGemmSm100Config;

struct Broken {
  const char* what;
  Fault fault;
  std::set<std::string> rules;  // any of these is a right diagnosis
};

Fault fault(const char* word, const char* object, const char* role, Action action, int64_t value = 0, int nth = 0) {
  return {word, object, role, action, value, nth, -1};
}

// In at least one mode the fault is reported, always by a right rule, and D is never wrong without a report.
template <Config C>
void expect_reported(const std::vector<Broken>& list) {
  const Problem<C> problem({C.tile_m * C.cluster_m, 3 * C.tile_n, 2 * C.tile_k()});
  for (const Broken& b : list) {
    SCOPED_TRACE(b.what);
    int reported = 0;
    for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
      for (Scheduling scheduling : {Scheduling::fifo, Scheduling::random}) {
        Options o;
        o.landing = landing;
        o.scheduling = scheduling;
        o.faults = {b.fault};
        simulator::Result r;
        const std::string wrong = problem.run(o, 1, &r);
        if (r.ok()) {
          EXPECT_EQ(wrong, "") << "a silent wrong result";
          continue;
        }
        ++reported;
        EXPECT_TRUE(b.rules.count(r.findings[0].rule)) << r.findings[0].text();
      }
    }
    EXPECT_GT(reported, 0) << "nobody saw it";
  }
}

std::vector<Broken> store_faults(int steps) {
  return {
      {"the epilogue does not wait for the store warp",
       fault("mbarrier_wait", "output.empty", "epilogue", Action::drop),
       {"race.completion"}},
      {"the epilogue waits for the wrong parity",
       fault("mbarrier_wait", "output.empty", "epilogue", Action::alter, -1),
       {"phase.missed"}},
      {"no thread of the epilogue arrives",
       fault("mbarrier_arrive", "output.full", "epilogue", Action::drop),
       {"deadlock"}},
      {"every thread of the epilogue arrives twice",
       fault("mbarrier_arrive", "output.full", "epilogue", Action::duplicate),
       {"mbarrier.missing_wait"}},
      {"results are not made visible to the TMA",
       fault("fence_proxy_async", "", "epilogue", Action::drop),
       {"race.proxy"}},
      {"the store warp does not wait for the epilogue",
       fault("mbarrier_wait", "output.full", "store", Action::drop),
       {"uninitialised.shared"}},
      {"the store warp waits for the wrong parity",
       fault("mbarrier_wait", "output.full", "store", Action::alter, -1),
       {"phase.alias"}},
      {"the store warp does not wait for its stores",
       fault("bulk_wait", "", "store", Action::drop),
       {"race.completion"}},
      {"the store warp allows one store too many",
       fault("bulk_wait", "", "store", Action::alter, 2),
       {"race.completion"}},
      {"the store warp leaves before its last store has read its stage",
       fault("bulk_wait", "", "store", Action::drop, 0, 3 * steps),
       {"exit.pending_store"}},
      {"a store is in no group",
       fault("bulk_commit", "", "store", Action::drop),
       {"race.completion", "race.in_flight"}},
      {"the store warp does not hand the stage back",
       fault("mbarrier_arrive", "output.empty", "store", Action::drop),
       {"deadlock"}},
      {"the store warp hands the stage back twice",
       fault("mbarrier_arrive", "output.empty", "store", Action::duplicate),
       {"mbarrier.missing_wait"}},
      {"output.full counts one thread less",
       fault("mbarrier_init", "output.full", "", Action::alter, 127),
       {"mbarrier.missing_wait", "uninitialised.shared"}},
      {"output.full is not initialised", fault("mbarrier_init", "output.full", "", Action::drop), {"mbarrier.invalid"}},
      {"output.empty is not initialised",
       fault("mbarrier_init", "output.empty", "", Action::drop),
       {"mbarrier.invalid"}},
  };
}

std::vector<Broken> load_faults() {
  return {
      {"the load warp does not wait for the epilogue",
       fault("mbarrier_wait", "source.empty", "epilogue_load", Action::drop),
       {"mbarrier.over_arrival", "mbarrier.missing_wait"}},
      {"the load warp waits for the wrong parity",
       fault("mbarrier_wait", "source.empty", "epilogue_load", Action::alter, -1),
       {"phase.missed"}},
      {"the bytes are not announced",
       fault("mbarrier_arrive_expect_tx", "source.full", "epilogue_load", Action::drop),
       {"deadlock.bytes"}},
      {"fewer bytes are announced",
       fault("mbarrier_arrive_expect_tx", "source.full", "epilogue_load", Action::alter, 128),
       {"mbarrier.tx_over"}},
      {"a box is not loaded", fault("tma_load", "source", "epilogue_load", Action::drop, 0, 2), {"deadlock.bytes"}},
      {"the epilogue does not wait for the load",
       fault("mbarrier_wait", "source.full", "epilogue", Action::drop),
       {"race.completion"}},
      {"the epilogue waits for the wrong parity",
       fault("mbarrier_wait", "source.full", "epilogue", Action::alter, -1),
       {"phase.missed"}},
      {"the warps do not hand the stage back",
       fault("mbarrier_arrive", "source.empty", "epilogue", Action::drop),
       {"deadlock"}},
      {"the warps hand the stage back twice",
       fault("mbarrier_arrive", "source.empty", "epilogue", Action::duplicate),
       {"mbarrier.missing_wait", "race"}},
      {"the next load overtakes the reads", fault("fence_proxy_async", "", "epilogue", Action::drop), {"race.proxy"}},
      {"a lane speaks for its warp without having met it", fault("sync_warp", "", "epilogue", Action::drop), {"race"}},
      {"source.empty counts one warp less",
       fault("mbarrier_init", "source.empty", "", Action::alter, 3),
       {"mbarrier.missing_wait", "race"}},
      {"source.full is not initialised", fault("mbarrier_init", "source.full", "", Action::drop), {"mbarrier.invalid"}},
      {"source.empty is not initialised",
       fault("mbarrier_init", "source.empty", "", Action::drop),
       {"mbarrier.invalid"}},
  };
}

constexpr EpilogueConfig kAdds{.source = true, .bias = Bias::per_column, .residual = true};
constexpr Config kStoring{.tile_n = 128, .stages = 2, .store_stages = 2};
constexpr Config kLoading{.tile_n = 128, .stages = 2, .epilogue = kAdds, .epilogue_load_stages = 2};
constexpr Config kStoringPair{
    .tile_m = 64, .tile_n = 256, .stages = 2, .cta_group = 2, .cluster_m = 2, .epilogue_warps = 8, .store_stages = 2};
constexpr Config kLoadingPair{.tile_m = 64,
                              .tile_n = 128,
                              .stages = 2,
                              .cta_group = 2,
                              .cluster_m = 2,
                              .epilogue = kAdds,
                              .epilogue_warps = 8,
                              .epilogue_load_stages = 1};

TEST(GemmEpilogueFaultsSm100, WaitForTheKernelAhead) {
  constexpr Config C{
      .tile_n = 64, .stages = 2, .dependent = true, .epilogue = kAdds, .store_stages = 2, .epilogue_load_stages = 2};
  expect_reported<C>({
      {"the load warp does not wait for the kernel ahead",
       fault("grid_dependency_wait", "", "epilogue_load", Action::drop),
       {"dependent_launch.stale"}},
      // The store warp need not wait: it follows the epilogue, which follows those that have waited.
  });
  constexpr Config direct{.tile_n = 64, .stages = 2, .dependent = true, .epilogue = kAdds};
  expect_reported<direct>({{"the epilogue does not wait for the kernel ahead",
                            fault("grid_dependency_wait", "", "epilogue", Action::drop),
                            {"dependent_launch.stale"}}});
}

TEST(GemmEpilogueFaultsSm100, StoreRole) { expect_reported<kStoring>(store_faults(2)); }
TEST(GemmEpilogueFaultsSm100, StoreRoleOfAPairWithTwoWarpgroups) { expect_reported<kStoringPair>(store_faults(1)); }
TEST(GemmEpilogueFaultsSm100, LoadRole) { expect_reported<kLoading>(load_faults()); }
TEST(GemmEpilogueFaultsSm100, LoadRoleOfAPairWithTwoWarpgroups) { expect_reported<kLoadingPair>(load_faults()); }

}  // namespace warpwright

// The dynamic scheduler in the simulator: every tile is done exactly once by every role of one cluster, in every
// landing and schedule, and each part of the protocol is needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/generated.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/sim/simulator.h"
#include "warpwright/tile/clc.h"

namespace warpwright {
namespace {

using simulator::Buffer;
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using tile::ClcConfig;
using tile::Walker;

constexpr int kRows = 3, kColumns = 4, kTiles = kRows * kColumns;
using Order = tile::Hilbert;

struct Marks {
  int32_t* loads = nullptr;      // [tile][cta of the cluster]: visits by the load thread
  int32_t* uses = nullptr;       // the same: visits by the consumer warps
  int32_t* executors = nullptr;  // [tile]: 1 + the cluster that did it, once per CTA
};

// Kept by the host outside the simulated machine, so that looking does not synchronise anything.
struct LookAhead {
  int begun[kTiles] = {};  // per cluster: tiles the load thread has begun
  int worst = 0;
} look_ahead;

constexpr BlockPlan plan_of(const ClcConfig& c) {
  BlockPlan plan("clc_walk", Arch::sm100, c.cluster);
  plan.role("load", 1).role("consumer", 2);
  if (c.scheduled()) plan.role("scheduler", 1);
  tile::add_clc(plan, c, "scheduler", "load", "consumer");
  if (!c.scheduled()) plan.region("unused", 16, 1, 16);
  return plan;
}

template <ClcConfig C>
struct Walk {
  using Args = Marks;
  static constexpr BlockPlan plan = plan_of(C);

  static int64_t slot(tile::TileCoord t) {
    return (int64_t(t.m) * kColumns + t.n) * C.cluster + machine::cluster_rank();
  }
  static void body(const Args& args) {
    check_block_plan<Walk>();
    const uint32_t base = machine::shared_base();
    const uint32_t warp = machine::warp_index();
    const auto clc = tile::clc_at<Walk, C>(base);
    const Order order{kRows, kColumns};
    pipeline::run_block<Walk>(base, [&] {
      if (warp == 0) {
        if (machine::elect_one()) {
          tile::ClcTiles<C, Order, Walker::thread, true> walk(order, clc);
          for (tile::TileCoord t; walk.next(t);) {
            ++look_ahead.begun[machine::cluster_index()];
            machine::reduce_add(Global<int32_t>{args.loads} + slot(t), 1);
            machine::reduce_add(Global<int32_t>{args.executors} + (t.m * kColumns + t.n),
                                1 + int32_t(machine::cluster_index()));
          }
        }
      } else if (warp <= 2) {
        tile::ClcTiles<C, Order, Walker::warp> walk(order, clc);
        int taken = 0;
        for (tile::TileCoord t; walk.next(t); ++taken) {
          look_ahead.worst = std::max(look_ahead.worst, taken - look_ahead.begun[machine::cluster_index()]);
          if (machine::lane_index() == 0) machine::reduce_add(Global<int32_t>{args.uses} + slot(t), 1);
        }
      } else if (machine::elect_one()) {
        tile::run_clc_scheduler<C>(clc);
      }
    });
  }
};

struct Outcome {
  simulator::Result result;
  std::vector<int32_t> loads, uses, executors;
};

template <ClcConfig C>
Outcome simulate(Options o) {
  Outcome out;
  out.loads.assign(size_t(kTiles) * C.cluster, 0);
  out.uses.assign(size_t(kTiles) * C.cluster, 0);
  out.executors.assign(size_t(kTiles), 0);
  const auto buffer = [](std::vector<int32_t>& v, const char* name) {
    return Buffer{v.data(), v.size() * sizeof(int32_t), name, Buffer::Use::inout};
  };
  if (o.resident_clusters == 0) o.resident_clusters = 2;
  out.result = simulator::run_kernel<Walk<C>>(
      {out.loads.data(), out.uses.data(), out.executors.data()}, {uint32_t(kTiles * C.cluster), 1, 1},
      {buffer(out.loads, "loads"), buffer(out.uses, "uses"), buffer(out.executors, "executors")}, o);
  return out;
}

template <ClcConfig C>
void expect_every_tile_once(const Options& o, const char* mode) {
  const Outcome out = simulate<C>(o);
  ASSERT_TRUE(out.result.ok()) << mode << " stages " << C.stages << " cluster " << C.cluster << "\n"
                               << out.result.findings[0].text();
  for (int n : out.loads) ASSERT_EQ(n, 1) << mode;
  for (int n : out.uses) ASSERT_EQ(n, 2) << mode;  // two warps
}

template <ClcConfig C>
void expect_clean_in_every_mode() {
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded, Landing::timed}) {
    Options o;
    o.landing = landing;
    expect_every_tile_once<C>(o, "fifo");
    if (landing == Landing::timed) continue;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      o.seed = seed;
      o.scheduling = Scheduling::random;
      expect_every_tile_once<C>(o, "random");
      o.scheduling = Scheduling::pct;
      expect_every_tile_once<C>(o, "pct");
    }
    for (const char* role : {"load", "consumer", "scheduler"}) {
      o.scheduling = Scheduling::freeze;
      o.frozen_role = role;
      expect_every_tile_once<C>(o, role);
    }
  }
}

TEST(ClcTiles, AreVisitedOnceWithOneStage) { expect_clean_in_every_mode<ClcConfig{1, true, 1}>(); }
TEST(ClcTiles, AreVisitedOnceWithTwoStages) { expect_clean_in_every_mode<ClcConfig{2, true, 1}>(); }
TEST(ClcTiles, AreVisitedOnceWithThreeStages) { expect_clean_in_every_mode<ClcConfig{3, true, 1}>(); }
TEST(ClcTiles, AreVisitedOnceByPairsWithOneStage) { expect_clean_in_every_mode<ClcConfig{1, true, 2}>(); }
TEST(ClcTiles, AreVisitedOnceByPairsWithTwoStages) { expect_clean_in_every_mode<ClcConfig{2, true, 2}>(); }
TEST(ClcTiles, AreVisitedOnceByPairsWithThreeStages) { expect_clean_in_every_mode<ClcConfig{3, true, 2}>(); }
TEST(ClcTiles, AreVisitedOnceByClustersOfFour) { expect_clean_in_every_mode<ClcConfig{2, true, 4}>(); }
TEST(ClcTiles, OfClustersWithoutAScheduler) { expect_clean_in_every_mode<ClcConfig{0, false, 1}>(); }
TEST(ClcTiles, OfPairsWithoutAScheduler) { expect_clean_in_every_mode<ClcConfig{0, true, 2}>(); }

// The throttle decides which cluster does a tile, not whether it is done.
TEST(ClcTiles, AreVisitedOnceWithoutTheThrottle) {
  expect_clean_in_every_mode<ClcConfig{1, false, 1}>();
  expect_clean_in_every_mode<ClcConfig{3, false, 1}>();
  expect_clean_in_every_mode<ClcConfig{2, false, 2}>();
}

TEST(ClcTiles, OfCancelledLaunchesAreDoneByTheClustersThatRan) {
  const Outcome out = simulate<ClcConfig{2, true, 2}>({});
  ASSERT_TRUE(out.result.ok());
  std::vector<int32_t> clusters;
  for (int32_t sum : out.executors) {
    ASSERT_EQ(sum % 2, 0);
    clusters.push_back(sum / 2);
  }
  std::sort(clusters.begin(), clusters.end());
  clusters.erase(std::unique(clusters.begin(), clusters.end()), clusters.end());
  EXPECT_EQ(clusters, (std::vector<int32_t>{1, 2})) << "two clusters are resident and never leave while work is left";
}

TEST(ClcTiles, AreAllDoneByASingleResidentCluster) {
  Options o;
  o.resident_clusters = 1;
  const Outcome out = simulate<ClcConfig{2, true, 1}>(o);
  ASSERT_TRUE(out.result.ok()) << out.result.findings[0].text();
  for (int32_t cluster : out.executors) EXPECT_EQ(cluster, 1);
}

TEST(ClcTiles, AreDoneWhenNothingIsLeftToCancel) {
  Options o;
  o.resident_clusters = kTiles;
  expect_every_tile_once<ClcConfig{2, true, 2}>(o, "all resident");
}

// How many tiles, at worst, a cluster has taken that its load role has not begun, beyond the one its consumers are at;
// the load role runs only if nothing else can.
template <ClcConfig C>
int worst_look_ahead() {
  Options o;
  o.landing = Landing::eager;
  o.scheduling = Scheduling::freeze;
  o.frozen_role = "load";
  look_ahead = {};
  EXPECT_TRUE(simulate<C>(o).result.ok());
  return look_ahead.worst;
}

TEST(ClcThrottle, KeepsTheSchedulerOneTileAheadOfTheLoadRole) {
  constexpr ClcConfig throttled{3, true, 1}, unthrottled{3, false, 1};
  EXPECT_LE(worst_look_ahead<throttled>(), 1);
  EXPECT_EQ(worst_look_ahead<unthrottled>(), 3) << "as far as the ring reaches";
}

std::string rule_of(const Fault& fault) {
  using simulator::Result;
  for (Landing landing : {Landing::eager, Landing::late, Landing::timed}) {
    Options o;
    o.landing = landing;
    o.faults = {fault};
    const Result r = simulate<ClcConfig{2, true, 2}>(o).result;
    if (!r.ok()) return r.findings[0].rule;
  }
  return "";
}

TEST(ClcProtocol, ReportsADroppedArrivalOnEveryBarrier) {
  EXPECT_EQ(rule_of({"mbarrier_arrive", "clc.empty", "load"}), "deadlock");
  EXPECT_EQ(rule_of({"mbarrier_arrive", "clc.empty", "consumer"}), "deadlock");
  EXPECT_EQ(rule_of({"mbarrier_arrive", "clc.throttle.full", "load"}), "deadlock");
  EXPECT_EQ(rule_of({"mbarrier_arrive", "clc.throttle.empty", "scheduler"}), "deadlock");
}

TEST(ClcProtocol, ReportsADuplicatedArrivalOnEveryBarrier) {
  const auto twice = [](const char* object, const char* role) {
    return rule_of({"mbarrier_arrive", object, role, Fault::Action::duplicate, 0, 1});
  };
  EXPECT_EQ(twice("clc.empty", "load"), "mbarrier.role_arrivals");
  EXPECT_EQ(twice("clc.empty", "consumer"), "race");
  EXPECT_EQ(twice("clc.throttle.full", "load"), "mbarrier.missing_wait");
  EXPECT_EQ(twice("clc.throttle.empty", "scheduler"), "mbarrier.missing_wait");
}

TEST(ClcProtocol, ReportsAMissingProxyFenceOfEachReader) {
  EXPECT_EQ(rule_of({"fence_proxy_async", "", "load"}), "race.proxy");
  EXPECT_EQ(rule_of({"fence_proxy_async", "", "consumer"}), "race.proxy");
  EXPECT_EQ(rule_of({"fence_proxy_async", "", "scheduler"}), "race.proxy");
  EXPECT_EQ(rule_of({"fence_proxy_async", "", "consumer", Fault::Action::drop, 0, 0, 1}), "race.proxy")
      << "of the other CTA";
}

TEST(ClcProtocol, ReportsAMissingOrWrongExpectation) {
  EXPECT_EQ(rule_of({"mbarrier_arrive_expect_tx", "clc.full", "scheduler"}), "deadlock.bytes");
  EXPECT_EQ(rule_of({"mbarrier_arrive_expect_tx", "clc.full", "scheduler", Fault::Action::alter, 8}),
            "mbarrier.tx_over");
  EXPECT_EQ(rule_of({"mbarrier_arrive_expect_tx", "clc.full", "scheduler", Fault::Action::alter, 32}),
            "deadlock.bytes");
}

TEST(ClcProtocol, ReportsAQueryThatIsNotSentOrNotHeardByAll) {
  EXPECT_EQ(rule_of({"clc_try_cancel", "clc.response", "scheduler"}), "deadlock.bytes");
  EXPECT_EQ(rule_of({"clc_try_cancel", "clc.response", "scheduler", Fault::Action::drop, 0, 2}), "deadlock.bytes")
      << "the second query";
  EXPECT_EQ(rule_of({"clc_try_cancel", "clc.response", "scheduler", Fault::Action::alter, 0b01}), "deadlock.bytes")
      << "the answer does not reach CTA 1";
  EXPECT_EQ(rule_of({"clc_try_cancel", "clc.response", "scheduler", Fault::Action::alter, 0b10}), "deadlock.bytes")
      << "nor CTA 0";
}

// Everything that the walkers and the scheduler do, from the list that a clean run leaves.
TEST(ClcProtocol, ReportsEveryGeneratedMutant) {
  constexpr ClcConfig C{2, true, 2};
  Options list;
  list.list_fault_sites = true;
  const simulator::Result clean = simulate<C>(list).result;
  ASSERT_TRUE(clean.ok());
  const std::vector<Fault> mutants = generated::mutants_of(Walk<C>::plan, clean.fault_sites);
  EXPECT_GE(mutants.size(), 25u);
  int queries = 0;
  for (const Fault& f : mutants) {
    queries += f.word == "clc_try_cancel";
    std::string rule = rule_of(f);
    Options o;
    o.faults = {f};
    o.scheduling = Scheduling::random;
    o.landing = Landing::seeded;
    for (o.seed = 1; rule.empty() && o.seed <= 8; ++o.seed) {
      const simulator::Result r = simulate<C>(o).result;
      if (!r.ok()) rule = r.findings[0].rule;
    }
    EXPECT_NE(rule, "") << generated::describe(f) << " is not reported";
  }
  EXPECT_EQ(queries, 2) << "dropped, and not heard by all";
}

TEST(ClcProtocol, ReportsAMissingWait) {
  EXPECT_EQ(rule_of({"mbarrier_wait", "clc.full", "load"}), "uninitialised.shared");
  EXPECT_EQ(rule_of({"mbarrier_wait", "clc.full", "consumer"}), "uninitialised.shared");
  EXPECT_EQ(rule_of({"mbarrier_wait", "clc.full", "scheduler"}), "race.in_flight");
  EXPECT_EQ(rule_of({"mbarrier_wait", "clc.empty", "scheduler"}), "race");
  EXPECT_EQ(rule_of({"mbarrier_wait", "clc.throttle.full", "scheduler"}), "mbarrier.missing_wait");
  EXPECT_EQ(rule_of({"mbarrier_wait", "clc.throttle.empty", "load"}), "mbarrier.missing_wait");
}

}  // namespace
}  // namespace warpwright

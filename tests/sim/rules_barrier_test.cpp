// The rules of PTX 9.7.13.1-3 and 9.7.12.7 (barriers of warp, block and cluster), and the rules about registers,
// cluster launch control and dependent launches.
//
// Not reachable through the words (unreachable_rules_test.py looks for barrier.red):
//   R44 barrier.red              no such word
//   R50 membermask of elect      elect_one takes the whole warp; masks of sync_warp and shuffles are checked
// Kept by the types:
//   R40 barrier id 0             is sync_block; named barriers take 1..15 from the block plan
//   R74 range of setmaxnreg      24..256 in steps of 8: a static_assert
//   R75 completion by mbarrier   the word takes the barrier
#include <functional>
#include <string>
#include <vector>

#include "rules.h"

namespace warpwright::rules {

TEST(BarrierRules, R40_IdsAndCountsOutsideTheirRangeAreReported) {
  EXPECT_EQ(verdict(block(2), [] { m::named_barrier_sync(16, 64); }), "named.id");
  EXPECT_EQ(verdict(block(2), [] { m::named_barrier_sync(1, 48); }), "named.count");
  EXPECT_EQ(verdict(block(2), [] { m::named_barrier_sync(1, 96); }), "named.count");
  EXPECT_EQ(verdict(block(2), [] { m::named_barrier_sync(15, 64); }), "");
}

TEST(BarrierRules, R41_WarpsOfOneGenerationNameTheSameCount) {
  EXPECT_EQ(verdict(block(3), [] { m::named_barrier_sync(1, warp() == 2 ? 64 : 96); }), "named.count");
}

TEST(BarrierRules, R42_OneLaneDoesNotArriveForItsWarp) {
  EXPECT_EQ(verdict(block(2),
                    [] {
                      if (warp() == 1 || m::lane_index() == 0) m::named_barrier_sync(1, 64);
                      m::sync_warp();
                    }),
            "warp.diverged");
  EXPECT_EQ(verdict(block(2),
                    [] {
                      m::named_barrier_sync(1, 64);
                      m::sync_warp();
                    }),
            "");
}

TEST(BarrierRules, R43_AWarpThatLapsTheOthersIsReported) {
  const auto kernel = [](int times) {
    return [=] {
      if (warp() == 0) {
        for (int i = 0; i < times; ++i) m::named_barrier_arrive(1, 64);
      } else {
        m::sync_warp();
        m::named_barrier_sync(1, 64);
      }
    };
  };
  EXPECT_EQ(verdict(block(2), kernel(2)), "named.lap");
  EXPECT_EQ(verdict(block(2), kernel(1)), "");
}

TEST(BarrierRules, R45_AnAlignedBarrierIsOneInstruction) {
  const auto from_two_branches = [] {
    if (warp() == 0) {
      m::named_barrier_sync_aligned(1, 64);
    } else {
      m::named_barrier_sync_aligned(1, 64);
    }
  };
  EXPECT_EQ(verdict(block(2), from_two_branches), "named.aligned");
  EXPECT_EQ(verdict(block(2), [] { m::named_barrier_sync_aligned(1, 64); }), "");
  const auto block_barrier_in_two_branches = [] {
    if (warp() == 0) {
      m::sync_block();
    } else {
      m::sync_block();
    }
  };
  EXPECT_EQ(verdict(block(2), block_barrier_in_two_branches), "named.aligned");
  EXPECT_EQ(verdict(block(2), [] { m::sync_block(); }), "");
}

TEST(BarrierRules, R46_ArrivingDoesNotAcquire) {
  const auto kernel = [](bool sync) {
    return [=] {
      if (warp() == 0) {
        if (thread() == 0) m::store(word(), 1u);
        m::named_barrier_sync(1, 64);
      } else {
        sync ? m::named_barrier_sync(1, 64) : m::named_barrier_arrive(1, 64);
        if (thread() == 32) m::load(word());
      }
    };
  };
  EXPECT_EQ(verdict(block(2), kernel(false)), "race");
  EXPECT_EQ(verdict(block(2), kernel(true)), "");
}

TEST(BarrierRules, R47_BarriersOrderNoAsynchronousOperation) {
  Device d;
  const auto kernel = [&](bool observe) {
    return [&d, observe] {
      init(1, 1);
      if (thread() == 0) {
        m::mbarrier_arrive_expect_tx(bar(), 256);
        m::bulk_load(data(), d.as<const uint8_t>(), 256, bar());
        if (observe) wait();
      }
      m::sync_block();
      if (thread() == 32) m::load(word());
      wait();
    };
  };
  const std::vector<Buffer> in{d.buffer(Buffer::Use::input)};
  const std::string unseen = verdict(block(2), kernel(false), in);
  EXPECT_TRUE(unseen == "race.in_flight" || unseen == "race.completion") << unseen;
  EXPECT_EQ(verdict(block(2), kernel(true), in), "");
}

TEST(BarrierRules, R48_ExitedWarpsAreMissedByAnExplicitCountOnly) {
  EXPECT_EQ(verdict(block(2),
                    [] {
                      if (warp() == 0) m::sync_block();
                    }),
            "");
  EXPECT_EQ(verdict(block(2),
                    [] {
                      if (warp() == 0) m::named_barrier_sync(1, 64);
                    }),
            "deadlock.named");
}

// Threads that have exited are not waited for, whichever lanes they were and whenever they left.
TEST(BarrierRules, R48_ExitedLanesAreMissedByNobody) {
  for (const uint32_t left : {1u, 20u, 40u, 63u}) {
    EXPECT_EQ(verdict(block(2),
                      [left] {
                        if (thread() >= left) return;
                        m::store(word() + int(thread()), 1u);
                        m::sync_block();
                        m::load(word() + int(left - 1 - thread()));
                      }),
              "")
        << left;
  }
  // Of every warp the even lanes.
  EXPECT_EQ(verdict(block(2),
                    [] {
                      if (thread() % 2 == 1) return;
                      m::store(word() + int(thread()), 1u);
                      m::sync_block();
                      m::load(word() + int(62 - thread()));
                      m::ballot(true);
                    }),
            "");
}

TEST(BarrierRules, R49_TheClusterBarrierIsArrivedAtOnceAndBeforeTheWait) {
  const BlockPlan pair = block(1, Arch::sm90, 2);
  EXPECT_EQ(verdict(pair,
                    [] {
                      m::cluster_arrive();
                      if (rank() == 0) m::cluster_arrive();
                      m::cluster_wait();
                    }),
            "cluster.lap");
  // In this order all have come before the second arrival; in another one that falls into the first phase.
  const auto twice = [](bool waits) {
    return [waits] {
      m::cluster_arrive();
      if (waits || rank() == 0) m::cluster_wait();
      m::cluster_sync();
    };
  };
  EXPECT_EQ(verdict(pair, twice(false)), "cluster.lap");
  EXPECT_EQ(verdict(pair, twice(true)), "");
  EXPECT_EQ(verdict(pair, [] { m::cluster_wait(); }), "cluster.wait");
  EXPECT_EQ(verdict(pair, [] { m::cluster_sync(); }), "");
}

// CTA 1 writes for CTA 0 and both meet in the cluster barrier.
std::string through_cluster_barrier(const std::function<void()>& write_and_arrive) {
  return verdict(block(1, Arch::sm90, 2), [&] {
    m::cluster_sync();
    if (rank() == 1) {
      write_and_arrive();
    } else {
      m::cluster_arrive();
    }
    m::cluster_wait();
    if (rank() == 0 && thread() == 0) m::load(word());
    m::cluster_sync();
  });
}
void write_to_leader() {
  if (thread() == 0) m::store(m::map_to_rank(word(), 0), 1u);
}

TEST(BarrierRules, R49_OnlyAReleasingArrivalPublishesAndOnlyWhatCameBefore) {
  EXPECT_EQ(through_cluster_barrier([] {
              write_to_leader();
              m::cluster_arrive();
            }),
            "");
  EXPECT_EQ(through_cluster_barrier([] {
              write_to_leader();
              m::cluster_arrive_relaxed();
            }),
            "race");
  EXPECT_EQ(through_cluster_barrier([] {
              write_to_leader();
              m::cluster_arrive();
              write_to_leader();
            }),
            "race");
}

TEST(BarrierRules, R50_ALaneIsInTheMaskThatItNames) {
  EXPECT_EQ(verdict(block(1), [] { m::sync_warp(0xffff'fffeu); }), "warp.mask");
  EXPECT_EQ(verdict(block(1),
                    [] {
                      if (m::lane_index() == 5) return;
                      m::shuffle(1u, 5);
                    }),
            "warp.mask");
  EXPECT_EQ(verdict(block(1),
                    [] {
                      if (m::elect_one() != (m::lane_index() == 0)) m::trap("the elected lane moved");
                    }),
            "");
}

TEST(BarrierRules, R51_AWarpBarrierOrdersItsMaskOnly) {
  const auto kernel = [](uint32_t mask) {
    return [=] {
      if (m::lane_index() == 0) m::store(word(), 1u);
      if (mask >> m::lane_index() & 1) m::sync_warp(mask);
      if (m::lane_index() == 2) m::load(word());
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(0b011)), "race");
  EXPECT_EQ(verdict(block(1), kernel(0b111)), "");
}

TEST(BarrierRules, R51_GroupsOfLanesMeetIndependently) {
  EXPECT_EQ(verdict(block(1),
                    [] {
                      const bool low = m::lane_index() < 16;
                      if (m::lane_index() % 16 == 0) m::store(word(low), 1u);
                      low ? m::sync_warp(0x0000'ffffu) : m::sync_warp(0xffff'0000u);
                      m::load(word(low));
                      m::sync_warp();
                    }),
            "");
}

// Three warpgroups of 168 registers; the pool holds what they give back.
TEST(RegisterRules, R74_DirectionAgreementAndPool) {
  EXPECT_EQ(verdict(block(12), [] { m::registers_decrease<240>(); }), "registers.direction");
  EXPECT_EQ(verdict(block(12), [] { m::registers_increase<24>(); }), "registers.direction");
  EXPECT_EQ(verdict(block(12),
                    [] {
                      if (warp() < 4) m::named_barrier_sync(1, 128);
                      warp() == 0 ? m::registers_decrease<40>() : m::registers_decrease<24>();
                    }),
            "registers.mismatch");
  const auto rebalance = [](bool all) {
    return [=] {
      if (warp() < 4) {
        m::registers_decrease<40>();
      } else if (warp() < 8 || all) {
        m::registers_increase<240>();
      }
    };
  };
  EXPECT_EQ(verdict(block(12), rebalance(true)), "deadlock.registers");
  EXPECT_EQ(verdict(block(12), rebalance(false)), "");
  // 2 * 224 + 64 is the whole register file, but more than the launch gave.
  EXPECT_EQ(verdict(block(12), [] { warp() < 8 ? m::registers_increase<224>() : m::registers_decrease<64>(); }),
            "deadlock.registers");
}

TEST(RegisterRules, R74_AllFourWarpsOfTheWarpgroupTakePart) {
  const auto kernel = [](uint32_t missing_warp) {
    return [=] {
      if (warp() == missing_warp) return;
      warp() < 4 ? m::registers_increase<232>() : m::registers_decrease<40>();
    };
  };
  EXPECT_EQ(verdict(block(12), kernel(3)), "deadlock.registers");
  EXPECT_EQ(verdict(block(12), kernel(12)), "");
}

// Asks for work `asks` times; the grid has one cluster more than is resident.
TEST(LaunchRules, R75_ClusterLaunchControlIsNotUsedAfterItsFailure) {
  const auto kernel = [](int asks, bool look_at_failure) {
    return [=] {
      init(1, 1);
      if (thread() != 0) return;
      m::Phase phase = m::Phase::consumer();
      for (int i = 0; i < asks; ++i, phase.advance()) {
        m::mbarrier_arrive_expect_tx(bar(), 16);
        m::clc_try_cancel(data().as<m::ClcResponse>(), bar());
        m::mbarrier_wait(bar(), phase);
        const m::ClcResponse r = m::load(data().as<m::ClcResponse>());
        m::fence_proxy_async();
        if (m::clc_is_canceled(r) || look_at_failure) m::clc_first_ctaid(r);
      }
    };
  };
  EXPECT_EQ(verdict(block(1, Arch::sm100), kernel(1, false)), "");
  EXPECT_EQ(verdict(block(1, Arch::sm100), kernel(2, false)), "clc.after_failure");
  EXPECT_EQ(verdict(block(1, Arch::sm100), kernel(1, true)), "clc.no_work");
  EXPECT_EQ(verdict(block(1, Arch::sm100),
                    [] {
                      init(1, 1);
                      if (thread() == 0) m::clc_try_cancel(data(8).as<m::ClcResponse>(), bar());
                    }),
            "clc.alignment");
}

TEST(LaunchRules, R76_EveryThreadThatReadsThePrimarysMemoryWaitsForIt) {
  Device d;
  Options dependent;
  dependent.primary_pending = true;
  const auto kernel = [&](uint32_t waiting_warps) {
    return [&d, waiting_warps] {
      if (warp() < waiting_warps) m::grid_dependency_wait();
      m::sync_block();
      m::load(d.as());
    };
  };
  const std::vector<Buffer> in{d.buffer(Buffer::Use::input, true)};
  EXPECT_EQ(verdict(block(2), kernel(1), in, dependent), "dependent_launch.stale");
  EXPECT_EQ(verdict(block(2), kernel(2), in, dependent), "");
}

}  // namespace warpwright::rules

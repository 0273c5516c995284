// The rules of PTX 9.7.13.15, mbarrier.
//
// Not reachable through the words (unreachable_rules_test.py looks for them):
//   R12 state tokens        the words take a Phase, no token
//   R15 arrive.noComplete   no such word
//   R16 arrive_drop         no such word
// Kept by the types: R18, the remote forms exist for arrive only (ClusterShared<Mbarrier>); a forged address is
// reported.
#include <functional>
#include <string>
#include <vector>

#include "rules.h"

namespace warpwright::rules {

TEST(MbarrierRules, R01_InitOfALiveBarrierIsReported) {
  const auto kernel = [](bool invalidate) {
    return [=] {
      if (thread() != 0) return;
      m::mbarrier_init(bar(), 1);
      if (invalidate) m::mbarrier_invalidate(bar());
      m::mbarrier_init(bar(), 1);
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(false)), "mbarrier.init_twice");
  EXPECT_EQ(verdict(block(1), kernel(true)), "");
}

TEST(MbarrierRules, R02_UseOfAnInvalidBarrierIsReported) {
  EXPECT_EQ(verdict(block(1), [] { m::mbarrier_arrive(bar()); }), "mbarrier.invalid");
  EXPECT_EQ(verdict(block(1),
                    [] {
                      init(1, 1);
                      if (thread() != 0) return;
                      m::mbarrier_invalidate(bar());
                      m::mbarrier_arrive(bar());
                    }),
            "mbarrier.invalid");
}

TEST(MbarrierRules, R03_OtherAccessToALiveBarrierIsReported) {
  const auto kernel = [](bool invalidate) {
    return [=] {
      if (thread() != 0) return;
      m::mbarrier_init(bar(), 1);
      if (invalidate) m::mbarrier_invalidate(bar());
      m::store(bar().as<uint32_t>() + 1, 0u);
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(false)), "mbarrier.overwritten");
  EXPECT_EQ(verdict(block(1), kernel(true)), "");
}

TEST(MbarrierRules, R04_MisalignedOrForeignBarrierIsReported) {
  EXPECT_EQ(verdict(block(1), [] { m::mbarrier_init(bar().plus_bytes(4), 1); }), "mbarrier.alignment");
  EXPECT_EQ(verdict(block(1, Arch::sm90, 2), [] { m::mbarrier_init({m::map_to_rank(bar(), rank() ^ 1).address}, 1); }),
            "mbarrier.remote");
}

TEST(MbarrierRules, R05_CountsOutsideTheirRangeAreReported) {
  EXPECT_EQ(verdict(block(1), [] { m::mbarrier_init(bar(), 0); }), "mbarrier.count");
  EXPECT_EQ(verdict(block(1), [] { m::mbarrier_init(bar(), 1u << 20); }), "mbarrier.count");
  const auto expecting = [](uint32_t bytes) {
    return [=] {
      init(1, 2);
      if (thread() == 0) m::mbarrier_expect_tx(bar(), bytes);
    };
  };
  EXPECT_EQ(verdict(block(1), expecting(1u << 20)), "mbarrier.tx_range");
  EXPECT_EQ(verdict(block(1), expecting((1u << 20) - 1)), "");
}

// Announces `announced` bytes, copies `copied`, all threads wait.
std::string copy(uint32_t announced, uint32_t copied, bool announce_first = true) {
  Device d;
  BlockPlan plan("rule", Arch::sm90);
  plan.role("load", 1).barrier("full", 1, 1, "load", {"load", 1}).region("data", 8192, 1, 1024);
  return verdict(plan,
                 [&] {
                   init(1, 1);
                   if (thread() == 0) {
                     if (announce_first) m::mbarrier_arrive_expect_tx(bar(), announced);
                     m::bulk_load(data(), d.as<const uint8_t>(), copied, bar());
                     if (!announce_first) m::mbarrier_arrive_expect_tx(bar(), announced);
                   }
                   wait();
                 },
                 {d.buffer(Buffer::Use::input)});
}

TEST(MbarrierRules, R06_APhaseWaitsForArrivalsAndBytes) {
  EXPECT_EQ(copy(512, 256), "deadlock.bytes");
  EXPECT_EQ(copy(256, 256), "");
}

TEST(MbarrierRules, R07_BytesMayComeBeforeTheirAnnouncementButMustBalance) {
  EXPECT_EQ(copy(256, 256, false), "");
  EXPECT_EQ(copy(256, 512), "mbarrier.tx_over");
}

TEST(MbarrierRules, R08_AnArrivalBeforeItsExpectFlipsThePhaseEarly) {
  Device d;
  const auto kernel = [&](bool together) {
    return [&d, together] {
      init(1, 1);
      if (thread() == 0) {
        if (together) {
          m::mbarrier_arrive_expect_tx(bar(), 256);
        } else {
          m::mbarrier_arrive(bar());
          m::mbarrier_expect_tx(bar(), 256);
        }
        m::bulk_load(data(), d.as<const uint8_t>(), 256, bar());
      }
      wait();
      m::load(word());
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(false), {d.buffer(Buffer::Use::input)}), "race.in_flight");
  EXPECT_EQ(verdict(block(1), kernel(true), {d.buffer(Buffer::Use::input)}), "");
}

TEST(MbarrierRules, R09_APhaseNobodyObservedIsReported) {
  const auto kernel = [](bool observe) {
    return [=] {
      init(1, 1);
      if (thread() != 0) return;
      m::mbarrier_arrive(bar());
      if (observe) wait();
      m::mbarrier_arrive(bar());
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(false)), "mbarrier.missing_wait");
  EXPECT_EQ(verdict(block(1), kernel(true)), "");
}

TEST(MbarrierRules, R10_WaitsForOtherThanTheCurrentOrLastPhaseAreReported) {
  const auto kernel = [](int completed, int awaited) {
    return [=] {
      init(1, 1);
      if (thread() != 0) return;
      m::Phase at = m::Phase::consumer(), meant = m::Phase::consumer();
      for (int i = 0; i < completed; ++i, at.advance()) {
        m::mbarrier_arrive(bar());
        m::mbarrier_wait(bar(), at);
      }
      for (int i = 0; i < awaited; ++i) meant.advance();
      m::mbarrier_wait(bar(), meant);
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(2, 0)), "phase.missed");
  EXPECT_EQ(verdict(block(1), kernel(1, 2)), "phase.alias");
  EXPECT_EQ(verdict(block(1), kernel(2, 1)), "");
}

TEST(MbarrierRules, R11_AFreshBarrierLetsTheProducerThroughAndHoldsTheConsumer) {
  const auto kernel = [](m::Phase phase) {
    return [=] {
      init(1, 1);
      m::mbarrier_wait(bar(), phase);
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(m::Phase::producer())), "");
  EXPECT_EQ(verdict(block(1), kernel(m::Phase::consumer())), "deadlock");
}

TEST(MbarrierRules, R13_AWaitThatMayFailNeedsALoop) {
  Device d;
  const auto kernel = [&](bool loop) {
    return [&d, loop] {
      init(1, 1);
      if (thread() != 0) return;
      m::mbarrier_arrive_expect_tx(bar(), 256);
      m::bulk_load(data(), d.as<const uint8_t>(), 256, bar());
      while (!m::mbarrier_test_wait(bar(), m::Phase::consumer()) && loop) {
      }
      m::load(word());
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(false), {d.buffer(Buffer::Use::input)}), "race.in_flight");
  EXPECT_EQ(verdict(block(1), kernel(true), {d.buffer(Buffer::Use::input)}), "");
}

TEST(MbarrierRules, R14_MoreArrivalsThanPendingAreReported) {
  const auto kernel = [](uint32_t arrivals) {
    return [=] {
      init(1, 2);
      if (thread() == 0) m::mbarrier_arrive(bar(), arrivals);
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(3)), "mbarrier.over_arrival");
  EXPECT_EQ(verdict(block(1), kernel(2)), "");
}

TEST(MbarrierRules, R17_CpAsyncArrivalsAreCountedAtInitOrWhenIssued) {
  Device d;
  const auto kernel = [&](uint32_t count, bool counted_at_init) {
    return [&d, count, counted_at_init] {
      init(1, count);
      m::cp_async_16(data(16 * thread()), d.as<const uint8_t>(16 * thread()));
      if (counted_at_init) {
        m::cp_async_mbarrier_arrive_noinc(bar());
      } else {
        m::cp_async_mbarrier_arrive(bar());
        m::sync_warp();
        if (thread() == 0) m::mbarrier_arrive(bar());
      }
      wait();
      m::load(word(int(thread() ^ 1) * 4));
    };
  };
  const std::vector<Buffer> in{d.buffer(Buffer::Use::input)};
  EXPECT_EQ(verdict(block(1), kernel(32, true), in), "");
  EXPECT_EQ(verdict(block(1), kernel(1, false), in), "");
  EXPECT_EQ(verdict(block(1), kernel(16, true), in), "mbarrier.missing_wait");
  EXPECT_EQ(verdict(block(1), kernel(33, false), in), "deadlock");
}

TEST(MbarrierRules, R18_WaitingOnAnotherCtasBarrierIsReported) {
  EXPECT_EQ(verdict(block(1, Arch::sm90, 2),
                    [] {
                      init(1, 1);
                      m::mbarrier_wait(Shared<Mbarrier>{m::map_to_rank(bar(), rank() ^ 1).address},
                                       m::Phase::producer());
                    }),
            "mbarrier.remote");
}

TEST(MbarrierRules, R19_DataForAnotherCtaNeedsClusterScopeOnBothSides) {
  const auto kernel = [](bool release, bool acquire) {
    return [=] {
      init(1, 1);
      if (thread() == 0 && rank() == 1) {
        m::store(m::map_to_rank(word(), 0), 1u);
        release ? m::mbarrier_arrive<Scope::cluster>(m::map_to_rank(bar(), 0))
                : m::mbarrier_arrive<Scope::cta>(m::map_to_rank(bar(), 0));
      }
      if (thread() == 0 && rank() == 0) {
        acquire ? m::mbarrier_wait<Scope::cluster>(bar(), m::Phase::consumer()) : wait();
        m::load(word());
      }
      m::cluster_sync();
    };
  };
  EXPECT_EQ(verdict(block(1, Arch::sm90, 2), kernel(false, true)), "race");
  EXPECT_EQ(verdict(block(1, Arch::sm90, 2), kernel(true, false)), "race");
  EXPECT_EQ(verdict(block(1, Arch::sm90, 2), kernel(true, true)), "");
}

// Warp 0 writes and arrives, warp 1 waits and reads.
std::string hand_over(const std::function<void()>& write_and_arrive) {
  return verdict(block(2), [&] {
    init(1, 1);
    if (thread() == 0) write_and_arrive();
    if (thread() == 32) {
      wait();
      m::load(word());
    }
  });
}

TEST(MbarrierRules, R20_ARelaxedArrivalOrdersNoData) {
  EXPECT_EQ(hand_over([] {
              m::store(word(), 1u);
              m::mbarrier_arrive_relaxed(bar());
            }),
            "race");
  EXPECT_EQ(hand_over([] {
              m::store(word(), 1u);
              m::mbarrier_arrive(bar());
            }),
            "");
}

TEST(MbarrierRules, R21_WhatFollowsAnArrivalIsNotCoveredByIt) {
  EXPECT_EQ(hand_over([] {
              m::store(word(), 0u);
              m::mbarrier_arrive(bar());
              m::store(word(), 1u);
            }),
            "race");
}

TEST(MbarrierRules, R22_AnArrivalDoesNotReleaseAsynchronousCopies) {
  Device d;
  const auto kernel = [&](bool arrive_by_copy) {
    return [&d, arrive_by_copy] {
      init(1, 1);
      if (thread() == 0) {
        m::cp_async_16(data(), d.as<const uint8_t>());
        arrive_by_copy ? m::cp_async_mbarrier_arrive_noinc(bar()) : m::mbarrier_arrive(bar());
      }
      if (thread() == 32) {
        wait();
        m::load(word());
      }
    };
  };
  const std::vector<Buffer> in{d.buffer(Buffer::Use::input)};
  EXPECT_EQ(verdict(block(2), kernel(false), in), "race.in_flight");
  EXPECT_EQ(verdict(block(2), kernel(true), in), "");
}

TEST(MbarrierRules, R23_CompletionOfACopyOrdersNothingElseOfItsIssuer) {
  Device d;
  const auto kernel = [&](bool before_arrival) {
    return [&d, before_arrival] {
      init(1, 1);
      if (thread() == 0) {
        if (before_arrival) m::store(word(512), 1u);
        m::mbarrier_arrive_expect_tx(bar(), 256);
        if (!before_arrival) m::store(word(512), 1u);
        m::bulk_load(data(), d.as<const uint8_t>(), 256, bar());
      }
      if (thread() == 32) {
        wait();
        m::load(word());
        m::load(word(512));
      }
    };
  };
  const std::vector<Buffer> in{d.buffer(Buffer::Use::input)};
  EXPECT_EQ(verdict(block(2), kernel(false), in), "race");
  EXPECT_EQ(verdict(block(2), kernel(true), in), "");
}

TEST(MbarrierRules, R24_AnInitialisationMustBeMadeVisible) {
  Device d;
  const auto kernel = [&](bool fence, bool meet) {
    return [&d, fence, meet] {
      if (thread() == 0) {
        m::mbarrier_init(bar(), 1);
        if (fence) m::fence_mbarrier_init();
      }
      if (meet) m::sync_block();
      if (thread() == 32) {
        m::mbarrier_arrive_expect_tx(bar(), 256);
        m::bulk_load(data(), d.as<const uint8_t>(), 256, bar());
        wait();
      }
    };
  };
  const std::vector<Buffer> in{d.buffer(Buffer::Use::input)};
  EXPECT_EQ(verdict(block(2), kernel(false, true), in), "mbarrier.init_fence");
  EXPECT_EQ(verdict(block(2), kernel(true, false), in), "mbarrier.init_order");
  EXPECT_EQ(verdict(block(2), kernel(true, true), in), "");
}

TEST(MbarrierRules, R25_InvalidatingABarrierInUseIsReported) {
  Device d;
  const auto kernel = [&](bool wait_first) {
    return [&d, wait_first] {
      init(1, 1);
      if (thread() != 0) return;
      m::mbarrier_arrive_expect_tx(bar(), 256);
      m::bulk_load(data(), d.as<const uint8_t>(), 256, bar());
      if (wait_first) wait();
      m::mbarrier_invalidate(bar());
    };
  };
  const std::vector<Buffer> in{d.buffer(Buffer::Use::input)};
  EXPECT_EQ(verdict(block(1), kernel(false), in), "mbarrier.inval_in_use");
  EXPECT_EQ(verdict(block(1), kernel(true), in), "");
}

}  // namespace warpwright::rules

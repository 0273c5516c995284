// Lanes of a warp that part: what the words that PTX calls .aligned require, and how far lanes may drift apart.
#include <functional>
#include <string>
#include <utility>

#include "rules.h"

namespace warpwright::rules {
namespace {

// Called by a whole warp; all its operands are registers.
void multiply(m::here at = {}) {
  float d[4] = {};
  const uint32_t a[4] = {}, b[2] = {};
  m::mma_sync<DType::bf16>(d, a, b, at);
}

// A warp whose lanes come to an aligned word after `part` has run; the barrier's only phase is complete.
std::string reached(const std::function<void()>& part) {
  return verdict(block(1), [&] {
    init(1, 1);
    if (m::lane_index() == 31) m::mbarrier_arrive(bar());
    m::sync_warp();
    part();
    multiply();
  });
}

void one_waits() {
  if (m::lane_index() == 0) wait();
}

}  // namespace

TEST(LaneRules, AnAlignedWordWantsLanesThatHaveWaitedForTheSame) {
  EXPECT_EQ(reached(one_waits), "warp.parted");
  EXPECT_EQ(reached([] { wait(); }), "");
  EXPECT_EQ(reached([] {
              if (m::lane_index() == 0) m::store(word(), 1u);  // a branch in which no lane waits
            }),
            "");
}

TEST(LaneRules, WordsThatEveryLaneWaitsInBringLanesTogether) {
  EXPECT_EQ(reached([] { one_waits(), m::sync_warp(); }), "");
  EXPECT_EQ(reached([] { one_waits(), m::ballot(true); }), "");
  EXPECT_EQ(reached([] { one_waits(), m::shuffle(1u, 0); }), "");
  EXPECT_EQ(reached([] { one_waits(), m::elect_one(); }), "");
  EXPECT_EQ(reached([] { one_waits(), m::sync_block(); }), "");
  EXPECT_EQ(reached([] { one_waits(), m::named_barrier_sync_aligned(1, 32); }), "");
  // It counts the lanes, and promises nothing about them.
  EXPECT_EQ(reached([] { one_waits(), m::named_barrier_sync(1, 32); }), "warp.parted");
  EXPECT_EQ(reached([] { one_waits(), m::named_barrier_sync(1, 32), m::sync_warp(); }), "");
  // Halves of a warp that meet among themselves are not a whole warp.
  const auto halves = [] { m::sync_warp(m::lane_index() < 16 ? 0x0000'ffffu : 0xffff'0000u); };
  EXPECT_EQ(reached(halves), "warp.parted");
  EXPECT_EQ(reached([&] { halves(), m::sync_warp(); }), "");
}

TEST(LaneRules, EveryWayToWaitCounts) {
  const auto one = [](const std::function<void()>& waits) {
    return reached([&] {
      if (m::lane_index() == 0) waits();
    });
  };
  EXPECT_EQ(one([] {
              while (!m::mbarrier_try_wait(bar(), m::Phase::consumer())) {
              }
            }),
            "warp.parted");
  EXPECT_EQ(one([] { m::bulk_wait(); }), "warp.parted");
  EXPECT_EQ(one([] { m::cp_async_wait<0>(); }), "warp.parted");
  EXPECT_EQ(one([] { m::grid_dependency_wait(); }), "warp.parted");
  Device d;
  EXPECT_EQ(verdict(block(1),
                    [&] {
                      if (m::lane_index() == 0) m::load_acquire(d.as());
                      multiply();
                    },
                    {d.buffer(Buffer::Use::input)}),
            "warp.parted");
}

// What counts is what a lane saw, not in how many steps: answers of a poll may differ from lane to lane.
TEST(LaneRules, APollAndAWaitBehindItAreOneWait) {
  EXPECT_EQ(reached([] {
              if (!m::mbarrier_try_wait(bar(), m::Phase::consumer())) wait();
            }),
            "");
  EXPECT_EQ(reached([] { wait(), wait(); }), "");
}

TEST(LaneRules, LanesThatWaitOnDifferentBarriersPart) {
  const auto kernel = [](bool meet) {
    return verdict(block(1), [=] {
      init(2, 1);
      if (m::lane_index() < 2) m::mbarrier_arrive(bar(int(m::lane_index())));
      m::sync_warp();
      wait(int(m::lane_index() % 2));
      if (meet) m::sync_warp();
      multiply();
    });
  };
  EXPECT_EQ(kernel(false), "warp.parted");
  EXPECT_EQ(kernel(true), "");
}

TEST(LaneRules, AllAlignedWordsWantTheLanesTogether) {
  const auto behind = [](const std::function<void()>& word, Arch arch = Arch::sm90) {
    return verdict(block(4, arch), [&] {
      init(1, 1);
      if (thread() == 0) m::mbarrier_arrive(bar());
      m::sync_block();
      if (m::lane_index() == 0) wait();
      word();
    });
  };
  EXPECT_EQ(behind([] { m::registers_decrease<64>(); }), "warp.parted");
  EXPECT_EQ(behind([] { m::wgmma_wait<0>(); }), "warp.parted");
  EXPECT_EQ(behind([] { m::tcgen05_wait_ld(); }, Arch::sm100), "warp.parted");
  EXPECT_EQ(behind([] {
              uint32_t r[1] = {};
              m::stmatrix(Shared<Vec<uint32_t, 4>>{data().address + 16 * m::lane_index()}, r);
            }),
            "warp.parted");
  EXPECT_EQ(behind([] { multiply(); }), "warp.parted");
}

// The lanes of the first warp wait for a stage, and one of them hands it on. Those that only wait are overtaken unless
// the warp meets; no order of whole warps shows this.
TEST(LaneRules, ALaneThatOnlyWaitsMayFallARoundBehind) {
  const auto kernel = [](simulator::Scheduling scheduling, bool meet) {
    const BlockPlan plan = block(2);
    simulator::Launch launch;
    launch.plan = &plan;
    Options o;
    o.landing = simulator::Landing::eager;
    o.scheduling = scheduling;
    const simulator::Result r = simulator::run(launch, o, [=] {
      init(2, 1);
      const Shared<Mbarrier> full = bar(0), empty = bar(1);
      m::Phase filled = m::Phase::consumer(), free = m::Phase::producer();
      for (int round = 0; round < 4; ++round) {
        if (warp() == 0) {
          m::mbarrier_wait(empty, free);
          if (meet) m::sync_warp();
          if (m::lane_index() == 0) m::mbarrier_arrive(full);
        } else {
          m::mbarrier_wait(full, filled);
          m::sync_warp();
          if (m::lane_index() == 0) m::mbarrier_arrive(empty);
        }
        filled.advance();
        free.advance();
      }
    });
    return r.ok() ? "" : r.findings.front().rule;
  };
  using enum simulator::Scheduling;
  EXPECT_EQ(kernel(fifo, false), "");
  EXPECT_EQ(kernel(lanes, false).substr(0, 5), "phase");
  EXPECT_EQ(kernel(lanes, true), "");
}

TEST(LaneRules, AReportNamesTheWordAndWhereTheLanesParted) {
  BlockPlan plan("named", Arch::sm90);
  plan.role("math", 1).barrier("turn", 1, 1, "math", {"math", 1});
  simulator::Launch launch;
  launch.plan = &plan;
  const simulator::Result r = simulator::run(launch, {}, [] {
    init(1, 1);
    if (m::lane_index() == 0) m::mbarrier_arrive(bar());
    if (m::lane_index() == 0) wait(0, {"turns.h", 12});
    multiply({"turns.h", 14});
  });
  ASSERT_EQ(r.findings.size(), 1u);
  const simulator::Finding& f = r.findings.front();
  EXPECT_EQ(
      f.message,
      "mma.sync wants the lanes of its warp together, and they have parted: lane 0 of math has executed "
      "mbarrier.try_wait on turn at turns.h:12, lane 1 has not, and no sync_warp has brought them together since");
  EXPECT_EQ((std::pair{f.file, f.line}), (std::pair{std::string("turns.h"), 14u}));
  EXPECT_EQ(f.object, "turn");
  ASSERT_EQ(f.details.size(), 1u);
  EXPECT_EQ(f.details.front(), "they parted at turns.h:12");
}

}  // namespace warpwright::rules

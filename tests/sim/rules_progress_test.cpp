// A run that does not end is stopped by the checker, which names the role and the line that went on for ever.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "rules.h"
#include "sim/guard/guard.h"
#include "warpwright/machine/cdna.h"

namespace warpwright::rules {
namespace {

BlockPlan two_roles() {
  BlockPlan p("progress", Arch::sm90);
  p.role("waiter", 1).role("spinner", 1).region("shared", 4096, 1, 1024);
  return p;
}

simulator::Finding finding_of(const std::function<void()>& spin, simulator::Landing landing,
                              simulator::Scheduling scheduling) {
  const BlockPlan plan = two_roles();
  Options o;
  o.landing = landing;
  o.scheduling = scheduling;
  o.step_limit = 20'000;
  simulator::Launch launch;
  launch.plan = &plan;
  const simulator::Result r = simulator::run(launch, o, [&] {
    init(1, 1);
    if (warp() == 0) {
      wait();
    } else {
      spin();
    }
  });
  return r.ok() ? simulator::Finding{} : r.findings.front();
}

TEST(Progress, ALoopOfWordsThatNeverBlocksIsEndedAndNamed) {
  uint32_t line = 0;
  const auto spin = [&] {
    for (uint32_t i = 0; i != ~0u; ++i) {
      line = __LINE__ + 1;
      m::store(word(int(thread() % 32)), i);
    }
  };
  for (auto scheduling : {simulator::Scheduling::fifo, simulator::Scheduling::random, simulator::Scheduling::pct}) {
    const simulator::Finding f = finding_of(spin, simulator::Landing::eager, scheduling);
    EXPECT_EQ(f.rule, "livelock");
    EXPECT_EQ(f.role, "spinner") << f.text();
    EXPECT_EQ(f.line, line) << f.text();
    EXPECT_NE(f.text().find("rules_progress_test.cpp"), std::string::npos) << f.text();
  }
}

// It lets others run in between, and they are all waiting.
TEST(Progress, ALoopThatYieldsIsEndedAndNamedBesideTheWaiters) {
  uint32_t line = 0;
  const auto spin = [&] {
    for (uint32_t i = 0; i != ~0u; ++i) {
      line = __LINE__ + 1;
      m::sync_warp();
    }
  };
  for (auto scheduling : {simulator::Scheduling::fifo, simulator::Scheduling::random}) {
    const simulator::Finding f = finding_of(spin, simulator::Landing::late, scheduling);
    EXPECT_EQ(f.rule, "livelock");
    EXPECT_EQ(f.role, "spinner") << f.text();
    EXPECT_EQ(f.line, line) << f.text();
  }
}

TEST(Progress, ALongLoopThatEndsIsSilent) {
  const auto spin = [] {
    for (uint32_t i = 0; i < 3000; ++i) m::store(word(int(thread() % 32)), i);
    if (thread() == 32) m::mbarrier_arrive(bar());
  };
  EXPECT_EQ(finding_of(spin, simulator::Landing::eager, simulator::Scheduling::fifo).rule, "");
}

// What a kernel does between its words.
Options guarded() {
  Options o;
  o.hang_seconds = 0.05;
  return o;
}

TEST(Progress, ALoopWithoutWordsIsGivenUpAndItsLastWordNamed) {
  uint32_t line = 0;
  const auto kernel = [&] {
    line = __LINE__ + 1;
    m::store(word(int(thread())), 1u);
    for (volatile uint32_t i = 0; thread() == 33; i = i + 1) {
    }
  };
  simulator::Launch l;
  const BlockPlan plan = block(2);
  l.plan = &plan;
  const simulator::Result r = simulator::run(l, guarded(), kernel);
  ASSERT_EQ(r.findings.size(), 1u);
  const simulator::Finding& f = r.findings.front();
  collect(f);
  EXPECT_EQ(f.rule, "hang");
  EXPECT_EQ(f.warp, 1) << f.text();
  EXPECT_EQ(f.lane, 1) << f.text();
  EXPECT_EQ(f.line, line) << f.text();
}

TEST(Progress, WhoSleepsTakesNoProcessorTimeAndIsGivenUpToo) {
  const auto kernel = [](bool sleeps) {
    return [sleeps] {
      m::store(word(int(thread())), 1u);
      if (sleeps && thread() == 33) std::this_thread::sleep_for(std::chrono::hours(1));
    };
  };
  EXPECT_EQ(verdict(block(2), kernel(true), {}, guarded()), "hang");
  EXPECT_EQ(verdict(block(2), kernel(false), {}, guarded()), "");
}

TEST(Progress, MemoryThatIsTouchedWithoutAWordAndIsNotThereIsAFinding) {
  const auto kernel = [](bool touch) {
    return [touch] {
      volatile uint32_t* const nowhere = reinterpret_cast<uint32_t*>(uintptr_t(64));
      m::store(word(int(thread())), 1u);
      if (touch && thread() == 5) *nowhere = 1;
    };
  };
  EXPECT_EQ(verdict(block(1), kernel(true), {}, guarded()), "bounds.bare");
  EXPECT_EQ(verdict(block(1), kernel(false), {}, guarded()), "");
  EXPECT_EQ(verdict(block(1), kernel(true), {}, guarded()), "bounds.bare") << "one such run does not spoil the next";
}

// What would end the program ends the run.
int without_end(int n) {
  volatile int here = n;
  return here == 0 ? 0 : without_end(here + 1) + here;
}
TEST(Progress, WhatWouldEndTheProgramIsAFindingThatNamesTheThread) {
  const auto said = [](const std::function<void()>& end) {
    const BlockPlan plan = block(2);
    simulator::Launch l;
    l.plan = &plan;
    const simulator::Result r = simulator::run(l, guarded(), [&] {
      m::store(word(int(thread())), 1u);
      if (thread() == 37) end();
    });
    if (r.findings.size() != 1 || r.findings.front().rule != "exception") return std::string();
    EXPECT_EQ(r.findings.front().lane, 5) << r.findings.front().text();
    return r.findings.front().message;
  };
  const auto names = [](const std::string& message, const std::string& word) {
    return message.starts_with("warps (cta 0 warp 1 lane 5) ") && message.find(word) != std::string::npos &&
           message.find("its last word was at rules_progress_test.cpp:") != std::string::npos;
  };
  const auto recursion = [] { without_end(1); };
  const auto fails = [] { throw std::runtime_error("no table"); };
  const auto uncaught = [&]() noexcept { fails(); };
  for (int round = 0; round < 2; ++round) {  // one such run does not spoil the next
    EXPECT_PRED2(names, said(recursion), "more stack than there is");
    EXPECT_PRED2(names, said([] { std::abort(); }), "was stopped by signal 6");
    EXPECT_PRED2(names, said([] { simulator::left_by(0); }), "called exit()");
    EXPECT_PRED2(names, said(uncaught), "nobody caught 'no table'");
    EXPECT_PRED2(names, said([] { throw std::runtime_error("row seven"); }), "threw: row seven");
    EXPECT_PRED2(names, said([] { __builtin_trap(); }), "does what C++ leaves open");
  }
  EXPECT_EQ(said([] {}), "");
}

// The same for waves of CDNA.
TEST(Progress, AWaveIsGuardedAsAThreadIs) {
  namespace c = machine::cdna;
  uint32_t line = 0;
  const BlockPlan plan = block(2, Arch::gfx950);
  const auto run = [&](const std::function<void()>& between) {
    simulator::Launch l;
    l.plan = &plan;
    const simulator::Result r = simulator::run(l, guarded(), [&] {
      line = __LINE__ + 1;
      c::workgroup_barrier();
      if (c::wave_index() == 1) between();
      c::workgroup_barrier();
    });
    return r.ok() ? simulator::Finding() : r.findings.front();
  };
  const auto hang = [] {
    for (volatile bool ever = true; ever;) {
    }
  };
  const auto bare = [] { *reinterpret_cast<volatile uint32_t*>(uintptr_t(64)) = 1; };
  for (int again = 0; again < 2; ++again) {  // one such run does not spoil the next
    const simulator::Finding hanging = run(hang), touching = run(bare);
    EXPECT_EQ(hanging.rule, "hang") << hanging.text();
    EXPECT_EQ(hanging.warp, 1);
    EXPECT_EQ(hanging.line, line);
    EXPECT_NE(hanging.message.find("wave 1 of workgroup 0 computes for more than 0.05 s without a word"),
              std::string::npos)
        << hanging.message;
    EXPECT_EQ(touching.rule, "bounds.bare") << touching.text();
    EXPECT_EQ(run([] {}).rule, "");
  }
}

TEST(Progress, AWaveThatCallsWordsForEverIsGivenUpAfterItsTime) {
  namespace c = machine::cdna;
  Options o;
  o.max_seconds = 0.1;
  EXPECT_EQ(verdict(
                block(1, Arch::gfx950),
                [] {
                  for (;;) c::workgroup_barrier();
                },
                {}, o),
            "livelock");
}

TEST(Progress, ARunIsGivenUpAfterItsTime) {
  Options o;
  o.max_seconds = 0.1;
  const auto in_a_row = [] {
    for (uint32_t i = 0; thread() == 0; ++i) m::store(word(), i);
  };
  const auto in_turns = [] {
    for (;;) m::sync_warp();
  };
  EXPECT_EQ(verdict(block(1), in_a_row, {}, o), "livelock");
  EXPECT_EQ(verdict(block(1), in_turns, {}, o), "livelock");
}

}  // namespace
}  // namespace warpwright::rules

// Counters and flags in memory: what an atomic operation finds, whom a fence speaks for, and what a report says of a
// thread that looks for a flag in vain.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rules.h"

namespace warpwright::rules {
namespace {

using simulator::Finding;

Finding finding(const BlockPlan& plan, const std::function<void()>& body, std::vector<Buffer> buffers, Index3 grid = {},
                uint64_t steps = 0) {
  simulator::Launch l;
  l.plan = &plan;
  l.buffers = std::move(buffers);
  l.grid = {std::max(grid.x, 1u), 1, 1};
  Options o;
  o.landing = simulator::Landing::eager;
  if (steps > 0) o.step_limit = steps;
  const simulator::Result r = simulator::run(l, o, body);
  if (r.ok()) return {};
  collect(r.findings.front());
  return r.findings.front();
}

TEST(FlagRules, AnAtomicOperationReadsWhatItAddsTo) {
  const auto shared = [](bool set) {
    return [set] {
      if (set && thread() == 0) m::store(word(), 0u);
      m::sync_block();
      m::atomic_add(word(), 1u);
    };
  };
  EXPECT_EQ(verdict(block(1), shared(true)), "");
  EXPECT_EQ(verdict(block(1), shared(false)), "uninitialised.shared");
  Device d;
  const auto global = [&d] { m::reduce_add(d.as(), 1u); };
  EXPECT_EQ(verdict(block(1), global, {d.buffer(Buffer::Use::inout)}), "");
  EXPECT_EQ(verdict(block(1), global, {d.buffer(Buffer::Use::output)}), "uninitialised.global");
  // An exchange does not mind.
  EXPECT_EQ(verdict(block(1), [&d] { m::atomic_exchange(d.as(), 1u); }, {d.buffer(Buffer::Use::output)}), "");
}

TEST(FlagRules, AnAtomicOperationIsAligned) {
  Device d;
  EXPECT_EQ(verdict(block(1), [&d] { m::atomic_add(d.as(2), 1u); }, {d.buffer(Buffer::Use::inout)}),
            "bounds.alignment");
}

enum class Fence { none, ahead, behind };

// Two blocks: all threads of a block store, one counts the block in, and all threads of the last block read.
std::function<void()> last_block(Device& d, Fence release, Fence acquire) {
  return [&d, release, acquire] {
    const int block = int(m::block_index().x);
    m::store(d.as(256 * (block + 1)) + int(thread()), 1u);
    if (release == Fence::ahead) m::fence();
    m::sync_block();
    if (thread() == 0) {
      if (release == Fence::behind) m::fence();
      const uint32_t before = m::atomic_add(d.as(), 1u);
      if (acquire == Fence::ahead) m::fence();
      m::store(word(), before);
    }
    m::sync_block();
    if (m::load(word()) != 1) return;
    if (acquire == Fence::behind) m::fence();
    for (int other = 1; other <= 2; ++other) m::load(d.as(256 * other) + int(63 - thread()));
  };
}

TEST(FlagRules, AFenceSpeaksForItsOwnThread) {
  const auto said = [](Fence release, Fence acquire) {
    Device d;
    return finding(block(2), last_block(d, release, acquire), {d.buffer(Buffer::Use::inout)}, {2, 1, 1});
  };
  EXPECT_EQ(said(Fence::behind, Fence::ahead).rule, "");
  for (const Fence acquire : {Fence::ahead, Fence::behind}) {
    const Finding early = said(Fence::ahead, acquire);
    EXPECT_EQ(early.rule, "race");
    EXPECT_NE(early.message.find("its thread has fenced since, but only for what it stores itself"), std::string::npos)
        << early.message;
  }
  const Finding late = said(Fence::behind, Fence::behind);
  EXPECT_EQ(late.rule, "race");
  EXPECT_NE(late.message.find("a flag has told of it, but not to this thread"), std::string::npos) << late.message;
  const Finding none = said(Fence::none, Fence::none);
  EXPECT_EQ(none.rule, "race");
  EXPECT_EQ(none.message.find("fence"), std::string::npos) << none.message;
}

// A thread polls, the others of its block wait for it.
TEST(FlagRules, AFlagThatNobodyRaisesIsNamed) {
  Device d;
  const Finding f = finding(block(2),
                            [&d] {
                              if (thread() == 0) {
                                while (m::load_acquire(d.as(64)) == 0) {
                                }
                              }
                              m::sync_block();
                            },
                            {d.buffer(Buffer::Use::inout)});
  EXPECT_EQ(f.rule, "deadlock");
  EXPECT_NE(f.message.find("device+64"), std::string::npos) << f.message;
}

TEST(FlagRules, APollByAnOrdinaryLoadIsNamed) {
  Device d;
  const Finding f = finding(
      block(1),
      [&d] {
        while (m::load(d.as(64)) == 0) {
        }
      },
      {d.buffer(Buffer::Use::inout)}, {}, 1000);
  EXPECT_EQ(f.rule, "livelock");
  EXPECT_NE(f.message.find("device+64"), std::string::npos) << f.message;
  EXPECT_NE(f.message.find("load_acquire"), std::string::npos) << f.message;
}

// A box that was loaded to another barrier than the one that is waited for.
TEST(FlagRules, ACopyWhoseCompletionIsUnknownNamesItsBarrier) {
  Device d;
  const Finding f = finding(block(1),
                            [&d] {
                              init(2, 1);
                              if (thread() == 0) {
                                m::mbarrier_arrive_expect_tx(bar(0), 256);
                                m::bulk_load(data(), d.as<const uint8_t>(), 256, bar(0));
                                wait(0);
                                m::mbarrier_arrive_relaxed(bar(1));
                              } else {
                                wait(1);
                                m::load(word());
                              }
                            },
                            {d.buffer(Buffer::Use::input)});
  EXPECT_EQ(f.rule, "race.completion");
  EXPECT_NE(f.message.find("it is told by phase 0 of mbarrier"), std::string::npos) << f.message;
  EXPECT_NE(f.message.find("of which the thread has seen none"), std::string::npos) << f.message;
}

}  // namespace
}  // namespace warpwright::rules

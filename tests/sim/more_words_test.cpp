// The words of machine/more_words.h: what each gives, and that it is an access or a meeting like any other.
#include "warpwright/machine/more_words.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "rules.h"

namespace warpwright::rules {
namespace {

uint32_t last_word(Device& d) {
  uint32_t value;
  std::memcpy(&value, d.bytes, sizeof value);
  return value;
}

template <class T, class Word>
void expect_atomic(T before, T operand, T after, const Word& word) {
  Device d;
  std::memcpy(d.bytes, &before, sizeof before);
  T old{};
  simulator::Launch l;
  const BlockPlan plan = block(1);
  l.plan = &plan;
  l.buffers = {d.buffer(Buffer::Use::inout)};
  const auto body = [&] {
    if (thread() != 0) return;
    old = word(d.as<T>(), operand);
    const Shared<T> shared = data(64).as<T>();
    m::store(shared, before);
    EXPECT_EQ(word(shared, operand), before);
    EXPECT_EQ(m::load(shared), after);
  };
  EXPECT_TRUE(simulator::run(l, {}, body).ok());
  T left;
  std::memcpy(&left, d.bytes, sizeof left);
  EXPECT_EQ(old, before);
  EXPECT_EQ(left, after);
}

TEST(MoreWords, AtomicOperationsOnWholeNumbers) {
  const auto min = [](auto p, auto v) { return m::atomic_min(p, v); };
  const auto max = [](auto p, auto v) { return m::atomic_max(p, v); };
  expect_atomic<int>(3, -2, -2, min);
  expect_atomic<uint32_t>(3, 0xffff'fffe, 3, min);
  expect_atomic<int>(3, -2, 3, max);
  expect_atomic<uint32_t>(3, 0xffff'fffe, 0xffff'fffe, max);
  expect_atomic<int64_t>(-1, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min(), min);
  expect_atomic<uint64_t>(1, uint64_t(1) << 40, uint64_t(1) << 40, max);
  expect_atomic<uint32_t>(0b1100, 0b1010, 0b1000, [](auto p, auto v) { return m::atomic_and(p, v); });
  expect_atomic<uint32_t>(0b1100, 0b1010, 0b1110, [](auto p, auto v) { return m::atomic_or(p, v); });
  expect_atomic<uint64_t>(0b1100, 0b1010, 0b0110, [](auto p, auto v) { return m::atomic_xor(p, v); });
}

TEST(MoreWords, AnAtomicMaximumIsAnAccess) {
  Device d;
  const auto largest = [&d](Buffer::Use use) {
    return verdict(block(2), [&d] { m::atomic_max(d.as(), thread()); }, {d.buffer(use)});
  };
  EXPECT_EQ(largest(Buffer::Use::inout), "");
  EXPECT_EQ(largest(Buffer::Use::output), "uninitialised.global");
  EXPECT_EQ(last_word(d), 63u);
}

TEST(MoreWords, ShufflesAlongTheLanesKeepWhatHasNoNeighbour) {
  EXPECT_EQ(verdict(block(1),
                    [] {
                      const uint32_t lane = thread();
                      EXPECT_EQ(m::shuffle_up(lane, 3), lane < 3 ? lane : lane - 3);
                      EXPECT_EQ(m::shuffle_down(lane, 3), lane > 28 ? lane : lane + 3);
                      EXPECT_EQ(m::shuffle_down(float(lane), 31), lane == 0 ? 31.f : float(lane));
                      EXPECT_EQ(m::shuffle_up(lane, 32), lane);
                    }),
            "");
  EXPECT_EQ(verdict(block(1),
                    [] {
                      if (thread() < 8) m::shuffle_down(thread(), 1);
                      m::sync_warp();
                    }),
            "warp.diverged");
}

TEST(MoreWords, VotesCountTheLanesThatAreThere) {
  EXPECT_EQ(verdict(block(1),
                    [] {
                      EXPECT_TRUE(m::vote_any(thread() == 7));
                      EXPECT_FALSE(m::vote_any(false));
                      EXPECT_FALSE(m::vote_all(thread() != 7));
                      EXPECT_TRUE(m::vote_all(true));
                      if (thread() >= 20) return;
                      EXPECT_TRUE(m::vote_all(thread() < 20));
                    }),
            "");
}

}  // namespace
}  // namespace warpwright::rules

// Strategies of modulo scheduling: what each promises, and what is refused.
#include "warpwright/schedule/strategy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "warpwright/schedule/exact.h"
#include "warpwright/schedule/legacy/accesses.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;
namespace legacy = warpwright::schedule::legacy;
constexpr DepKind F = DepKind::flow;

constexpr OpNode node(ResourceKind unit, int latency, int occupancy, const char* name) {
  OpNode n(OpDesc::op(Tag{1}, unit, latency, OpRole::compute));
  n.occupancy = occupancy;
  n.name = name;
  return n;
}
constexpr LoopBody body_of(const List<OpNode>& ops, const List<DepEdge>& edges) {
  LoopBody b;
  b.ops = ops;
  b.edges = edges;
  return b;
}
constexpr ResourceKind kMma = ResourceKind::mma_unit, kMem = ResourceKind::global_mem, kValu = ResourceKind::valu;

// load -> two products on one unit -> scale on another, accumulating.
constexpr LoopBody small_body() {
  return body_of({node(kMem, 100, 0, "load"), node(kMma, 20, 10, "first"), node(kMma, 20, 10, "second"),
                  node(kValu, 5, 5, "scale")},
                 {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 3, F, 1}, {1, 1, F, 1}});
}

template <class S>
Placement at_minimum(const LoopBody& b, const S& s = {}) {
  return modulo_schedule(b, targets::gfx950, s);
}

TEST(Strategy, each_reaches_the_smallest_interval_of_a_simple_body) {
  const LoopBody b = small_body();
  for (const Placement& p :
       {at_minimum<Identity>(b), at_minimum<Greedy>(b), at_minimum<Ims>(b), at_minimum<Exact>(b)}) {
    SCOPED_TRACE(p.strategy.c_str());
    EXPECT_TRUE(p.ok()) << to_text(p.error);
    EXPECT_EQ(p.mii.value(), 20);
    EXPECT_EQ(p.interval, 20);
    EXPECT_TRUE(p.optimal());
    EXPECT_TRUE(check_interval(b, targets::gfx950, p.start, p.interval).ok());
  }
}

TEST(Strategy, identity_keeps_the_declared_order_and_pays_for_it) {
  // The long op is declared first although only the short one is on the recurrence.
  const LoopBody b = body_of({node(kMma, 10, 10, "late"), node(kValu, 30, 5, "head"), node(kMma, 10, 10, "tail")},
                             {{1, 2}, {2, 0, F, 1}, {0, 1, F, 0}});
  const Placement p = at_minimum<Identity>(b);
  ASSERT_TRUE(p.ok()) << to_text(p.error);
  EXPECT_LE(p.start[0], p.start[1]);
  EXPECT_LE(p.start[1], p.start[2]);
  EXPECT_EQ(p.interval, 50);
}

// A and C are tied together by a recurrence without slack; greedy takes B's turn first because B is higher.
constexpr LoopBody needs_eviction() {
  return body_of({node(kMma, 4, 4, "A"), node(kMma, 4, 4, "B"), node(kMma, 4, 4, "C"), node(kValu, 30, 1, "D")},
                 {{0, 2}, {2, 0, F, 1}, {1, 3}});
}

TEST(Strategy, ims_and_exact_agree_on_the_smallest_interval) {
  const Placement ims = at_minimum<Ims>(needs_eviction()), exact = at_minimum<Exact>(needs_eviction());
  ASSERT_TRUE(ims.ok() && exact.ok());
  EXPECT_EQ(exact.mii.value(), 12);
  EXPECT_EQ(exact.interval, 12);
  EXPECT_EQ(ims.interval, exact.interval);
}

// Exact proves what no bound shows: three ops of 4 on one unit and a recurrence that wants two of them exactly 6 apart.
TEST(Strategy, exact_proves_an_interval_impossible_above_the_bound) {
  // X at 0 and Y exactly 6 later (two opposite edges); Z needs 4 cycles of the same unit: with interval 12 the gaps
  // are 2 and 2, so nothing fits.
  LoopBody b = body_of({node(kMma, 6, 4, "X"), node(kMma, 6, 4, "Y"), node(kMma, 1, 4, "Z")}, {{0, 1}, {1, 0, F, 1}});
  const Placement p = at_minimum<Exact>(b);
  ASSERT_TRUE(p.ok()) << to_text(p.error);
  EXPECT_EQ(p.mii.value(), 12);
  EXPECT_EQ(p.interval, 14) << "8 cycles between Y and the next X";
  EXPECT_FALSE(p.optimal());
  const Placement ims = at_minimum<Ims>(b);
  EXPECT_TRUE(ims.ok());
  EXPECT_GE(ims.interval, p.interval);
  EXPECT_EQ(Exact{}.place(b, targets::gfx950, 13).error.code, Code::ii_infeasible);
}

TEST(Strategy, fixed_interval_below_the_minimum_names_what_forbids_it) {
  const Placement unit = modulo_schedule(small_body(), targets::gfx950, Ims{}, {19, 19});
  EXPECT_EQ(unit.error.code, Code::ii_infeasible);
  EXPECT_EQ(std::pair(unit.error.have, unit.error.need), std::pair(19, 20));
  EXPECT_FALSE(unit.error.a.empty());
  const LoopBody cycle = body_of({node(kMem, 30, 0, "p"), node(kMem, 12, 0, "q")}, {{0, 1}, {1, 0, F, 1}});
  const Placement recurrence = modulo_schedule(cycle, targets::gfx950, Ims{}, {41, 41});
  EXPECT_EQ(recurrence.error.code, Code::ii_infeasible);
  EXPECT_EQ(recurrence.error.need, 42);
  EXPECT_TRUE(recurrence.error.b == Name("p") || recurrence.error.b == Name("q"));
  EXPECT_TRUE(modulo_schedule(cycle, targets::gfx950, Ims{}, {42, 42}).ok());
}

TEST(Strategy, wrong_bodies_are_refused_by_name) {
  LoopBody b = small_body();
  b.edges.push_back({3, 1, F, 0});
  EXPECT_EQ(at_minimum<Ims>(b).error.code, Code::graph_cycle);
  b = small_body();
  b.edges.push_back({1, 9, F, 0});
  EXPECT_EQ(at_minimum<Greedy>(b).error.code, Code::graph_index);
  b = small_body();
  b.ops[2].op.role = OpRole::none;
  const Placement p = at_minimum<Identity>(b);
  EXPECT_EQ(p.error.code, Code::cost_missing);
  EXPECT_EQ(p.error.a, Name("second"));
}

TEST(Strategy, exact_says_when_it_cannot) {
  List<OpNode> many(17, node(kMma, 1, 1, "op"));
  EXPECT_EQ(at_minimum<Exact>(body_of(many, {})).error.code, Code::strategy_unsupported);
  // No room for all three whatever the turn, and a budget too small to see it.
  LoopBody b = body_of({node(kMma, 6, 4, "X"), node(kMma, 6, 4, "Y"), node(kMma, 1, 4, "Z")}, {{0, 1}, {1, 0, F, 1}});
  EXPECT_EQ((Exact{2}.place(b, targets::gfx950, 12).error.code), Code::search_budget);
}

struct Broken {
  static constexpr const char* name = "broken";
  constexpr Checked<List<int>> place(const LoopBody& b, const Target&, int) const {
    return {List<int>(b.ops.size(), 0), {}};
  }
};
static_assert(PlacementStrategy<Broken> && PlacementStrategy<Ims> && !PlacementStrategy<int>);

TEST(Strategy, a_wrong_strategy_is_caught) {
  EXPECT_EQ(modulo_schedule(small_body(), targets::gfx950, Broken{}).error.code, Code::order_flow);
}

TEST(Strategy, reference_body_at_its_minimum) {
  const LoopBody b = legacy::compile(legacy::PingPong::fp8()).body;
  const Placement p = at_minimum<Ims>(b);
  EXPECT_TRUE(p.ok()) << to_text(p.error);
  EXPECT_EQ(p.interval, 220);
}

TEST(Strategy, two_hundred_ops_need_few_attempts) {
  LoopBody b;
  unsigned seed = 1;
  const auto random = [&seed](int n) { return int((seed = seed * 1664525u + 1013904223u) >> 8) % n; };
  for (int i = 0; i < 200; ++i) {
    const int kind = i % 3;
    b.ops.push_back(node(kind == 0 ? kMma : kind == 1 ? kMem : kValu, 5 + random(60), 1 + random(8), "op"));
  }
  for (int i = 1; i < 200; ++i) {
    for (int k = 0; k < 3; ++k) b.edges.push_back({random(i), i, F, 0});
    if (i % 5 == 0) b.edges.push_back({i, random(i), F, 1 + random(3)});
  }
  const auto begin = std::chrono::steady_clock::now();
  const Placement p = at_minimum<Ims>(b);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_TRUE(p.ok()) << to_text(p.error);
  EXPECT_GE(p.interval, p.mii.value());
  EXPECT_LE(p.tried, 100);
  std::printf("200 random ops: interval %d, smallest %d, %d tried, %.3f s\n", p.interval, p.mii.value(), p.tried,
              seconds);
}

constexpr int constant_interval() { return modulo_schedule(needs_eviction(), targets::gfx950, Ims{}).interval; }
static_assert(constant_interval() == 12);
constexpr int reference_interval() {
  return modulo_schedule(legacy::compile(legacy::PingPong::fp8()).body, targets::gfx950, Ims{}).interval;
}
static_assert(reference_interval() == 220);
static_assert(modulo_schedule(needs_eviction(), targets::gfx950, Exact{}).interval == 12);

}  // namespace

// compile(): what it derives, that both validators accept it for every run length, and that nothing in it is spare.
#include "warpwright/schedule/pipeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/exact.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;
namespace targets = warpwright::schedule::targets;

struct Case {
  const char* name;
  std::function<Pipeline()> make;
};
const Case kCases[] = {
    {"default gfx942", [] { return compile(default_matmul(targets::gfx942), targets::gfx942); }},
    {"default gfx950", [] { return compile(default_matmul(targets::gfx950), targets::gfx950); }},
    {"default gfx950, 4 slices", [] { return compile(default_matmul(targets::gfx950, 4), targets::gfx950); }},
    {"ping-pong gfx950", [] { return compile(ping_pong(targets::gfx950), targets::gfx950); }},
    {"ping-pong gfx950, unrolled", [] { return compile(ping_pong(targets::gfx950), targets::gfx950, {.unroll = 2}); }},
    {"ping-pong fp8 gfx950",
     [] { return compile(ping_pong(targets::gfx950, {.bk = 128, .mma_k = 128, .elem_bytes = 1}), targets::gfx950); }},
    {"4-wave gfx950", [] { return compile(four_wave(targets::gfx950), targets::gfx950); }},
    {"4-wave gfx950, unrolled", [] { return compile(four_wave(targets::gfx950), targets::gfx950, {.unroll = 2}); }},
    {"copy ring sm80", [] { return compile(copy_ring(targets::sm80), targets::sm80); }},
    {"copy ring sm80, depth 1", [] { return compile(copy_ring(targets::sm80), targets::sm80, {.depth = 1}); }},
    {"copy ring sm80, depth 5", [] { return compile(copy_ring(targets::sm80), targets::sm80, {.depth = 5}); }},
    {"TMA ring sm90", [] { return compile(tma_ring(targets::sm90a), targets::sm90a); }},
    {"TMA ring sm90, depth 1", [] { return compile(tma_ring(targets::sm90a), targets::sm90a, {.depth = 1}); }},
    {"TMA ring sm90, depth 4", [] { return compile(tma_ring(targets::sm90a), targets::sm90a, {.depth = 4}); }},
    {"TMA ring sm90, unrolled", [] { return compile(tma_ring(targets::sm90a), targets::sm90a, {.unroll = 3}); }},
    {"attention sm90", [] { return compile(attention_ring(targets::sm90a), targets::sm90a); }},
};

std::string first_text(const Diagnostics& d) { return d.empty() ? "clean" : to_text(d.front()); }

bool clean(const Pipeline& p, int iterations) { return verify(p, iterations).empty(); }

// The waits of every role, if roles have programs of their own.
struct NamedList {
  std::string name;
  EntryList* list;
};
std::vector<NamedList> phases_of(Pipeline& p) {
  std::vector<NamedList> out;
  const auto add = [&out](const std::string& role, Schedule& s) {
    out.push_back({role + "prologue", &s.prologue});
    out.push_back({role + "kernel", &s.kernel});
    out.push_back({role + "epilogue", &s.epilogue});
  };
  if (!p.is_split()) add("", p.schedule);
  for (RoleProgram& r : p.programs) add(r.name.c_str() + std::string(" "), r.schedule);
  return out;
}

TEST(Compile, every_body_is_proven_for_every_run_length) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Pipeline p = c.make();
    ASSERT_TRUE(p.ok()) << to_text(p.error);
    EXPECT_GE(p.interval(), p.mii());
    fmt::print("{:28} II {:5} MII {:5} (units {}, recurrence {}), {} stages, {} barriers, depth {}, {} registers\n",
               c.name, p.interval(), p.mii(), p.placement.mii.resource, p.placement.mii.recurrence, p.stages(),
               p.barriers(), p.depths[0].depth, p.registers.peak);
    EXPECT_EQ(int(p.short_runs.size()), p.is_split() ? 0 : p.stages() - 1);
    for (int n = 0; n <= 2 * p.stages() + 6; ++n) {
      EXPECT_EQ(first_text(verify(p, n)), "clean") << n << " iterations";
    }
    EXPECT_EQ(first_text(prove(p)), "clean");
    EXPECT_LE(p.shared(), p.target.shared_bytes);
    EXPECT_LE(p.registers.peak, p.target.registers_at(p.shape.roles));
  }
}

// Each wait is as weak as can be, and there is no barrier and no wait too many.
TEST(Compile, nothing_can_be_taken_away) {
  const auto harmless = [](const Pipeline& p) {
    for (int n = 0; n <= 2 * p.stages() + 3; ++n)
      if (!clean(p, n)) return false;
    return true;
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Pipeline p = c.make();
    for (const NamedList& phase : phases_of(p)) {
      const EntryList whole = *phase.list;
      const bool kernel = phase.name.ends_with("kernel");
      for (size_t i = 0; i < whole.size(); ++i) {
        const OpDesc& op = whole[i].op;
        if (op.tag == tags::set_prio) continue;  // no validator relies on it; priority_test.cpp
        const std::string what = fmt::format("{} entry {} {}", phase.name, i, op_name(op).c_str());
        if (op.is_wait() && kernel) {
          ++(*phase.list)[i].op.wait_value;
          EXPECT_FALSE(harmless(p)) << what << " weakened";
          *phase.list = whole;
        }
        phase.list->erase(i);
        EXPECT_FALSE(harmless(p)) << what << " removed";
        *phase.list = whole;
      }
    }
  }
}

std::string kernel_text(const Pipeline& p) { return to_text(p.schedule.kernel, p.costs); }

// The steady state that hand-written rings have: S - 1 groups ahead, wait for S - 2, one barrier.
TEST(Compile, copy_ring_has_the_known_steady_state) {
  for (const int slots : {3, 4, 5}) {
    const Pipeline p = compile(copy_ring(targets::sm80), targets::sm80, {.depth = slots});
    ASSERT_TRUE(p.ok());
    EXPECT_EQ(kernel_text(p), fmt::format("CG{} BAR LA LB CC FA0 FB0 MMA0 FA1 FB1 MMA1", slots - 2));
    std::string prologue, epilogue;
    for (int i = 0; i < slots - 1; ++i) {
      prologue += i == 0 ? "LA LB CC" : " LA LB CC";
      epilogue += fmt::format("{}CG{} BAR FA0 FB0 MMA0 FA1 FB1 MMA1", i == 0 ? "" : " ", slots - 2 - i);
    }
    EXPECT_EQ(to_text(p.schedule.prologue, p.costs), prologue);
    EXPECT_EQ(to_text(p.schedule.epilogue, p.costs), epilogue);
    EXPECT_EQ(p.interval(), 512);
  }
}

TEST(Compile, cdna_bodies) {
  const Pipeline pong = compile(ping_pong(targets::gfx950), targets::gfx950);
  EXPECT_EQ(kernel_text(pong),
            "LA00 BAR LA01 LB00 LB01 FA00 FA01 FB00 FB01 LG4 PR1 MMA00 LG0 MMA01 PR0 VM0 BAR PR1 MMA10 MMA11 PR0");
  EXPECT_EQ(pong.interval(), pong.mii());
  EXPECT_EQ(pong.shared(), 128 * 1024);
  EXPECT_EQ(pong.registers.peak, 128 + 64 + 32);
  const Pipeline four = compile(four_wave(targets::gfx950), targets::gfx950);
  EXPECT_EQ(kernel_text(four),
            "VM8 BAR LA00 LB00 FA00 FB00 PR1 MMA11 PR0 LA01 LB01 FA01 FB01 LG8 PR1 MMA00 LG0 MMA01 MMA10 PR0");
  EXPECT_TRUE(four.placement.optimal());
  const Pipeline single = compile(default_matmul(targets::gfx950), targets::gfx950);
  EXPECT_EQ(kernel_text(single), "LD LG0 BAR FR0 FR1 LG8 PR1 MM0 LG0 MM1 PR0 BAR VM0 ST");
  EXPECT_EQ(single.interval(), 992) << "copy to registers and store share the staging registers";
}

// Half as many MFMAs, each twice as long: what the fp8 kernels rely on when they share the schedules of bf16.
TEST(Compile, fp8_has_the_schedule_of_bf16) {
  const KernelGeometry wide{.bk = 128, .mma_k = 128, .elem_bytes = 1};
  EXPECT_EQ(detail::mfma_cycles(targets::gfx950, {}), 16);
  EXPECT_EQ(detail::mfma_cycles(targets::gfx950, wide), 32);
  EXPECT_EQ(detail::mfma_cycles(targets::gfx942, {.mma_k = 16}), 16);
  EXPECT_EQ(detail::mfma_cycles(targets::gfx942, {.mma_k = 32, .elem_bytes = 1}), 16);
  const auto expect_same = [](const Pipeline& fp8, const Pipeline& bf16) {
    ASSERT_TRUE(fp8.ok());
    EXPECT_TRUE(fp8.schedule.prologue == bf16.schedule.prologue);
    EXPECT_TRUE(fp8.schedule.kernel == bf16.schedule.kernel) << kernel_text(fp8);
    EXPECT_TRUE(fp8.schedule.epilogue == bf16.schedule.epilogue);
    EXPECT_EQ(fp8.interval(), bf16.interval());
    EXPECT_EQ(fp8.depths.size(), bf16.depths.size());
  };
  const Target& target = targets::gfx950;
  expect_same(compile(ping_pong(target, wide), target), compile(ping_pong(target), target));
  KernelGeometry four = wide;
  four.bm = four.bn = 128;
  four.warps_n = 2;
  expect_same(compile(four_wave(target, four), target), compile(four_wave(target), target));
}

TEST(Diff, names_what_only_one_schedule_has) {
  const Pipeline three = compile(copy_ring(targets::sm80), targets::sm80, {.depth = 3});
  const Pipeline four = compile(copy_ring(targets::sm80), targets::sm80, {.depth = 4});
  EXPECT_EQ(diff(three.schedule, three.schedule, three.costs), "");
  const std::string lines = diff(three.schedule, four.schedule, three.costs);
  EXPECT_NE(lines.find("+ prologue 6 LA\n+ prologue 7 LB\n+ prologue 8 CC\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("- kernel 0 CG1\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("+ kernel 0 CG2\n"), std::string::npos) << lines;
  Schedule without = three.schedule;
  without.kernel.erase(1);
  EXPECT_EQ(diff(three.schedule, without, three.costs), "- kernel 1 BAR\n");
  EXPECT_EQ(diff(without, three.schedule, three.costs), "+ kernel 1 BAR\n");
}

TEST(Compile, is_the_same_for_every_strategy_in_what_it_proves) {
  const auto check = [](const auto& strategy) {
    const Pipeline p = compile(four_wave(targets::gfx950), targets::gfx950, {}, strategy);
    ASSERT_TRUE(p.ok()) << to_text(p.error);
    for (int n = 0; n <= 8; ++n) EXPECT_TRUE(clean(p, n)) << p.placement.strategy.c_str() << " " << n;
  };
  check(Identity{});
  check(Greedy{});
  check(Ims{});
  check(Exact{});
}

// --- depth

TEST(Depth, a_smaller_one_costs_interval) {
  const Pipeline one = compile(copy_ring(targets::sm80), targets::sm80, {.depth = 1});
  EXPECT_EQ(one.interval(), 633) << "600 for the copy, 33 for the read of the last fragment";
  Target small = targets::sm80;
  small.shared_bytes = 20 * 1024;
  const Pipeline limited = compile(copy_ring(small), small);
  ASSERT_TRUE(limited.ok()) << to_text(limited.error);
  EXPECT_EQ(limited.depths[0].depth, 1);
  EXPECT_EQ(limited.free_interval, 512);
  EXPECT_EQ(limited.interval(), 633);
  for (int n = 0; n <= 6; ++n) EXPECT_TRUE(clean(limited, n));
}

TEST(Depth, follows_the_latency_of_the_copy) {
  int before = 0;
  for (const int latency : {100, 600, 1500, 3000}) {
    BodySpec s = copy_ring(targets::sm80);
    s.least_depth = 1;
    for (OpNode& n : s.loop.ops)
      if (n.op.role == OpRole::global_load) n.latency = latency;
    const Pipeline p = compile(s, targets::sm80);
    ASSERT_TRUE(p.ok());
    const int life = latency + 33 + 33;  // until the last fragment, which is read behind the first
    EXPECT_EQ(p.depths[0].depth, (life + 511) / 512) << latency;
    EXPECT_GE(p.depths[0].depth, before);
    before = p.depths[0].depth;
    for (int n = 0; n <= 10; ++n) EXPECT_TRUE(clean(p, n)) << n;
  }
}

// --- barriers

int fewest_by_trial(const List<BarrierInterval>& intervals, int n) {
  for (int count = 0;; ++count) {
    std::vector<int> places(size_t(count), 0);
    for (;;) {
      List<int> list;
      for (const int x : places) list.push_back(x);
      bool all = true;
      for (const BarrierInterval& i : intervals) all = all && detail::hits(list, i, n) >= i.barriers;
      if (all) return count;
      int at = 0;
      while (at < count && ++places[size_t(at)] == n) places[size_t(at++)] = 0;
      if (at == count) break;
    }
  }
}

TEST(Barriers, are_the_fewest) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 400; ++trial) {
    const int n = 3 + int(random() % 5);
    List<BarrierInterval> intervals;
    for (int i = int(random() % 6); i >= 0; --i) {
      const int first = 1 + int(random() % 10);
      intervals.push_back({first, first + int(random() % unsigned(n + 2)), 1 + int(random() % 4 == 0)});
    }
    const List<int> places = stab_intervals(intervals, n);
    for (const BarrierInterval& i : intervals) EXPECT_GE(detail::hits(places, i, n), i.barriers) << trial;
    EXPECT_EQ(int(places.size()), fewest_by_trial(intervals, n)) << trial;
  }
  EXPECT_TRUE(stab_intervals({}, 5).empty());
}

TEST(Barriers, stagger_is_one_meeting_more_one_way_and_one_less_the_other) {
  const BodySpec s = ping_pong(targets::gfx950);
  const List<BufferDepth> two = uniform_depths(s.buffers, 2);
  int most = 0, without = 0;
  for (const SyncDep& d : sync_deps(s.loop, two, targets::gfx950, 2, 1)) most = std::max(most, d.barriers);
  for (const SyncDep& d : sync_deps(s.loop, two, targets::gfx950, 2, 0)) without = std::max(without, d.barriers);
  EXPECT_EQ(most, 2);
  EXPECT_EQ(without, 1);
  // Compiled as if the groups were in step, the schedule does not survive the stagger.
  BodySpec in_step = s;
  in_step.stagger = 0;
  Pipeline p = compile(in_step, targets::gfx950);
  for (int n = 0; n <= 6; ++n) EXPECT_TRUE(clean(p, n));
  p.shape.staggered = true;
  EXPECT_FALSE(verify(p, 6).empty());
}

// --- what is refused

Code error_of(const BodySpec& s, const Target& t, const CompileOptions& o = {}) { return compile(s, t, o).error.code; }

TEST(Compile, refuses_by_name) {
  using targets::gfx942, targets::gfx950, targets::sm80, targets::sm90a;
  const Pipeline lds = compile(ping_pong(gfx942), gfx942);
  EXPECT_EQ(lds.error.code, Code::smem_capacity);
  EXPECT_EQ(std::pair(lds.error.have, lds.error.need), std::pair(64 * 1024, 128 * 1024));
  EXPECT_FALSE(verify(lds, 3).empty());
  EXPECT_EQ(error_of(four_wave(gfx942), gfx942), Code::unit_missing);
  EXPECT_EQ(error_of(copy_ring(gfx950), gfx950), Code::unit_missing);
  EXPECT_EQ(error_of(tma_ring(sm80), sm80), Code::unit_missing);
  EXPECT_EQ(error_of(default_matmul(sm90a), sm90a), Code::unit_missing);
  EXPECT_EQ(error_of(copy_ring(sm80), sm80, {.depth = 11}), Code::smem_capacity);
  EXPECT_EQ(error_of(copy_ring(sm80), sm80, {.unroll = 0}), Code::config_invalid);
  const Pipeline fast = compile(copy_ring(sm80), sm80, {.interval = 511});
  EXPECT_EQ(fast.error.code, Code::ii_infeasible);
  EXPECT_EQ(std::pair(fast.error.have, fast.error.need), std::pair(511, 512));
  EXPECT_EQ(fast.error.a, Name("mma_unit"));
  BodySpec crowded = ping_pong(gfx950);
  crowded.waves_per_simd = 4;
  EXPECT_EQ(error_of(crowded, gfx950), Code::register_capacity);
  BodySpec unknown = four_wave(gfx950);
  unknown.loop.ops[5].op.role = OpRole::none;
  EXPECT_EQ(error_of(unknown, gfx950), Code::cost_missing);
  // A fragment of the tile that only this iteration's product makes: no order exists.
  BodySpec cyclic = copy_ring(sm80);
  cyclic.loop.ops[0].accesses.add({Space::registers, AccessMode::read, kSharedA, 1, 0, -1, kAllRoles});
  const Pipeline cycle = compile(cyclic, sm80);
  EXPECT_EQ(cycle.error.code, Code::graph_cycle);
  EXPECT_FALSE(cycle.error.a.empty());
}

TEST(Compile, waits_fit_their_field) {
  BodySpec s = four_wave(targets::gfx950);
  // More reads than lgkmcnt can count: the wait is for as many as it can name, and still right.
  for (const Tag t : {body_tags::frag_a, body_tags::frag_b}) s.costs.costs[t.value].ticks = 12;
  for (OpNode& n : s.loop.ops)
    if (n.op.role == OpRole::fragment_load) n.ticks = 12;
  const Pipeline p = compile(s, targets::gfx950);
  ASSERT_TRUE(p.ok());
  EXPECT_NE(kernel_text(p).find("LG15"), std::string::npos) << kernel_text(p);
  for (int n = 0; n <= 8; ++n) EXPECT_TRUE(clean(p, n));
}

// --- bodies that no kernel has

BodySpec random_body(std::mt19937& random, const Target& target) {
  using enum AccessMode;
  const auto below = [&random](int n) { return int(random() % unsigned(n)); };
  namespace t = body_tags;
  detail::BodyWriter w("random");
  const bool cdna = target.wave_size == 64;
  w.cost(t::load_a, ResourceKind::global_mem, 50 + below(900), OpRole::global_load, 0, 1 + below(4), 0, "LA");
  w.cost(t::load_b, ResourceKind::global_mem, 50 + below(900), OpRole::global_load, 0, 1 + below(4), 0, "LB");
  w.cost(t::frag_a, ResourceKind::lds, 10 + below(150), OpRole::fragment_load, 0, cdna ? 1 + below(8) : 0, 8, "FA");
  w.cost(t::frag_b, ResourceKind::lds, 10 + below(150), OpRole::fragment_load, 0, cdna ? 1 + below(8) : 0, 8, "FB");
  const int cycles = 20 + below(300);
  w.cost(t::mma, ResourceKind::mma_unit, cycles, OpRole::compute, cycles, 0, 16, "MMA");
  const int m = 1 + below(3), n = 1 + below(2);
  for (int i = 0; i < m; ++i) w.op(t::load_a, 0, 0, i, {detail::in_shared(write, kSharedA, detail::part(i))});
  for (int i = 0; i < n; ++i) w.op(t::load_b, 1, 0, i, {detail::in_shared(write, kSharedB, detail::part(i))});
  const bool staggered = cdna && below(2) == 0;
  for (int i = 0; i < m; ++i) {
    const uint8_t reads = below(2) == 0 ? detail::part(i) : uint8_t((1 << m) - 1);
    const bool apart = staggered && below(2) == 0;  // each group reads a part of its own
    w.op(t::frag_a, 0, 0, i,
         {detail::in_shared(read, kSharedA, reads, apart ? detail::part(0) : kAllRoles),
          detail::in_shared(read, kSharedA, detail::part(below(m)), detail::part(1)),
          detail::in_registers(write, kSharedA, detail::part(i))});
  }
  for (int i = 0; i < n; ++i) {
    w.op(t::frag_b, 1, 0, i,
         {detail::in_shared(read, kSharedB, detail::part(i)), detail::in_registers(write, kSharedB, detail::part(i))});
  }
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      w.op(t::mma, -1, i, j,
           {detail::in_registers(read, kSharedA, detail::part(i)),
            detail::in_registers(read, kSharedB, detail::part(j)), detail::accumulate(i * n + j)});
    }
  }
  BodySpec s = w.spec();
  detail::tile_buffers(s, 1024, 2048);
  s.least_depth = 1 + below(3);
  if (staggered) s.roles = 2, s.stagger = 1, s.stagger_cycles = below(200);
  return s;
}

TEST(Compile, random_bodies_are_proven) {
  std::mt19937 random(20);
  const Target* const list[] = {&targets::gfx942, &targets::gfx950, &targets::sm80};
  int deepest = 0, staggered = 0;
  for (int trial = 0; trial < 150; ++trial) {
    SCOPED_TRACE(trial);
    const Target& target = *list[random() % 3];
    const BodySpec s = random_body(random, target);
    const CompileOptions options{.depth = random() % 3 == 0 ? 1 + int(random() % 4) : 0,
                                 .unroll = 1 + int(random() % 3)};
    const Pipeline p = random() % 4 == 0 ? compile(s, target, options, Greedy{}) : compile(s, target, options);
    ASSERT_TRUE(p.ok()) << to_text(p.error);
    deepest = std::max(deepest, p.stages());
    staggered += p.stagger;
    for (int n = 0; n <= 2 * p.stages() + 2; ++n) {
      ASSERT_EQ(first_text(verify(p, n)), "clean") << n << " iterations";
    }
    ASSERT_EQ(first_text(find_vacuous_waits(p)), "clean");
  }
  EXPECT_GE(deepest, 5);
  EXPECT_GE(staggered, 20);
}

// --- time

TEST(Compile, two_hundred_ops_at_the_first_attempt) {
  const auto begin = std::chrono::steady_clock::now();
  const Pipeline p = compile(copy_ring(targets::sm80), targets::sm80, {.unroll = 25});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(p.ok()) << to_text(p.error);
  EXPECT_EQ(p.body.size(), 200);
  EXPECT_EQ(p.placement.tried, 1);
  EXPECT_TRUE(p.placement.optimal());
  EXPECT_LT(seconds, 1);
  fmt::print("200 ops compiled in {:.3f} s\n", seconds);
  for (int n = 0; n <= 3; ++n) EXPECT_EQ(first_text(verify(p, n)), "clean");
}

}  // namespace

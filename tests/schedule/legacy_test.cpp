// The reference's derivations, pinned to its sequences, edge lists and counts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "warpwright/schedule/legacy/schedules.h"
#include "warpwright/schedule/legacy/standing.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;
using namespace warpwright::schedule::legacy;

std::string text(const EntryList& list, const Compiled& c) { return to_text(list, c.costs); }
std::string text(const List<OpDesc>& ops, const TargetCostModel& m) {
  EntryList list;
  for (const OpDesc& op : ops) append(list, op, Phase::kernel);
  return to_text(list, m);
}
std::string replaced(const std::string& s, const std::string& from, const std::string& to) {
  std::string out;
  for (size_t at = 0; at < s.size();) {
    const bool here = s.compare(at, from.size(), from) == 0;
    out.append(here ? to : s.substr(at, 1));
    at += here ? from.size() : 1;
  }
  return out;
}
// "a b / c d": the bars between blocks are for the reader.
std::string joined(const std::string& s) { return replaced(s, " / ", " "); }
std::string repeated(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out.append(i == 0 ? "" : " ").append(s);
  return out;
}
int count_edges(const List<DepEdge>& edges, DepKind kind, int distance) {
  int n = 0;
  for (const DepEdge& e : edges) n += e.kind == kind && e.distance == distance;
  return n;
}
using Deps = List<KernelDep>;

// --- single buffer

struct SingleBufferGolden {
  int tiles;
  const char *body, *epilogue;
  int edges, kernel;
};
const SingleBufferGolden kSingle[] = {
    {1, "MM0 BAR ST LD BAR FR0", "SB BAR ST MM0 SB BAR FR0 MM0 SB", 6, 38},
    {2, "FR1 MM0 BAR ST LD MM1 BAR FR0", "SB FR1 BAR ST MM0 MM1 SB BAR FR1 FR0 MM0 MM1 SB", 8, 56},
    {4, "FR1 FR2 FR3 MM0 BAR ST LD MM1 MM2 MM3 BAR FR0",
     "SB FR1 FR2 FR3 BAR ST MM0 MM1 MM2 MM3 SB BAR FR1 FR2 FR3 FR0 MM0 MM1 MM2 MM3 SB", 12, 92},
};

TEST(DefaultMatmul, phases) {
  for (const SingleBufferGolden& g : kSingle) {
    SCOPED_TRACE(g.tiles);
    const DefaultMatmul spec{g.tiles};
    const Compiled c = compile(spec);
    EXPECT_EQ(text(spec.build_body(), c.costs), g.body);
    EXPECT_EQ(text(c.kernel, c).substr(0, std::string(g.body).size()), g.body);
    EXPECT_EQ(text(c.prologue, c), "LD ST BAR LD FR0 SB");
    EXPECT_EQ(text(c.epilogue, c), g.epilogue);
    EXPECT_EQ(int(c.body.edges.size()), g.edges);
    EXPECT_EQ(int(c.kernel.size()), g.kernel);
    EXPECT_EQ(c.warp_stagger_index, 7);
    EXPECT_EQ(c.kernel_deps.size(), c.body.edges.size());
    EXPECT_TRUE(c.findings.empty());
  }
}

TEST(DefaultMatmul, edges) {
  constexpr DepKind F = DepKind::flow, A = DepKind::anti;
  using Edges = List<DepEdge>;
  EXPECT_EQ(compile(DefaultMatmul{2}).body.edges, (Edges{{0, 5, F, 0},
                                                         {2, 3, F, 0},
                                                         {3, 6, F, 0},
                                                         {6, 7, F, 0},
                                                         {0, 2, A, 0},
                                                         {7, 1, F, 1},
                                                         {4, 3, F, 1},
                                                         {7, 3, A, 1}}));
  EXPECT_EQ(compile(DefaultMatmul{1}).body.edges,
            (Edges{{1, 2, F, 0}, {2, 4, F, 0}, {4, 5, F, 0}, {5, 0, F, 1}, {3, 2, F, 1}, {5, 2, A, 1}}));
}

TEST(DefaultMatmul, hints) {
  const Compiled two = compile(DefaultMatmul{2}), one = compile(DefaultMatmul{1});
  const std::string reads = repeated("SGB(0,1) SGB(3,2)", 8);
  EXPECT_EQ(text(two.kernel, two), fmt::format("{} {} {} {}", kSingle[1].body, reads,
                                               repeated("SGB(1,1) SGB(3,0) SGB(2,1) SGB(3,0)", 4), reads));
  EXPECT_EQ(text(one.kernel, one),
            fmt::format("{} {} {}", kSingle[0].body, repeated("SGB(1,1) SGB(3,2) SGB(2,1) SGB(3,2)", 4), reads));
}

TEST(Recipes, have_six_and_ten_steps) {
  EXPECT_EQ(single_buffer_prologue_recipe().size(), 6u);
  EXPECT_EQ(single_buffer_epilogue_recipe().size(), 10u);
}

TEST(EdgeRules, are_five_and_eight) {
  EXPECT_EQ(double_buffer_rules().size(), 5u);
  EXPECT_EQ(single_buffer_rules().size(), 8u);
}

TEST(OptimizeWithinBarriers, keeps_length_barriers_and_order) {
  List<OpDesc> ops = DefaultMatmul{4}.logical_body();
  annotate(ops, single_buffer::mi355x_costs());
  ops = single_buffer_reorder(ops, LoopCarriedSpec::fragment_zero());
  LoopBody body(ops, single_buffer::mi355x_costs());
  body.edges = apply_edge_rules(ops, single_buffer_rules(), PipelineConfig::mi355x_single());
  EXPECT_EQ(optimize_within_barriers(body), ops);
}

// --- ping-pong

const char* kBodyOne =
    "FB00 FA00 LA11@K-1 MMA00 FB01 LA00@K0 MMA01 FA01 LB00@K0 MMA10 LB01@K0 MMA11 FB10 FA10 LA01@K0 MMA00 FB11 "
    "LA10@K1 MMA01 FA11 LB10@K1 MMA10 LB11@K1 MMA11";
const char* kBodyZero =
    "FB00 FA00 LA11@K-1 MMA00 FB01 MMA01 FA01 LA00@K0 LB00@K0 MMA10 LB01@K0 MMA11 FB10 FA10 LA01@K0 MMA00 FB11 MMA01 "
    "FA11 LA10@K1 LB10@K1 MMA10 LB11@K1 MMA11";

PingPong identity(int max_globals, bool auto_waits) {
  PingPong p;
  p.strategy = Strategy::identity;
  p.max_globals = max_globals;
  p.overrides.auto_waits = auto_waits;
  return p;
}

TEST(PingPongBody, interleaves_as_pinned) {
  const TargetCostModel m = double_buffer::mi355x_costs();
  EXPECT_EQ(text(PingPong::bf16().build_body(), m), kBodyOne);
  EXPECT_EQ(text(PingPong::fp8().build_body(), m), kBodyZero);
  PingPong uniform = PingPong::fp8();
  uniform.sizing = BlockSizing::uniform(3);
  EXPECT_EQ(text(uniform.build_body(), m).substr(0, 16), "FB00 FA00 MMA00 ");
  int roles[3] = {};
  for (const OpDesc& op : PingPong::bf16().build_body()) {
    roles[0] += op.role == OpRole::global_load;
    roles[1] += op.role == OpRole::fragment_load;
    roles[2] += op.role == OpRole::compute;
  }
  EXPECT_EQ(std::tuple(roles[0], roles[1], roles[2]), std::tuple(8, 8, 8));
}

TEST(PingPongEdges, are_the_54_of_the_rules_in_their_order) {
  const LoopBody body = compile(PingPong::fp8()).body;
  List<DepEdge> want;
  const auto add = [&](DepKind kind, int distance, std::initializer_list<std::pair<int, int>> pairs) {
    for (const auto& [p, c] : pairs) want.push_back({p, c, kind, distance});
  };
  constexpr DepKind F = DepKind::flow, A = DepKind::anti;
  add(F, 0,
      {{0, 3},
       {0, 9},
       {1, 3},
       {1, 5},
       {4, 5},
       {4, 11},
       {6, 9},
       {6, 11},
       {12, 15},
       {12, 21},
       {13, 15},
       {13, 17},
       {16, 17},
       {16, 23},
       {18, 21},
       {18, 23}});
  add(F, 0, {{3, 15}, {5, 17}, {9, 21}, {11, 23}});
  add(F, 1, {{15, 3}, {17, 5}, {21, 9}, {23, 11}});
  add(F, 0, {{2, 13}, {2, 18}});
  add(F, 1,
      {{7, 1},
       {7, 6},
       {8, 0},
       {8, 4},
       {10, 0},
       {10, 4},
       {14, 1},
       {14, 6},
       {19, 13},
       {19, 18},
       {20, 12},
       {20, 16},
       {22, 12},
       {22, 16}});
  add(A, 0,
      {{0, 8},
       {0, 10},
       {1, 7},
       {1, 14},
       {4, 8},
       {4, 10},
       {6, 7},
       {6, 14},
       {12, 20},
       {12, 22},
       {13, 19},
       {16, 20},
       {16, 22},
       {18, 19}});
  EXPECT_EQ(body.edges, want);
  EXPECT_EQ(want.size(), 54u);
  EXPECT_EQ(PipelineConfig::mi355x_double().total_edges(), 54);
  for (const PingPong& p : {PingPong::bf16(), PingPong::fp8()}) {
    const LoopBody b = compile(p).body;
    EXPECT_EQ(count_edges(b.edges, F, 0), 22);
    EXPECT_EQ(count_edges(b.edges, F, 1), 18);
    EXPECT_EQ(count_edges(b.edges, A, 0), 14);
    EXPECT_TRUE(b.validate().ok());
  }
}

TEST(PingPongBody, asap_bound_makespan_and_pressure) {
  const LoopBody b = compile(PingPong::fp8()).body;
  EXPECT_EQ(b.compute_asap(), (List<int>{0, 0,   0,  20,  0, 20,  0,   20,  20, 20,  20, 20,
                                         0, 200, 20, 220, 0, 220, 200, 220, 20, 220, 20, 220}));
  EXPECT_EQ(lower_bound(b), 420);
  const Evaluation v = evaluate(b, identity_order(24));
  EXPECT_EQ(v.makespan, 420);
  EXPECT_EQ(v.peak_vgpr, 96);
}

TEST(PingPongOrder, greedy_and_search) {
  const LoopBody zero = compile(PingPong::fp8()).body, one = compile(PingPong::bf16()).body;
  EXPECT_EQ(greedy_schedule(zero).value, identity_order(24));
  EXPECT_EQ(greedy_schedule(one).value,
            (Order{0, 1, 2, 3, 4, 6, 7, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 17, 20, 21, 22, 23}));
  // The seed meets the bound, so the search does not start.
  EXPECT_EQ(optimal_schedule_with_halves(one, 1, 0, 999999).value, greedy_schedule(one).value);
  for (const auto& [penalty, makespan] : {std::pair{5, 455}, {10, 490}, {20, 560}}) {
    EXPECT_EQ(lower_bound(one, penalty), 420);
    EXPECT_EQ(evaluate(one, greedy_schedule(one).value, penalty).makespan, makespan);
  }
}

const char* kBf16Kernel =
    "FB00 FA00 LA11@K-1 LG8 BAR LG0 PR1 MMA00 PR0 BAR SB / FB01 LB00@K0* BAR LG0 PR1 MMA01 PR0 BAR / "
    "FA01 LA00@K0* BAR LG0 PR1 MMA10 PR0 BAR SB / LB01@K0* VM6 BAR PR1 MMA11 PR0 BAR / "
    "FB10 FA10 LA01@K0* LG8 BAR LG0 PR1 MMA00 PR0 BAR SB / FB11 LB10@K1* BAR LG0 PR1 MMA01 PR0 BAR / "
    "FA11 LA10@K1* BAR LG0 PR1 MMA10 PR0 BAR SB / LB11@K1* VM6 BAR PR1 MMA11 PR0 BAR";

TEST(PingPongBf16, phases) {
  const Compiled c = compile(PingPong::bf16());
  EXPECT_EQ(text(c.kernel, c), joined(kBf16Kernel));
  EXPECT_EQ(c.kernel.size(), 70u);
  EXPECT_EQ(text(c.prologue, c), "LB00@K0 LA00@K0 LB01@K0 LA01@K0 VM0 BAR LB10@K1 LA10@K1 LB11@K1 VM0");
  EXPECT_EQ(text(c.epilogue, c),
            joined("LG0 FB00 FA00 LA11@K-1 BAR LG0 PR1 MMA00 PR0 BAR / LG0 FB01 VM0 BAR LG0 PR1 MMA01 PR0 BAR / "
                   "LG0 FA01 VM0 BAR LG0 PR1 MMA10 MMA11 PR0 BAR / LG0 FB10 FA10 VM0 BAR LG0 PR1 MMA00 PR0 BAR / "
                   "LG0 FB11 VM0 BAR LG0 PR1 MMA01 PR0 BAR / LG0 FA11 BAR LG0 PR1 MMA10 MMA11 PR0 BAR / BAR"));
  EXPECT_EQ(c.epilogue.size(), 58u);
  EXPECT_EQ(c.warp_stagger_index, 4);
  EXPECT_EQ(c.waits, (DerivedWaits{8, 6}));
  EXPECT_EQ(c.kernel_deps, (Deps{{3, 7}, {3, 7}, {7, 16}, {16, 24}, {38, 42}, {38, 42}, {42, 51}, {51, 59}}));
  const WaitCounts k = count_waits(c.kernel), e = count_waits(c.epilogue);
  EXPECT_EQ(std::tuple(k.vm, k.lgkm, k.barrier, k.sched_barrier, k.set_prio, k.data), std::tuple(2, 8, 16, 4, 16, 24));
  EXPECT_EQ(std::tuple(e.vm, e.lgkm, e.barrier, e.set_prio), std::tuple(4, 12, 13, 12));
  EXPECT_TRUE(c.findings.empty());
  // The reference's prologue loses the channel of a load.
  EXPECT_EQ(c.prologue[0].op.channel, -1);
  EXPECT_EQ(c.prologue[0].op.vm_cost, 2);
  const int starts[] = {0, 11, 19, 28, 35, 46, 54, 63};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(c.program.block_start(i), starts[i]);
}

TEST(PingPongBf16, test_configuration_changes_the_vm_wait_only) {
  PingPong p;
  p.vm_a = p.vm_b = 4;
  p.lgkm_a = p.lgkm_b = 8;
  const Compiled c = compile(p);
  EXPECT_EQ(text(c.kernel, c), replaced(joined(kBf16Kernel), "VM6", "VM12"));
  EXPECT_EQ(c.waits, (DerivedWaits{8, 12}));
}

TEST(PingPongBf16, drain_masks) {
  const auto drained = [](auto change) {
    PingPong p;
    change(p.overrides);
    const Compiled c = compile(p);
    uint32_t mask = 0;
    for (int i = 0; i < 8; ++i) mask |= uint32_t(c.program.blocks[size_t(i)].drain_lgkm_before_loads) << i;
    return std::pair(mask, c.kernel.size());
  };
  EXPECT_EQ(drained([](auto& s) { s.auto_drain = true; }), std::pair(0b00010001u, size_t(72)));
  EXPECT_EQ(drained([](auto& s) { s.drain_lgkm_mask = 0b11011101; }), std::pair(0b01010101u, size_t(74)));
  EXPECT_EQ(drained([](auto& s) { s.drain_lgkm_mask = 0xff; }), std::pair(0b01110111u, size_t(76)));
}

TEST(PingPongIdentity, is_the_70_entry_kernel_of_the_reference_test) {
  const Compiled c = compile(identity(1, false));
  EXPECT_EQ(text(c.kernel, c),
            joined("FB00 FA00 LA11@K-1 LG8 BAR LG0 PR1 MMA00 PR0 BAR SB / FB01 LA00@K0* BAR LG0 PR1 MMA01 PR0 BAR / "
                   "FA01 LB00@K0* BAR LG0 PR1 MMA10 PR0 BAR SB / LB01@K0* VM6 BAR PR1 MMA11 PR0 BAR / "
                   "FB10 FA10 LA01@K0* LG8 BAR LG0 PR1 MMA00 PR0 BAR SB / FB11 LA10@K1* BAR LG0 PR1 MMA01 PR0 BAR / "
                   "FA11 LB10@K1* BAR LG0 PR1 MMA10 PR0 BAR SB / LB11@K1* VM6 BAR PR1 MMA11 PR0 BAR"));
  EXPECT_EQ(c.kernel.size(), 70u);
  EXPECT_EQ(text(c.prologue, c), "LA00@K0 LB00@K0 LB01@K0 LA01@K0 VM0 BAR LA10@K1 LB10@K1 LB11@K1 VM0");
  EXPECT_EQ(c.kernel_deps.size(), 8u);
  int prefetches = 0, others = 0;
  for (const ScheduleEntry& e : c.kernel) {
    prefetches += e.is_prefetch;
    others += e.op.role == OpRole::global_load && !e.is_prefetch;
  }
  EXPECT_EQ(std::pair(prefetches, others), std::pair(7, 1));
  for (const MMABlockSpec& b : c.program.blocks) EXPECT_EQ(b.global_count(), 1);
}

TEST(PingPongFp8, phases) {
  const Compiled c = compile(PingPong::fp8()), bf16 = compile(PingPong::bf16());
  EXPECT_EQ(text(c.kernel, c),
            joined("FB00 FA00 LA11@K-1 LG8 BAR LG0 PR1 MMA00 PR0 BAR SB / FB01 BAR LG0 PR1 MMA01 PR0 BAR / "
                   "FA01 LA00@K0* LB00@K0* BAR LG0 PR1 MMA10 PR0 BAR SB / LB01@K0* VM6 BAR PR1 MMA11 PR0 BAR / "
                   "FB10 FA10 LA01@K0* LG8 BAR LG0 PR1 MMA00 PR0 BAR SB / FB11 BAR LG0 PR1 MMA01 PR0 BAR / "
                   "FA11 LA10@K1* LB10@K1* BAR LG0 PR1 MMA10 PR0 BAR SB / LB11@K1* VM6 BAR PR1 MMA11 PR0 BAR"));
  EXPECT_EQ(c.kernel.size(), 70u);
  EXPECT_EQ(text(c.prologue, c), "LA00@K0 LB00@K0 LB01@K0 LA01@K0 VM0 BAR LA10@K1 LB10@K1 LB11@K1 VM0");
  EXPECT_EQ(text(c.epilogue, c), replaced(text(bf16.epilogue, bf16), "FB01 VM0", "FB01"));
  EXPECT_EQ(c.epilogue.size(), 57u);
  EXPECT_EQ(c.kernel_deps, (Deps{{3, 7}, {3, 7}, {7, 15}, {15, 24}, {38, 42}, {38, 42}, {42, 50}, {50, 59}}));
  const Compiled skinny = compile(PingPong::fp8_skinny());
  EXPECT_EQ(skinny.waits, (DerivedWaits{4, 5}));
}

// --- 4-wave

std::string four_wave_kernel(int v, int g, bool fences) {
  std::string out;
  for (int half = 0; half < 2; ++half) {
    out += fmt::format(
        "{sb}VM{vm} LG{g} BAR {sb}FB{own}1 SB LA{own}0@K{own} MMA00 {sb}LG0 {sb}FA{own}1 SB LB{own}0@K{own} MMA01 "
        "{sb}VM{vm} LG0 BAR {sb}FA{other}0 SB LB{own}1@K{own} MMA10 FB{other}0 SB LA{own}1@K{own} {sb}VM{vm} "
        "{sb}MMA11 ",
        fmt::arg("sb", fences ? "SB " : ""), fmt::arg("vm", 4 * v), fmt::arg("g", g), fmt::arg("own", half),
        fmt::arg("other", 1 - half));
  }
  return out.substr(0, out.size() - 1);
}

TEST(FourWave, phases) {
  for (const auto& [v, g] : {std::pair{2, 4}, {4, 8}, {1, 2}}) {
    SCOPED_TRACE(v);
    const Compiled c = compile(FourWave{v, g}), fenced = compile(FourWave{v, g, true});
    EXPECT_EQ(text(c.kernel, c), four_wave_kernel(v, g, false));
    EXPECT_EQ(text(fenced.kernel, fenced), four_wave_kernel(v, g, true));
    EXPECT_EQ(c.kernel.size(), 48u);
    EXPECT_EQ(fenced.kernel.size(), 64u);
    EXPECT_EQ(text(c.prologue, c), fmt::format("LA00@K0 LB00@K0 LB01@K0 LA01@K0 LA10@K1 LB10@K1 LB11@K1 LA11@K1 VM{} "
                                               "BAR FA00 VM{} BAR FB00",
                                               7 * v, 6 * v));
    EXPECT_EQ(text(c.epilogue, c),
              "LG0 FB01 VM0 MMA00 LG0 FA01 VM0 MMA01 LG0 FA10 VM0 MMA10 LG0 FB10 VM0 MMA11 LG0 FB11 VM0 MMA00 "
              "LG0 FA11 VM0 MMA01 LG0 FA00 VM0 MMA10 LG0 FB00 MMA11 BAR");
    const WaitCounts k = count_waits(c.kernel);
    EXPECT_EQ(std::tuple(k.vm, k.lgkm, k.combined, k.barrier, k.sched_barrier), std::tuple(6, 6, 4, 4, 8));
    EXPECT_EQ(count_waits(fenced.kernel).sched_barrier, 24);
    EXPECT_EQ(c.warp_stagger_index, 15);
    EXPECT_TRUE(c.findings.empty());
  }
}

TEST(FourWave, edges_and_what_they_make_impossible) {
  const Compiled c = compile(FourWave{});
  const List<OpDesc> ops = FourWave{}.build_body();
  List<OpDesc> costed = ops;
  annotate(costed, c.costs);
  EXPECT_EQ(apply_edge_rules(costed, double_buffer_rules(), c.config).size(), 48u);
  EXPECT_EQ(rotation_edges(costed).size(), 16u);
  EXPECT_EQ(count_edges(c.body.edges, DepKind::flow, 0), 16);
  EXPECT_EQ(count_edges(c.body.edges, DepKind::flow, 1), 24);
  EXPECT_EQ(count_edges(c.body.edges, DepKind::anti, 0), 24);
  EXPECT_EQ(evaluate(c.body, identity_order(24)).makespan, 272);
  const Checked<Order> greedy = greedy_schedule(c.body);
  EXPECT_EQ(greedy.error.code, Code::strategy_unsupported);
  EXPECT_EQ(greedy.error.have, 20);
  EXPECT_EQ(greedy.error.need, 24);
}

// --- model of time

LoopBody independent(ResourceKind r, int latency, int count) {
  List<OpDesc> ops(size_t(count), OpDesc::op(data_tag(0), r, latency, OpRole::fragment_load));
  return LoopBody(ops);
}

TEST(Evaluate, serialises_units_and_the_port_under_penalty) {
  const LoopBody lds = independent(ResourceKind::lds, 20, 3);
  EXPECT_EQ(evaluate(lds, identity_order(3), 0).makespan, 20);
  EXPECT_EQ(evaluate(lds, identity_order(3), 15).makespan, 50);
  const LoopBody four = independent(ResourceKind::lds, 16, 4);
  EXPECT_EQ(lower_bound(four, 0), 16);
  EXPECT_EQ(lower_bound(four, 20), 80);
  EXPECT_EQ(evaluate(independent(ResourceKind::mma_unit, 16, 2), identity_order(2)).makespan, 32);
  EXPECT_EQ(lower_bound(independent(ResourceKind::valu, 16, 2)), 32);
}

TEST(Search, finds_a_shorter_order_when_the_space_is_small) {
  // Lowest index first runs the short chain last; the long latency should start first.
  List<OpDesc> ops = {OpDesc::op(data_tag(0), ResourceKind::mma_unit, 10, OpRole::compute),
                      OpDesc::op(data_tag(1), ResourceKind::mma_unit, 10, OpRole::compute),
                      OpDesc::op(data_tag(2), ResourceKind::lds, 40, OpRole::fragment_load)};
  LoopBody body(ops);
  body.edges = {{1, 2}};
  EXPECT_EQ(evaluate(body, simple_greedy(body)).makespan, 60);
  const Checked<Order> best = optimal_schedule(body);
  EXPECT_TRUE(best.ok());
  EXPECT_EQ(evaluate(body, best.value).makespan, 50);
}

TEST(Config, fields_and_derived_counts) {
  const PipelineConfig d = PipelineConfig::mi355x_double(1, 8, 2), s = PipelineConfig::mi355x_single();
  EXPECT_EQ(std::tuple(d.depth, d.num_partitions, d.m_mmas, d.n_mmas), std::tuple(2, 2, 2, 2));
  EXPECT_EQ(std::tuple(d.vm_per_load_a, d.vm_per_load_b), std::tuple(8, 2));
  EXPECT_EQ(std::tuple(d.total_ops(), d.total_blocks(), d.ops_per_partition()), std::tuple(24, 8, 12));
  EXPECT_EQ(d.warp_stagger, WarpStaggerRule::automatic());
  EXPECT_EQ(PipelineConfig::mi355x_double().vm_per_load_a, 4);
  EXPECT_EQ(std::tuple(s.depth, s.num_partitions, s.prologue_fill), std::tuple(1, 1, 0));
  EXPECT_EQ(s.loop_carried.role, OpRole::fragment_load);
  EXPECT_EQ(BlockSizing::default_2x2(), (BlockSizing{4, 2, 0}));
  EXPECT_EQ(derive_safe_max_globals(2), 1);
  EXPECT_EQ(derive_safe_max_globals(1), 0);
  EXPECT_EQ(derive_safe_max_globals(4), 1);
  PipelineConfig fixed = d;
  fixed.warp_stagger = WarpStaggerRule::fixed(3);
  EXPECT_EQ(stagger_index(fixed, {}, 10), 3);
}

// --- at compile time, inside the default limits

constexpr Compiled bf16() { return compile(PingPong::bf16()); }
constexpr Compiled four_wave() { return compile(FourWave{}); }
constexpr Compiled single() { return compile(DefaultMatmul{2}); }
constexpr auto kBf16 = freeze<bf16>();
static_assert(kBf16.kernel.size() == 70 && kBf16.prologue.size() == 10 && kBf16.epilogue.size() == 58);
static_assert(kBf16.warp_stagger_index == 4 && kBf16.kernel[3].op == OpDesc::wait_lgkm(8));
static_assert(freeze<four_wave>().kernel.size() == 48);
static_assert(freeze<single>().kernel.size() == 56);

template <ScheduleEntry E>
constexpr int bound_slot() {
  return E.time_slot;
}
static_assert(bound_slot<kBf16.kernel[69]>() == 69);

TEST(Freeze, gives_what_run_time_gives) {
  const Compiled c = bf16();
  EXPECT_TRUE(std::equal(c.kernel.begin(), c.kernel.end(), kBf16.kernel.begin(), kBf16.kernel.end()));
  EXPECT_TRUE(std::equal(c.epilogue.begin(), c.epilogue.end(), kBf16.epilogue.begin(), kBf16.epilogue.end()));
}

}  // namespace

// The validators and the audit on the reference's schedules: what must be found, and nothing in the repaired ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "warpwright/schedule/legacy/audit.h"
#include "warpwright/schedule/legacy/standing.h"
#include "warpwright/schedule/schedule.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;
using namespace warpwright::schedule::legacy;

// "CODE a>b role_a>role_b", with "w" when one wave alone is not ordered.
using Set = std::set<std::string>;
Set summary(const Diagnostics& list) {
  Set out;
  for (const Diagnostic& d : list) {
    std::string s = fmt::format("{} {}", word(d.code), d.a.c_str());
    if (!d.b.empty()) s.append(">").append(d.b.c_str());
    if (d.role_b >= 0) s.append(fmt::format(" {}>{}", d.role_a, d.role_b));
    if (d.same_wave) s.append(" w");
    out.insert(s);
  }
  return out;
}
template <class S>
Diagnostics hazards(const S& spec, int iterations) {
  const Compiled c = compile(spec);
  return find_hazards(c, shape_of(spec), iterations, model_of(spec, iterations), c.costs);
}
PingPong identity_one() {
  PingPong p;
  p.strategy = Strategy::identity;
  p.overrides.auto_waits = false;
  return p;
}

// H1: group 0 overwrites B one barrier phase before group 1 even issues its read.
TEST(HappensBefore, bf16_ping_pong_writes_b_before_the_other_group_reads) {
  const Diagnostics found = hazards(PingPong::bf16(), 3);
  int seen = 0;
  for (const Diagnostic& d : found) {
    EXPECT_EQ(d.code, Code::hazard_war);
    if (d.role_a == 1 && d.role_b == 0) {
      EXPECT_TRUE((d.a == Name("FB01") && d.b == Name("LB00@K0")) || (d.a == Name("FB11") && d.b == Name("LB10@K1")));
      EXPECT_EQ(d.issued, d.have + 1) << "the write is one phase early";
      ++seen;
    } else {
      EXPECT_LE(d.issued, d.have) << "the read is issued first";
    }
  }
  EXPECT_EQ(seen, 2);
}

// H2: reads are issued before the write, but not known to be complete.
TEST(HappensBefore, fp8_ping_pong_does_not_wait_for_its_reads) {
  const Set want = {
      "HAZARD_WAR FA01>LA00@K0 0>0", "HAZARD_WAR FA01>LA00@K0 0>0 w", "HAZARD_WAR FA01>LA00@K0 0>1",
      "HAZARD_WAR FA11>LA10@K1 0>0", "HAZARD_WAR FA11>LA10@K1 0>0 w", "HAZARD_WAR FA11>LA10@K1 0>1",
      "HAZARD_WAR FB01>LB00@K0 1>0", "HAZARD_WAR FB11>LB10@K1 1>0",
  };
  EXPECT_EQ(summary(hazards(PingPong::fp8(), 3)), want);
  Set bf16 = summary(hazards(PingPong::bf16(), 3));
  EXPECT_TRUE(std::includes(bf16.begin(), bf16.end(), want.begin(), want.end()));
  EXPECT_TRUE(bf16.count("HAZARD_WAR FB01>LB00@K0 0>0 w") && bf16.count("HAZARD_WAR FB01>LB00@K0 1>1 w"));
}

// H3 and H4.
TEST(HappensBefore, four_wave_kernel_and_epilogue) {
  const Set want = {"HAZARD_WAR FB00>LB00@K0 0>0", "HAZARD_WAR FB10>LB10@K1 0>0", "HAZARD_RAW LB01@K0>FB01 0>0",
                    "HAZARD_RAW LA01@K0>FA01 0>0", "HAZARD_RAW LA10@K1>FA10 0>0", "HAZARD_RAW LB10@K1>FB10 0>0",
                    "HAZARD_RAW LB11@K1>FB11 0>0", "HAZARD_RAW LA11@K1>FA11 0>0"};
  EXPECT_EQ(summary(hazards(FourWave{}, 3)), want);
  for (const Diagnostic& d : hazards(FourWave{}, 3)) {
    EXPECT_EQ(d.phase, d.code == Code::hazard_war ? Phase::kernel : Phase::epilogue);
  }
  // Without an iteration of the loop not even one wave waits for its own load.
  EXPECT_TRUE(summary(hazards(FourWave{}, 0)).count("HAZARD_RAW LB01@K0>FB01 0>0 w"));
  const Compiled c = compile(FourWave{});
  const FourWaveModel model = model_of(FourWave{}, 3);
  EXPECT_EQ(summary(find_hazards(c, FourWaveModel::shape(true), 3, model, c.costs)),
            (Set{"HAZARD_WAR FB00>LB00@K0 0>0", "HAZARD_WAR FB10>LB10@K1 0>0"}));
}

// H5.
TEST(VersionSimulator, identity_order_multiplies_different_tiles) {
  const PingPong p = identity_one();
  const Compiled c = compile(p);
  EXPECT_TRUE(c.findings.empty()) << "the reference's own checks pass";
  EXPECT_TRUE(simulate_versions(c, shape_of(p), 0, model_of(p, 0), c.costs).empty());
  for (const int n : {1, 2, 3}) {
    const Diagnostics found = simulate_versions(c, shape_of(p), n, model_of(p, n), c.costs);
    EXPECT_EQ(count_of(found, Code::version_mismatch), 4 * n);
    for (const Diagnostic& d : found) {
      EXPECT_EQ(d.role_a, 0);
      EXPECT_TRUE(d.a == Name("MMA10") || d.a == Name("MMA11"));
      EXPECT_TRUE(d.code != Code::version_mismatch || d.have == d.need + 2);
    }
  }
  EXPECT_EQ(summary(audit(c, targets::gfx950)), (Set{"ORDER_ANTI FA01>LA00@K0", "ORDER_ANTI FA11>LA10@K1"}));
}

TEST(VersionSimulator, accepts_the_other_schedules) {
  const auto clean = [](const auto& spec) {
    const Compiled c = compile(spec);
    for (const int n : {0, 1, 2, 3}) {
      if (!simulate_versions(c, shape_of(spec), n, model_of(spec, n), c.costs).empty()) return false;
    }
    return true;
  };
  EXPECT_TRUE(clean(PingPong::bf16()));
  EXPECT_TRUE(clean(PingPong::fp8()));
  EXPECT_TRUE(clean(SafePingPong{}));
  EXPECT_TRUE(clean(FourWave{}));
  for (const int tiles : {1, 2, 4}) EXPECT_TRUE(clean(DefaultMatmul{tiles}));
}

TEST(VersionSimulator, finds_a_lost_mma_and_a_swapped_store) {
  const DefaultMatmul spec{2};
  Compiled c = compile(spec);
  const DefaultModel model;
  Compiled lost = c;
  lost.kernel.erase(5);  // MM1
  const Diagnostics found = simulate_versions(lost, shape_of(spec), 2, model, c.costs);
  EXPECT_EQ(summary(found), (Set{"OP_LOST MM1>tile 0", "OP_LOST MM1>tile 1"}));
  // The load refills the staging registers before the store has read them: no edge of the reference forbids it.
  std::swap(c.kernel[3], c.kernel[4]);
  EXPECT_FALSE(simulate_versions(c, shape_of(spec), 2, model, c.costs).empty());
}

// H6.
TEST(Audit, permuted_load_declarations) {
  PingPong p;
  p.load_order = {1, 2, 3, 0};
  const Diagnostics found = audit(compile(p), targets::gfx950);
  EXPECT_GE(count_of(found, Code::order_anti), 1);
  for (const Diagnostic& d : found) {
    EXPECT_TRUE(d.code != Code::wait_too_weak || (d.have == 6 && d.need == 0));
  }
  std::array<int, 4> order = {0, 1, 2, 3};
  int both = 0, all = 0;
  do {
    p.load_order = order;
    const Compiled c = compile(p);
    EXPECT_TRUE(c.findings.empty()) << "the reference's own checks pass";
    const Diagnostics d = audit(c, targets::gfx950);
    for (const Diagnostic& w : d) {
      const bool expected = w.have == 6 && (w.need == 0 || w.need == 2 || w.need == 4);
      EXPECT_TRUE(w.code != Code::wait_too_weak || expected);
    }
    both += count_of(d, Code::order_anti) > 0 && count_of(d, Code::wait_too_weak) > 0;
    ++all;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(std::pair(both, all), std::pair(10, 24));
}

// H7.
TEST(Audit, lost_ops) {
  const auto lost = [](BlockSizing sizing) {
    PingPong p = PingPong::fp8();
    p.strategy = Strategy::identity;
    p.sizing = sizing;
    const Compiled c = compile(p);
    for (const Diagnostic& d : c.findings) EXPECT_EQ(d.code, Code::block_capacity) << to_text(d);
    return audit(c, targets::gfx950);
  };
  EXPECT_EQ(count_of(lost({4, 2, 0}), Code::op_lost), 0);
  EXPECT_EQ(count_of(lost({6, 2, 0}), Code::op_lost), 2);
  EXPECT_EQ(count_of(lost({7, 2, 0}), Code::op_lost), 4);
  EXPECT_EQ(count_of(lost({2, 2, 0}), Code::op_lost), 6);
  // H8: the derived wait does not fit its four bits.
  EXPECT_TRUE(summary(lost({6, 2, 0})).count("COUNTER_RANGE LG16>lgkmcnt"));
}

struct ThreeFrags : PingPong {
  constexpr List<OpDesc> build_body() const {
    List<OpDesc> ops = PingPong::build_body();
    // FB00 FA00 LA11 MMA00 FB01 ...: the first block takes the next block's fragment.
    std::rotate(ops.begin() + 2, ops.begin() + 4, ops.begin() + 5);
    return ops;
  }
};

TEST(Audit, a_block_holds_two_fragments) {
  ThreeFrags p;
  p.strategy = Strategy::identity;
  p.max_globals = 0;
  const Diagnostics found = audit(compile(p), targets::gfx950);
  EXPECT_TRUE(summary(found).count("BLOCK_CAPACITY FB01>block 0"));
  EXPECT_EQ(count_of(found, Code::op_lost), 1);
}

TEST(Audit, search_stops_at_its_budget_and_keeps_the_seed) {
  PingPong p;
  p.overrides.lds_contention_penalty = 20;
  const Compiled c = compile(p), seed = compile(PingPong::bf16());
  ASSERT_EQ(c.findings.size(), 1u);
  EXPECT_EQ(c.findings[0].code, Code::search_budget);
  EXPECT_EQ(std::pair(c.findings[0].have, c.findings[0].need), std::pair(560, 420));
  EXPECT_EQ(c.kernel, seed.kernel);
}

TEST(Audit, greedy_refuses_other_grids) {
  List<OpDesc> ops;
  for (int half = 0; half < 2; ++half) {
    PipelineBody b;
    b.grid(2, 3, double_buffer::mma);
    for (const OpDesc& op : b.done(double_buffer::mi355x_costs()).value) ops.push_back(op);
  }
  const Checked<Order> r = greedy_schedule(LoopBody(ops, double_buffer::mi355x_costs()));
  EXPECT_EQ(r.error.code, Code::strategy_unsupported);
  EXPECT_EQ(std::pair(r.error.have, r.error.need), std::pair(6, 4));
}

TEST(Audit, the_reference_schedules_pass_it_where_their_edges_are_right) {
  EXPECT_TRUE(audit(compile(PingPong::bf16()), targets::gfx950).empty());
  EXPECT_TRUE(audit(compile(PingPong::fp8()), targets::gfx950).empty());
  EXPECT_TRUE(audit(compile(DefaultMatmul{2}), targets::gfx942).empty());
  // Subtiles are ignored by the rules, so six of the 4-wave edges contradict the shipped order.
  EXPECT_EQ(count_of(audit(compile(FourWave{}), targets::gfx950), Code::order_anti), 6);
}

TEST(Standing, of_each_schedule) {
  EXPECT_EQ(standing_of(assess(DefaultMatmul{1})), Standing::proven);
  EXPECT_EQ(standing_of(assess(DefaultMatmul{2})), Standing::proven);
  EXPECT_EQ(standing_of(assess(DefaultMatmul{4})), Standing::proven);
  EXPECT_EQ(standing_of(assess(PingPong::bf16())), Standing::latency_dependent);
  EXPECT_EQ(standing_of(assess(PingPong::fp8())), Standing::latency_dependent);
  EXPECT_EQ(standing_of(assess(PingPong::fp8_skinny())), Standing::latency_dependent);
  EXPECT_EQ(standing_of(assess(identity_one())), Standing::broken);
  EXPECT_EQ(standing_of(assess(FourWave{})), Standing::broken);
  EXPECT_EQ(standing_of(assess(FourWave{}, compile(FourWave{}), FourWaveModel::shape(true))),
            Standing::latency_dependent);
  EXPECT_EQ(standing_of(assess(SafeFourWave{})), Standing::proven);
  EXPECT_EQ(standing_of(assess(SafePingPong{})), Standing::proven);
  EXPECT_STREQ(word(Standing::latency_dependent), "latency-dependent");
}

TEST(RepairedPingPong, drained_sequence_and_what_it_leaves) {
  const Compiled c = compile(DrainedPingPong{});
  EXPECT_EQ(to_text(c.kernel, c.costs),
            "FB00 FA00 LA11@K-1 LG8 BAR LG0 PR1 MMA00 PR0 BAR SB FB01 LG0 BAR PR1 MMA01 PR0 BAR "
            "FA01 LG0 LA00@K0* LB00@K0* BAR LG0 PR1 MMA10 PR0 BAR SB LB01@K0* VM6 BAR PR1 MMA11 PR0 BAR "
            "FB10 FA10 LA01@K0* LG8 BAR LG0 PR1 MMA00 PR0 BAR SB FB11 LG0 BAR PR1 MMA01 PR0 BAR "
            "FA11 LG0 LA10@K1* LB10@K1* BAR LG0 PR1 MMA10 PR0 BAR SB LB11@K1* VM6 BAR PR1 MMA11 PR0 BAR");
  EXPECT_EQ(c.kernel.size(), 72u);
  // Clean between the groups and within each wave; the four waves of group 0 share the rows of A that LA00 overwrites.
  EXPECT_EQ(summary(assess(DrainedPingPong{})), (Set{"HAZARD_WAR FA01>LA00@K0 0>0", "HAZARD_WAR FA11>LA10@K1 0>0"}));
}

TEST(RepairedPingPong, safe_sequence) {
  const Compiled c = compile(SafePingPong{});
  EXPECT_EQ(to_text(c.kernel, c.costs),
            "FB00 FA00 LA11@K-1 LG8 BAR LG0 PR1 MMA00 PR0 BAR SB FB01 LG0 BAR PR1 MMA01 PR0 BAR "
            "FA01 LB00@K0* BAR LG0 PR1 MMA10 PR0 BAR SB LB01@K0* LA00@K0* VM6 BAR PR1 MMA11 PR0 BAR "
            "FB10 FA10 LA01@K0* LG8 BAR LG0 PR1 MMA00 PR0 BAR SB FB11 LG0 BAR PR1 MMA01 PR0 BAR "
            "FA11 LB10@K1* BAR LG0 PR1 MMA10 PR0 BAR SB LB11@K1* LA10@K1* VM6 BAR PR1 MMA11 PR0 BAR");
  EXPECT_EQ(c.kernel.size(), 70u);
  EXPECT_TRUE(audit(c, targets::gfx950).empty());
}

TEST(RepairedFourWave, needs_its_drained_epilogue) {
  const SafeFourWave spec;
  const Compiled c = compile(spec);
  EXPECT_EQ(to_text(c.kernel, c.costs).substr(0, 11), "VM8 LG0 BAR");
  EXPECT_EQ(standing_of(assess(spec, c, FourWaveModel::shape(false))), Standing::broken);
}

// The vm waits at the ends of the halves, and the lgkm waits that the repair moved before their barrier.
TEST(HappensBefore, sees_the_removal_of_the_waits_that_matter) {
  const SafePingPong spec;
  const Compiled c = compile(spec);
  int reported = 0;
  for (size_t i = 0; i < c.kernel.size(); ++i) {
    const OpDesc& op = c.kernel[i].op;
    const bool added = op == OpDesc::wait_lgkm(0) && c.kernel[i - 1].op.role == OpRole::fragment_load;
    if (!op.is_wait_vm() && !added) continue;
    Compiled mutant = c;
    mutant.kernel.erase(i);
    const bool found = !find_hazards(mutant, shape_of(spec), 3, model_of(spec, 3), c.costs).empty();
    EXPECT_TRUE(found) << "entry " << i;
    ++reported;
  }
  EXPECT_EQ(reported, 4);
}

TEST(HappensBefore, weaker_vm_wait_is_reported) {
  const SafePingPong spec;
  Compiled c = compile(spec);
  for (ScheduleEntry& e : c.kernel)
    if (e.op.is_wait_vm()) e.op.wait_value = 7;
  const Set found = summary(find_hazards(c, shape_of(spec), 3, model_of(spec, 3), c.costs));
  EXPECT_TRUE(found.count("HAZARD_RAW LA11@K-1>FA10 1>1 w"));
}

TEST(HappensBefore, read_of_a_place_that_nothing_wrote_is_reported) {
  const SafePingPong spec;
  Compiled c = compile(spec);
  c.prologue.erase(0);  // LB00
  const Diagnostics found = find_hazards(c, shape_of(spec), 0, model_of(spec, 0), c.costs);
  EXPECT_EQ(summary(found), (Set{"HAZARD_RAW no write>FB00", "HAZARD_RAW no write>FB01"}));
}

// --- sm_80: one group of copies per tile, slots in turn, one barrier per tile

struct RingModel {
  int slots = 3;
  constexpr OpTicks ticks(const OpDesc& op) const {
    return op.tag == double_buffer::load_a ? OpTicks{Counter::copy_group, 0} : OpTicks{};
  }
  // The prologue loads tiles 0 to slots - 2; iteration i computes tile i and loads tile i + slots - 1.
  constexpr int tile(const Instance&, int n) const { return n; }
  constexpr int total_tiles(int iterations) const { return iterations + slots - 1; }
  constexpr AccessList accesses(const Instance& i) const {
    using enum AccessMode;
    AccessList list;
    const int first = i.phase == Phase::prologue ? 0 : i.phase == Phase::kernel ? i.iteration : iterations;
    const int lead = i.phase == Phase::kernel ? slots - 1 : 0;
    const bool load = i.op.tag == double_buffer::load_a;
    // The subtile counts the tiles of a peeled phase.
    const int8_t slot = int8_t((first + i.op.subtile + (load ? lead : 0)) % slots);
    if (load) list.add({.mode = write, .slot = slot});
    if (i.op.tag == double_buffer::mma_load_a) {
      list.add({.mode = read, .slot = slot});
      list.add({.space = Space::registers, .mode = write, .slot = 0});
    }
    if (i.op.tag == double_buffer::mma) {
      list.add({.space = Space::registers, .mode = read, .slot = 0});
      list.add({.space = Space::accumulator, .mode = update, .slot = 0});
    }
    return list;
  }
  int iterations = 0;
};

Schedule ring_schedule(int slots, int in_flight) {
  const TargetCostModel costs = double_buffer::mi355x_costs();
  const auto op = [&](Tag tag, int n = 0) {
    OpDesc d = OpDesc::logical(tag, 0, 0, n);
    annotate(d, costs);
    return d;
  };
  namespace t = double_buffer;
  Schedule s;
  for (int n = 0; n < slots - 1; ++n) {
    append(s.prologue, op(t::load_a, n), Phase::prologue);
    append(s.prologue, OpDesc::commit_copy(), Phase::prologue);
  }
  for (const OpDesc& d : {OpDesc::wait_copy(in_flight), OpDesc::barrier(), op(t::load_a), OpDesc::commit_copy(),
                          op(t::mma_load_a), op(t::mma)}) {
    append(s.kernel, d, Phase::kernel);
  }
  for (int n = 0; n < slots - 1; ++n) {
    for (const OpDesc& d : {OpDesc::wait_copy(slots - 2 - n), OpDesc::barrier(), op(t::mma_load_a, n), op(t::mma)}) {
      append(s.epilogue, d, Phase::epilogue);
    }
  }
  return s;
}

TEST(CopyGroups, one_barrier_per_tile_orders_both_reads_and_reuse) {
  const TargetCostModel costs = double_buffer::mi355x_costs();
  for (const int slots : {2, 3, 4}) {
    for (const int n : {0, 1, 2, 3, 5}) {
      SCOPED_TRACE(slots * 10 + n);
      const RingModel model{slots, n};
      const Schedule s = ring_schedule(slots, slots - 2);
      EXPECT_EQ(summary(find_hazards(s, {}, n, model, costs)), Set{});
      EXPECT_EQ(summary(simulate_versions(s, {}, n, model, costs)), Set{});
    }
    // One group more in flight and the tile may not have landed.
    const Set weak = summary(find_hazards(ring_schedule(slots, slots - 1), {}, 4, RingModel{slots, 4}, costs));
    EXPECT_TRUE(weak.count("HAZARD_RAW LA00>FA00 0>0 w"));
    // Without the barrier a wave may load over what another still reads.
    Schedule bare = ring_schedule(slots, slots - 2);
    bare.kernel.erase(1);
    EXPECT_TRUE(summary(find_hazards(bare, {}, 4, RingModel{slots, 4}, costs)).count("HAZARD_WAR FA00>LA00 0>0"));
  }
}

// --- dependences from accesses

LoopBody with_accesses(const auto& spec, const auto& model) {
  LoopBody b = compile(spec).body;
  for (int i = 0; i < b.size(); ++i) {
    b.ops[size_t(i)].accesses = model.accesses(b.ops[size_t(i)].op, int(i >= b.size() / 2));
  }
  return b;
}
const List<BufferDepth> kTwoSlots = {{Space::shared, kBufferA, 2}, {Space::shared, kBufferB, 2}};

TEST(AccessGraph, has_every_edge_of_the_ping_pong_rules_and_those_they_miss) {
  const LoopBody b = with_accesses(PingPong::fp8(), PingPongModel{});
  const List<DepEdge> edges = access_edges(b, kTwoSlots);
  for (const DepEdge& e : b.edges) {
    EXPECT_EQ(std::count(edges.begin(), edges.end(), e), 1) << b.ops[size_t(e.producer)].name.c_str();
  }
  // The load of the previous tile destroys what the iteration before read: fragments 13 and 18, load 2.
  for (const int frag : {13, 18}) {
    EXPECT_EQ(std::count(edges.begin(), edges.end(), (DepEdge{frag, 2, DepKind::anti, 1})), 1);
  }
  int shared_anti = 0;
  for (const DepEdge& e : edges) {
    shared_anti += e.kind == DepKind::anti && b.ops[size_t(e.producer)].op.role == OpRole::fragment_load;
  }
  EXPECT_EQ(shared_anti, 14 + 2);
  EXPECT_EQ(edges.size(), 80u);
}

TEST(AccessGraph, agrees_with_the_shipped_four_wave_order) {
  LoopBody b = with_accesses(FourWave{}, FourWaveModel{});
  b.edges = access_edges(b, kTwoSlots);
  EXPECT_TRUE(b.validate().ok());
  for (const DepEdge& e : b.edges) {
    EXPECT_GE(e.distance, 0);
    EXPECT_TRUE(e.distance > 0 || e.producer < e.consumer);
  }
  EXPECT_EQ(simple_greedy(b).size(), 24u);
}

TEST(AccessGraph, deeper_buffers_move_the_reuse_to_a_later_iteration) {
  const LoopBody b = with_accesses(PingPong::fp8(), PingPongModel{});
  const List<DepEdge> edges = access_edges(b, {{Space::shared, kBufferA, 4}, {Space::shared, kBufferB, 4}});
  // FB00 reads tile -2, LB00 writes tile 0: with four slots the read is destroyed one iteration later.
  EXPECT_EQ(std::count(edges.begin(), edges.end(), (DepEdge{0, 8, DepKind::anti, 0})), 0);
  EXPECT_EQ(std::count(edges.begin(), edges.end(), (DepEdge{0, 8, DepKind::anti, 1})), 1);
}

TEST(AccessGraph, delays_by_kind) {
  const LoopBody b = compile(PingPong::fp8()).body;
  EXPECT_EQ(edge_delay(b, {2, 13, DepKind::flow, 0}), 200);
  EXPECT_EQ(edge_delay(b, {13, 2, DepKind::anti, 1}), 20);
  EXPECT_EQ(edge_delay(b, {0, 12, DepKind::output, 0}), 1);
}

// --- at compile time, inside the default limits

constexpr bool safe_is_clean(int iterations) {
  const SafePingPong spec;
  const Compiled c = compile(spec);
  return find_hazards(c, shape_of(spec), iterations, model_of(spec, iterations), c.costs).empty();
}
constexpr bool safe_versions(int iterations) {
  const SafePingPong spec;
  const Compiled c = compile(spec);
  return simulate_versions(c, shape_of(spec), iterations, model_of(spec, iterations), c.costs).empty();
}
static_assert(safe_is_clean(0));
static_assert(safe_is_clean(3));
static_assert(safe_versions(0));
static_assert(safe_versions(3));
constexpr Diagnostics bf16_hazards() {
  const Compiled c = compile(PingPong::bf16());
  return find_hazards(c, PingPongModel::shape(), 1, model_of(PingPong::bf16(), 1), c.costs);
}
static_assert(first_error(bf16_hazards()).code == Code::hazard_war);

}  // namespace

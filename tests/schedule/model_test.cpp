// The data model: ops, costs, targets, bodies, builders, traces of entries.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "warpwright/schedule/legacy/config.h"
#include "warpwright/schedule/schedule.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;
namespace db = legacy::double_buffer;
namespace sb = legacy::single_buffer;

TEST(Enumerations, have_the_values_of_the_contract) {
  EXPECT_EQ(int(ResourceKind::valu), 4);
  EXPECT_EQ(int(ResourceKind::none), 255);
  EXPECT_EQ(int(OpRole::sync), 4);
  EXPECT_EQ(int(OpRole::valu_compute), 6);
  EXPECT_EQ(int(Phase::epilogue), 2);
  EXPECT_EQ(int(DepKind::output), 2);
  EXPECT_EQ(int(KOffset::k_prev), 3);
  EXPECT_EQ(int(legacy::Strategy::csp), 2);
  EXPECT_EQ(tags::barrier.value, 128);
  EXPECT_EQ(tags::sched_group_barrier.value, 133);
}

TEST(KOffset, is_a_signed_number_of_tiles_and_none_has_no_number) {
  EXPECT_EQ(k_tiles(KOffset::k0), 0);
  EXPECT_EQ(k_tiles(KOffset::k1), 1);
  EXPECT_EQ(k_tiles(KOffset::k_prev), -1);
  EXPECT_EQ(k_tiles(KOffset::none), 0);
  EXPECT_EQ(legacy::signed_multiplier(KOffset::k_prev), -1);
  EXPECT_EQ(legacy::signed_multiplier(KOffset::none), 255);
}

TEST(OpDesc, factories_set_resource_latency_and_role) {
  const OpDesc load = OpDesc::op(db::load_a, ResourceKind::global_mem, 200, OpRole::global_load, 0, 1, 1, KOffset::k0);
  EXPECT_EQ(load.resource, ResourceKind::global_mem);
  EXPECT_EQ(load.latency, 200);
  EXPECT_EQ(load.stage, 1);
  EXPECT_TRUE(load.is_prefetch());
  for (const OpDesc& sync : {OpDesc::barrier(), OpDesc::wait_vm(3), OpDesc::wait_lgkm(0)}) {
    EXPECT_EQ(sync.resource, ResourceKind::scalar);
    EXPECT_EQ(sync.role, OpRole::sync);
    EXPECT_EQ(sync.latency, 0);
  }
  for (const OpDesc& fence : {OpDesc::set_prio(1), OpDesc::schedule_barrier(), OpDesc::sched_group_barrier(3, 2)}) {
    EXPECT_EQ(fence.resource, ResourceKind::scalar);
    EXPECT_EQ(fence.role, OpRole::fence);
  }
  EXPECT_EQ(OpDesc::wait_vm(3).wait_count(), 3);
  EXPECT_EQ(OpDesc::set_prio(1).priority(), 1);
  EXPECT_EQ(OpDesc::sched_group_barrier(3, 2).hint_mask_index(), 3);
  EXPECT_EQ(OpDesc::sched_group_barrier(3, 2).hint_count(), 2);
  EXPECT_FALSE(OpDesc::none().is_present());
  EXPECT_EQ(OpDesc::none().channel, -1);
  const OpDesc bare = OpDesc::logical(db::mma, -1, 1, 0);
  EXPECT_EQ(bare.role, OpRole::none);
  EXPECT_EQ(bare.quadrant(), (Quadrant{1, 0}));
}

template <OpDesc Op>
struct AsTemplateArgument {
  static constexpr int stage = Op.stage;
};
static_assert(AsTemplateArgument<OpDesc::logical(db::load_a, 0, 1, 0)>::stage == 1);

TEST(OpDesc, names_are_the_words_of_the_notation) {
  const TargetCostModel m = db::mi355x_costs();
  EXPECT_EQ(m.name(OpDesc::logical(db::load_a, 0, 1, 1, KOffset::k_prev)), Name("LA11@K-1"));
  EXPECT_EQ(m.name(OpDesc::logical(db::mma, -1, 1, 0)), Name("MMA10"));
  EXPECT_EQ(op_name(OpDesc::wait_vm(12)), Name("VM12"));
  EXPECT_EQ(op_name(OpDesc::sched_group_barrier(3, 2)), Name("SGB(3,2)"));
  EXPECT_EQ(op_name(OpDesc::logical(data_tag(9), 0, 1, 2)), Name("tag9.12"));
  EXPECT_EQ(op_name(OpDesc::wait_copy(1)), Name("CG1"));
  EXPECT_EQ(op_name(OpDesc::wait_wgmma(0)), Name("WG0"));
  EXPECT_EQ(op_name(OpDesc::phase_wait(PhaseBarrier::full, 2, 4)), Name("full2.wait"));
  EXPECT_EQ(op_name(OpDesc::phase_arrive(PhaseBarrier::empty, 1, 3)), Name("empty1.arrive"));
  EXPECT_EQ(hardware_mask(GroupMask::mfma), 0x8);
  EXPECT_EQ(hardware_mask(GroupMask::vmem_read), 0x20);
  EXPECT_EQ(hardware_mask(GroupMask::ds_read), 0x100);
  EXPECT_EQ(hardware_mask(GroupMask::ds_write), 0x200);
}

TEST(Tag, of_a_kernel_is_below_128) {
  EXPECT_TRUE(make_data_tag(127).ok());
  for (const int bad : {-1, 128, 255, 256}) {
    const Checked<Tag> t = make_data_tag(bad);
    EXPECT_EQ(t.error.code, Code::tag_range);
    EXPECT_EQ(t.error.have, bad);
  }
  TargetCostModel m;
  m.set(tags::barrier, {ResourceKind::scalar, 0, OpRole::sync});
  EXPECT_EQ(m.error.code, Code::tag_range);
  EXPECT_EQ(m.error.a, Name("tag 128"));
}

TEST(CostModel, shipped_tables) {
  const TargetCostModel d = db::mi355x_costs(), s = sb::mi355x_costs();
  const auto row = [](const OpCost& c) { return std::tuple(c.resource, c.latency, c.role, c.vgpr_def, c.vgpr_kill); };
  using R = ResourceKind;
  EXPECT_EQ(row(d[db::load_b]), std::tuple(R::global_mem, 200, OpRole::global_load, 0, 0));
  EXPECT_EQ(row(d[db::compute]), std::tuple(R::mma_unit, 16, OpRole::compute, 4, 0));
  EXPECT_EQ(row(d[db::mma_load_a]), std::tuple(R::lds, 20, OpRole::fragment_load, 8, 0));
  EXPECT_EQ(row(d[db::mma]), std::tuple(R::mma_unit, 16, OpRole::compute, 4, 0));
  EXPECT_EQ(row(s[sb::load_dram]), std::tuple(R::global_mem, 200, OpRole::global_load, 0, 0));
  EXPECT_EQ(row(s[sb::store_smem]), std::tuple(R::lds, 20, OpRole::shared_store, 0, 0));
  EXPECT_EQ(row(s[sb::load_frag]), std::tuple(R::lds, 20, OpRole::fragment_load, 4, 0));
  EXPECT_EQ(row(s[sb::compute]), std::tuple(R::mma_unit, 64, OpRole::compute, 16, 0));
}

TEST(CostModel, annotates_data_ops_and_refuses_an_unknown_tag) {
  List<OpDesc> ops = {OpDesc::logical(db::load_a, 0, 0, 0), OpDesc::barrier(), OpDesc::logical(data_tag(77), 0, 0, 1),
                      OpDesc::logical(db::mma_load_b, 1, 0, 0)};
  const Diagnostic d = annotate(ops, db::mi355x_costs());
  EXPECT_EQ(d.code, Code::cost_missing);
  EXPECT_EQ(d.a, Name("tag77.01"));
  EXPECT_EQ(ops[0].role, OpRole::global_load);
  EXPECT_EQ(ops[1], OpDesc::barrier());
  EXPECT_EQ(ops[3].vgpr_def, 8);
  EXPECT_NE(to_text(d).find("COST_MISSING: tag77.01"), std::string::npos);
}

TEST(OpNode, takes_resource_and_latency_from_the_op_unless_overridden) {
  const OpDesc load = OpDesc::op(db::load_a, ResourceKind::global_mem, 123, OpRole::global_load);
  EXPECT_EQ(OpNode(load).resource, ResourceKind::global_mem);
  EXPECT_EQ(OpNode(load).latency, 123);
  EXPECT_EQ(OpNode(load, 99).latency, 99);
  EXPECT_EQ(OpNode(OpDesc::barrier()).resource, ResourceKind::scalar);
  EXPECT_EQ(OpNode(OpDesc::barrier()).latency, 0);
}

OpDesc costed(Tag tag, int subtile = 0) {
  OpDesc d = OpDesc::logical(tag, 0, 0, subtile);
  annotate(d, db::mi355x_costs());
  return d;
}
LoopBody make_body(const List<OpDesc>& ops, const List<DepEdge>& edges) {
  LoopBody b(ops, db::mi355x_costs());
  b.edges = edges;
  return b;
}
using Times = List<int>;

TEST(LoopBody, asap_of_chain_diamond_and_loop_carried_edge) {
  const OpDesc load = costed(db::load_a), frag = costed(db::mma_load_a), mma = costed(db::mma);
  EXPECT_EQ(make_body({load, frag, mma}, {{0, 1}, {1, 2}}).compute_asap(), (Times{0, 200, 220}));
  EXPECT_EQ(make_body({load, OpDesc::barrier(), frag, mma}, {{0, 1}, {1, 2}, {2, 3}}).compute_asap(),
            (Times{0, 200, 200, 220}));
  LoopBody diamond = make_body({load, load, OpDesc::barrier(), mma}, {{0, 2}, {1, 2}, {2, 3}});
  diamond.ops[1] = OpNode(load, 100);
  EXPECT_EQ(diamond.compute_asap(), (Times{0, 0, 200, 200}));
  EXPECT_EQ(make_body({load, frag}, {{0, 1, DepKind::flow, 1}}).compute_asap(), (Times{0, 0}));
}

TEST(LoopBody, alap_leaves_slack_to_an_independent_op_only) {
  const LoopBody b = make_body({costed(db::load_a), costed(db::mma_load_a), costed(db::mma), costed(db::mma_load_b)},
                               {{0, 1}, {1, 2}});
  const Times asap = b.compute_asap(), alap = b.compute_alap(236);
  EXPECT_EQ(alap.slice(0, 3), (Times{0, 200, 220}));
  EXPECT_GT(alap[3] - asap[3], 0);
}

TEST(LoopBody, refuses_wrong_edges_and_names_the_ops) {
  const List<OpDesc> ops = {costed(db::load_a, 0), costed(db::mma_load_a, 1), costed(db::mma, 1)};
  const auto check = [&](const List<DepEdge>& edges) { return make_body(ops, edges).validate(); };
  EXPECT_TRUE(check({{0, 1}, {1, 2}, {2, 0, DepKind::anti, 1}, {2, 2, DepKind::flow, 1}}).ok());
  EXPECT_EQ(check({{1, 1}}).code, Code::graph_self);
  EXPECT_EQ(check({{1, 1}}).a, Name("FA01"));
  for (const DepEdge& e : {DepEdge{-1, 1}, DepEdge{3, 1}, DepEdge{0, 3}, DepEdge{0, -5}}) {
    EXPECT_EQ(check({e}).code, Code::graph_index);
  }
  EXPECT_EQ(check({{0, 7}}).a, Name("LA00"));
  EXPECT_EQ(check({{0, 7}}).have, 7);
  EXPECT_EQ(check({{0, 1, DepKind::flow, -1}}).code, Code::graph_distance);
  const Diagnostic cycle = check({{0, 1}, {1, 2}, {2, 1}});
  EXPECT_EQ(cycle.code, Code::graph_cycle);
  // The op that leads into the cycle is not blamed.
  EXPECT_TRUE((cycle.a == Name("FA01") && cycle.b == Name("MMA01")) ||
              (cycle.a == Name("MMA01") && cycle.b == Name("FA01")));
  EXPECT_EQ(check({{0, 1}, {1, 0}}).code, Code::graph_cycle);
}

TEST(LoopBody, refuses_an_op_without_a_cost_or_with_too_many_accesses) {
  LoopBody bare({OpDesc::logical(db::load_a, 0, 0, 0)});
  EXPECT_EQ(bare.validate().code, Code::cost_missing);
  LoopBody b = make_body({costed(db::load_a)}, {});
  for (int i = 0; i < kAccesses + 1; ++i) b.ops[0].accesses.add({});
  const Diagnostic d = b.validate();
  EXPECT_EQ(d.code, Code::access_capacity);
  EXPECT_EQ(d.a, Name("LA00"));
}

TEST(PipelineBody, fan_grid_and_extend_index_as_said) {
  PipelineBody b;
  b.fan(2, db::mma_load_a, 0, 1, KOffset::k1).grid(2, 2, db::mma).extend({OpDesc::barrier()});
  const List<OpDesc> ops = b.done();
  ASSERT_EQ(ops.size(), 7u);
  EXPECT_EQ(ops[1], OpDesc::logical(db::mma_load_a, 0, 1, 1, KOffset::k1));
  EXPECT_EQ(ops[3].quadrant(), (Quadrant{0, 1}));
  EXPECT_EQ(ops[4].quadrant(), (Quadrant{1, 0}));
  EXPECT_TRUE(ops[6].is_barrier());
  EXPECT_TRUE(b.done(db::mi355x_costs()).ok());
  EXPECT_EQ(b.load(data_tag(99), 0, 0, 0).done(db::mi355x_costs()).error.code, Code::cost_missing);
}

TEST(EntryBuilder, overflow_is_an_error_and_never_a_write) {
  EntryBuilder<2, Phase::prologue> b;
  b.emit_if(OpDesc::none());
  b.emit_flag(OpDesc::barrier(), false);
  EXPECT_EQ(b.position(), 0);
  b.emit(OpDesc::barrier());
  b.emit(OpDesc::wait_vm(1), true);
  EXPECT_TRUE(b.error.ok());
  EXPECT_EQ(b.entries()[1], (ScheduleEntry{OpDesc::wait_vm(1), 1, Phase::prologue, true}));
  b.emit(OpDesc::wait_vm(2));
  EXPECT_EQ(b.error.code, Code::entry_overflow);
  EXPECT_EQ(b.error.a, Name("VM2"));
  EXPECT_EQ(b.position(), 2);
  EXPECT_EQ(b.entries()[1].op, OpDesc::wait_vm(1));
}

TEST(Pipe, joins_ops_and_pipes) {
  constexpr auto p = pipe(OpDesc::wait_vm(0)) >> OpDesc::barrier() >> (pipe(OpDesc::set_prio(1)) >> OpDesc::barrier());
  static_assert(p.ops.size() == 4);
  constexpr auto entries = p.as_schedule<Phase::epilogue>(10);
  EXPECT_EQ(entries[2], (ScheduleEntry{OpDesc::set_prio(1), 12, Phase::epilogue, false}));
  EntryBuilder<4, Phase::kernel> b;
  p.emit_into(b);
  EXPECT_TRUE(b.error.ok());
  EXPECT_EQ(b.position(), 4);
}

TEST(Target, counters_have_their_widths) {
  using namespace targets;
  EXPECT_TRUE(check_wait(gfx950, OpDesc::wait_lgkm(15)).ok());
  const Diagnostic d = check_wait(gfx950, OpDesc::wait_lgkm(16));
  EXPECT_EQ(d.code, Code::counter_range);
  EXPECT_EQ(d.a, Name("LG16"));
  EXPECT_EQ(d.b, Name("lgkmcnt"));
  EXPECT_EQ(d.need, 15);
  EXPECT_TRUE(check_wait(gfx942, OpDesc::wait_vm(63)).ok());
  EXPECT_EQ(check_wait(gfx942, OpDesc::wait_vm(64)).code, Code::counter_range);
  EXPECT_EQ(check_wait(gfx942, OpDesc::wait_vm(-1)).code, Code::counter_range);
  EXPECT_EQ(check_wait(sm80, OpDesc::wait_lgkm(0)).code, Code::unit_missing);
  EXPECT_TRUE(check_count(sm90a, Counter::wgmma_group, 7, "wait_group").ok());
  EXPECT_EQ(check_wait(sm90a, OpDesc::wait_wgmma(8)).code, Code::counter_range);
  EXPECT_TRUE(check_wait(sm80, OpDesc::wait_copy(2)).ok());
  EXPECT_EQ(check_wait(gfx950, OpDesc::wait_copy(2)).code, Code::unit_missing);
  EXPECT_EQ(check_count(sm90a, Counter::wgmma_group, 8, "wait_group").code, Code::counter_range);
  EXPECT_TRUE(check_wait(gfx942, OpDesc::barrier()).ok());
  EXPECT_EQ(gfx950.counter_of(OpRole::fragment_load), Counter::lgkm);
  EXPECT_EQ(sm80.counter_of(OpRole::fragment_load), Counter::none);
  EXPECT_EQ(sm90a.counter_of(OpRole::compute), Counter::wgmma_group);
}

TEST(Target, capacities_are_checked) {
  using namespace targets;
  const Diagnostic d = check_shared(gfx942, 3, 24 * 1024);
  EXPECT_EQ(d.code, Code::smem_capacity);
  EXPECT_EQ(d.a, Name("depth 3"));
  EXPECT_EQ(d.b, Name("gfx942"));
  EXPECT_EQ(d.have, 64 * 1024);
  EXPECT_EQ(d.need, 72 * 1024);
  EXPECT_TRUE(check_shared(gfx950, 3, 24 * 1024).ok());
  EXPECT_EQ(gfx950.registers_at(2), 256);
  EXPECT_TRUE(check_registers(gfx950, 224, 2, "MMA00").ok());
  EXPECT_EQ(check_registers(gfx950, 257, 2, "MMA00").code, Code::register_capacity);
  EXPECT_EQ(sm90a.mma_cycles(128, 256, 64), 1024);
  EXPECT_EQ(sm90a.mma_cycles(64, 256, 16), 128);
}

TEST(Target, trip_count_needs_whole_pairs_and_enough_tiles) {
  EXPECT_EQ(trip_count(512, 64, 2, 2).value, 3);
  EXPECT_EQ(trip_count(128, 64, 2, 2).value, 0);
  EXPECT_TRUE(trip_count(128, 64, 2, 2).ok());
  EXPECT_EQ(trip_count(192, 64, 2, 2).error.code, Code::trip_count);
  EXPECT_EQ(trip_count(64, 64, 1, 2).error.code, Code::trip_count);
  EXPECT_EQ(trip_count(64, 64, 1, 2).error.need, 2);
}

TEST(KernelGeometry, counts_of_the_shipped_kernels) {
  struct Row {
    KernelGeometry g;
    int quad_m, quad_n, num_k, vm_a, vm_b, lgkm_a, lgkm_b, kib;
  };
  const Row rows[] = {
      {{256, 256, 64, 16, 16, 32, 2, 2, 4}, 4, 2, 2, 2, 2, 8, 4, 128},
      {{256, 256, 128, 16, 16, 128, 1, 2, 4}, 4, 2, 1, 2, 2, 8, 4, 128},
      {{128, 256, 128, 16, 16, 128, 1, 2, 4}, 2, 2, 1, 1, 2, 4, 4, 96},
      {{128, 128, 128, 16, 16, 32, 2, 2, 2}, 2, 2, 4, 4, 4, 8, 8, 128},
      {{128, 128, 64, 16, 16, 32, 2, 2, 2}, 2, 2, 2, 2, 2, 4, 4, 64},
      {{128, 128, 128, 16, 16, 128, 1, 2, 2}, 2, 2, 1, 2, 2, 4, 4, 64},
      {{64, 64, 128, 16, 16, 128, 1, 2, 2}, 1, 1, 1, 1, 1, 2, 2, 32},
  };
  for (const Row& r : rows) {
    SCOPED_TRACE(r.g.bm * 1000 + r.g.bk);
    EXPECT_EQ(std::tuple(r.g.quad_m(), r.g.quad_n(), r.g.num_k()), std::tuple(r.quad_m, r.quad_n, r.num_k));
    EXPECT_EQ(std::tuple(r.g.vm_a(), r.g.vm_b()), std::tuple(r.vm_a, r.vm_b));
    EXPECT_EQ(std::tuple(r.g.lgkm_a(), r.g.lgkm_b()), std::tuple(r.lgkm_a, r.lgkm_b));
    EXPECT_EQ(2 * r.g.shared_bytes_per_stage(), r.kib * 1024);
    EXPECT_TRUE(r.g.check(targets::gfx950, 2).ok()) << to_text(r.g.check(targets::gfx950, 2));
    EXPECT_FALSE(r.g.check(targets::gfx942, 2).ok());
  }
  EXPECT_EQ(rows[0].g.check(targets::gfx950, 3).code, Code::smem_capacity);
  KernelGeometry floor_to_zero = rows[6].g;
  floor_to_zero.bm = 32;
  EXPECT_EQ(floor_to_zero.check(targets::gfx950, 2).code, Code::config_invalid);
}

TEST(Diagnostic, every_code_has_its_own_word_and_rule) {
  std::vector<std::string> words;
  for (int c = 1; c <= int(Code::config_invalid); ++c) {
    EXPECT_STRNE(rule(Code(c)), "");
    for (const std::string& w : words) EXPECT_NE(w, word(Code(c)));
    words.push_back(word(Code(c)));
  }
  const Diagnostic d{.code = Code::hazard_war,
                     .a = "FB01",
                     .b = "LB00",
                     .have = 4,
                     .need = 7,
                     .role_a = 1,
                     .role_b = 0,
                     .iteration = 2};
  EXPECT_EQ(to_text(d),
            "HAZARD_WAR: FB01 (role 1) and LB00 (role 0), kernel, iteration 2: have 4, need 7: a write is "
            "not ordered after a read of the value that it destroys");
}

}  // namespace

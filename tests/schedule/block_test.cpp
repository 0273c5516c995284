// MMABlockSpec: the golden table of emissions, the closed forms against the expansion over every combination, the
// minimal emitter and PipelineProgram.
#include "warpwright/schedule/block.h"

#include <gtest/gtest.h>

#include <string>

#include "warpwright/schedule/legacy/config.h"
#include "warpwright/schedule/program.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;

constexpr TargetCostModel costs() {
  TargetCostModel m;
  m.set(data_tag(0), OpCost{ResourceKind::global_mem, 200, OpRole::global_load}.named("G", 1));
  m.set(data_tag(1), OpCost{ResourceKind::lds, 20, OpRole::fragment_load}.named("P", 1));
  m.set(data_tag(2), OpCost{ResourceKind::mma_unit, 16, OpRole::compute}.named("M", 0));
  m.set(data_tag(3), OpCost{ResourceKind::mma_unit, 16, OpRole::compute}.named("M2", 0));
  return m;
}
constexpr OpDesc op(int tag, int subtile = 0) {
  OpDesc d = OpDesc::logical(Tag{uint8_t(tag)}, 0, 0, subtile);
  annotate(d, costs());
  return d;
}
constexpr OpDesc global(int n) { return op(0, n); }
constexpr OpDesc frag(int n) { return op(1, n); }
constexpr OpDesc vm(int n) { return OpDesc::wait_vm(n); }
constexpr OpDesc lg(int n) { return OpDesc::wait_lgkm(n); }

constexpr MMABlockSpec full() {
  return {.mma = op(2), .pre_op_0 = frag(0), .pre_op_1 = frag(1), .global_load = global(0), .global_load_1 = global(1)};
}
template <class Change>
constexpr MMABlockSpec with(Change change) {
  MMABlockSpec b = full();
  change(b);
  return b;
}
constexpr MMABlockSpec minimal() {
  MMABlockSpec b{.mma = op(2), .pre_op_0 = frag(0), .global_load = global(0)};
  b.pre_mma_barrier = b.pre_mma_set_prio = b.post_mma_barrier = b.post_mma_set_prio = false;
  return b;
}

std::string text(const MMABlockSpec& b) {
  EntryList list;
  b.expand_to_list(list, Phase::kernel);
  return to_text(list, costs());
}

struct Golden {
  const char* name;
  MMABlockSpec block;
  int count, mma, reference_lgkm, true_lgkm;
  const char* sequence;
};

const Golden kGoldens[] = {
    {"only mma", {.mma = op(2)}, 6, 3, 1, 1, "BAR LG0 PR1 M PR0 BAR"},
    {"2 frags, 2 globals", full(), 10, 7, 5, 5, "P0 P1 G0 G1 BAR LG0 PR1 M PR0 BAR"},
    {"pre_sync", with([](auto& b) { b.pre_sync = vm(3); }), 11, 8, 6, 6, "P0 P1 G0 G1 VM3 BAR LG0 PR1 M PR0 BAR"},
    {"drain", with([](auto& b) { b.drain_lgkm_before_loads = true; }), 11, 8, 6, 6,
     "P0 P1 LG0 G0 G1 BAR LG0 PR1 M PR0 BAR"},
    {"global_before_frag + drain", with([](auto& b) { b.drain_lgkm_before_loads = b.global_before_frag = true; }), 11,
     8, 6, 6, "G0 G1 LG0 P0 P1 BAR LG0 PR1 M PR0 BAR"},
    {"post_barrier_sched", with([](auto& b) { b.post_barrier_sched = true; }), 11, 8, 6, 6,
     "P0 P1 G0 G1 BAR SB LG0 PR1 M PR0 BAR"},
    {"trailing_sched", with([](auto& b) { b.trailing_sched_barrier = true; }), 11, 7, 5, 5,
     "P0 P1 G0 G1 BAR LG0 PR1 M PR0 BAR SB"},
    {"post_barrier_lgkm off", with([](auto& b) { b.post_barrier_lgkm = false; }), 9, 6, -1, -1,
     "P0 P1 G0 G1 BAR PR1 M PR0 BAR"},
    {"fused", with([](auto& b) { b.fused_mma = op(3); }), 11, 7, 5, 5, "P0 P1 G0 G1 BAR LG0 PR1 M M2 PR0 BAR"},
    {"entry_wait", with([](auto& b) { b.entry_wait = vm(4); }), 12, 9, 7, 7,
     "VM4 BAR P0 P1 G0 G1 BAR LG0 PR1 M PR0 BAR"},
    {"both entry waits", with([](auto& b) { b.entry_wait = vm(4), b.entry_wait_lgkm = lg(2); }), 13, 10, 8, 8,
     "VM4 LG2 BAR P0 P1 G0 G1 BAR LG0 PR1 M PR0 BAR"},
    {"entry lgkm only", with([](auto& b) { b.entry_wait_lgkm = lg(0); }), 11, 8, 6, 6,
     "LG0 P0 P1 G0 G1 BAR LG0 PR1 M PR0 BAR"},
    {"both entry waits + wrap",
     with([](auto& b) { b.entry_wait = vm(4), b.entry_wait_lgkm = lg(2), b.wrap_waits_with_sched_barrier = true; }), 17,
     14, 12, 11, "SB VM4 LG2 BAR SB P0 P1 G0 G1 SB BAR LG0 SB PR1 M PR0 BAR"},
    {"wrap only", with([](auto& b) { b.wrap_waits_with_sched_barrier = true; }), 12, 9, 7, 6,
     "P0 P1 G0 G1 SB BAR LG0 SB PR1 M PR0 BAR"},
    {"wrap + pre_sync", with([](auto& b) { b.pre_sync = vm(3), b.wrap_waits_with_sched_barrier = true; }), 13, 10, 8, 7,
     "P0 P1 G0 G1 SB VM3 BAR LG0 SB PR1 M PR0 BAR"},
    {"bbp + pre_sync", with([](auto& b) { b.pre_sync = vm(3), b.barrier_before_pre_ops = true; }), 11, 8, 2, 2,
     "VM3 BAR LG0 P0 P1 G0 G1 PR1 M PR0 BAR"},
    {"bbp + ew + ps + wrap", with([](auto& b) {
       b.entry_wait = vm(4), b.pre_sync = vm(3), b.barrier_before_pre_ops = b.wrap_waits_with_sched_barrier = true;
     }),
     17, 14, 6, 7, "SB VM4 BAR SB SB VM3 BAR LG0 SB P0 P1 G0 G1 PR1 M PR0 BAR"},
    {"bbp + gbf", with([](auto& b) { b.barrier_before_pre_ops = b.global_before_frag = true; }), 10, 7, 1, 1,
     "BAR LG0 G0 G1 P0 P1 PR1 M PR0 BAR"},
    {"minimal", minimal(), 3, 2, -1, -1, "P0 G0 M"},
    {"minimal + ew + ewl + ps + wrap",
     [] {
       MMABlockSpec b = minimal();
       b.entry_wait = vm(8), b.entry_wait_lgkm = lg(0), b.pre_sync = vm(8), b.wrap_waits_with_sched_barrier = true;
       return b;
     }(),
     11, 10, -1, -1, "SB VM8 LG0 BAR SB P0 G0 SB VM8 SB M"},
    {"pmb off, pbl on", with([](auto& b) { b.pre_mma_barrier = false; }), 8, 5, -1, -1, "P0 P1 G0 G1 PR1 M PR0 BAR"},
    {"qmb off, tsb on", with([](auto& b) { b.post_mma_barrier = false, b.trailing_sched_barrier = true; }), 9, 7, 5, 5,
     "P0 P1 G0 G1 BAR LG0 PR1 M PR0"},
};

TEST(MMABlockSpec, emits_the_golden_sequences) {
  for (const Golden& g : kGoldens) {
    SCOPED_TRACE(g.name);
    EXPECT_EQ(text(g.block), g.sequence);
    EXPECT_EQ(g.block.entry_count(), g.count);
    EXPECT_EQ(g.block.mma_position(), g.mma);
    EXPECT_EQ(g.block.post_barrier_lgkm_position(), g.true_lgkm);
    EXPECT_EQ(legacy::post_barrier_lgkm_position(g.block), g.reference_lgkm);
    EXPECT_TRUE(g.block.validate().ok());
  }
}

TEST(MMABlockSpec, expands_into_a_builder_as_into_a_list) {
  for (const Golden& g : kGoldens) {
    EntryBuilder<kMaxBlockEntries, Phase::epilogue> builder;
    g.block.expand(builder);
    EntryList list;
    g.block.expand_to_list(list, Phase::epilogue);
    ASSERT_TRUE(builder.error.ok());
    ASSERT_EQ(builder.position(), int(list.size()));
    for (size_t i = 0; i < list.size(); ++i) EXPECT_EQ(builder.entries()[i], list[i]);
  }
}

// Bits 0..7 the optional ops, 8..20 the flags, in the order of the fields.
MMABlockSpec combination(uint32_t bits) {
  int next = 0;
  const auto bit = [&] { return (bits >> next++ & 1) != 0; };
  static constexpr OpDesc kMma = op(2), kFused = op(3), kFrags[2] = {frag(0), frag(1)};
  static constexpr OpDesc kGlobals[2] = {global(0), global(1)}, kSync = vm(3);
  MMABlockSpec b{.mma = kMma};
  if (bit()) b.pre_op_0 = kFrags[0];
  if (bit()) b.pre_op_1 = kFrags[1];
  if (bit()) b.global_load = kGlobals[0];
  if (bit()) b.global_load_1 = kGlobals[1];
  if (bit()) b.entry_wait = vm(4);
  if (bit()) b.entry_wait_lgkm = lg(2);
  if (bit()) b.pre_sync = kSync;
  if (bit()) b.fused_mma = kFused;
  for (bool MMABlockSpec::*flag :
       {&MMABlockSpec::pre_mma_barrier, &MMABlockSpec::pre_mma_set_prio, &MMABlockSpec::post_mma_barrier,
        &MMABlockSpec::post_mma_set_prio, &MMABlockSpec::post_barrier_lgkm, &MMABlockSpec::post_barrier_sched,
        &MMABlockSpec::trailing_sched_barrier, &MMABlockSpec::global_load_prefetch,
        &MMABlockSpec::global_load_1_prefetch, &MMABlockSpec::drain_lgkm_before_loads,
        &MMABlockSpec::global_before_frag, &MMABlockSpec::barrier_before_pre_ops,
        &MMABlockSpec::wrap_waits_with_sched_barrier}) {
    b.*flag = bit();
  }
  return b;
}

// The position by its meaning, from the expansion alone: the barrier of the sync group is the block's first, or its
// second behind an entry wait; the LG0 follows it, with at most a fence between.
int lgkm_in_expansion(const MMABlockSpec& b, const BlockEntries& e) {
  if (!b.pre_mma_barrier || !b.post_barrier_lgkm) return -1;
  int barriers_to_skip = b.entry_wait.is_present();
  for (int i = 0; i < e.count; ++i) {
    if (!e.ops[i].is_barrier() || barriers_to_skip-- > 0) continue;
    const int next = e.ops[i + 1].tag == tags::schedule_barrier ? i + 2 : i + 1;
    return e.ops[next] == lg(0) ? next : -2;
  }
  return -2;
}

TEST(MMABlockSpec, closed_forms_agree_with_the_expansion_over_all_combinations) {
  uint32_t checked = 0;
  for (uint32_t bits = 0; bits < (1u << 21); ++bits) {
    const MMABlockSpec b = combination(bits);
    const BlockEntries e = b.emit();
    int mma = -1, prefetches = 0;
    for (int i = 0; i < e.count; ++i) {
      if (e.ops[i].tag == data_tag(2)) mma = i;
      prefetches += e.prefetch[i];
      ASSERT_TRUE(!e.prefetch[i] || e.ops[i].role == OpRole::global_load);
    }
    ASSERT_EQ(b.entry_count(), e.count) << bits;
    ASSERT_EQ(b.mma_position(), mma) << bits;
    ASSERT_EQ(b.post_barrier_lgkm_position(), lgkm_in_expansion(b, e)) << bits;
    ASSERT_EQ(prefetches, (b.global_load.is_present() && b.global_load_prefetch) +
                              (b.global_load_1.is_present() && b.global_load_1_prefetch));
    ++checked;
  }
  EXPECT_EQ(checked, 1u << 21);
}

// The combinations of the ops and flags that can shift the position: where the reference is wrong, it is by one.
TEST(MMABlockSpec, reference_position_is_wrong_where_wrapped_or_moved) {
  for (uint32_t bits = 0; bits < (1u << 21); ++bits) {
    const MMABlockSpec b = combination(bits);
    if (!b.post_barrier_lgkm || !b.pre_mma_barrier) {
      ASSERT_EQ(legacy::post_barrier_lgkm_position(b), -1);
      continue;
    }
    const int off = legacy::post_barrier_lgkm_position(b) - b.post_barrier_lgkm_position();
    const bool late = b.wrap_waits_with_sched_barrier && !b.barrier_before_pre_ops;
    const bool early = b.barrier_before_pre_ops && b.entry_wait.is_present();
    ASSERT_EQ(off, late ? 1 : early ? -1 : 0) << bits;
  }
}

TEST(MMABlockSpec, refuses_an_op_in_a_place_of_another_role) {
  const auto code = [](auto change) { return with(change).validate(); };
  EXPECT_EQ(code([](auto& b) { b.mma = frag(0); }).code, Code::op_role);
  EXPECT_EQ(code([](auto& b) { b.pre_op_1 = global(0); }).code, Code::op_role);
  EXPECT_EQ(code([](auto& b) { b.global_load = frag(0); }).code, Code::op_role);
  EXPECT_EQ(code([](auto& b) { b.entry_wait = lg(0); }).code, Code::op_role);
  EXPECT_EQ(code([](auto& b) { b.entry_wait_lgkm = vm(0); }).code, Code::op_role);
  EXPECT_EQ(code([](auto& b) { b.fused_mma = vm(0); }).code, Code::op_role);
  const Diagnostic d = code([](auto& b) { b.pre_sync = OpDesc::barrier(); });
  EXPECT_EQ(d.code, Code::op_role);
  EXPECT_EQ(d.a, Name("BAR"));
  EXPECT_EQ(d.b, Name("pre_sync"));
}

std::string minimal_text(const MMABlockSpec& b, bool wrap, bool gbf = false) {
  EntryList list;
  for (const OpDesc& o : emit_minimal_barrier_block(b, wrap, gbf)) append(list, o, Phase::kernel);
  return to_text(list, costs());
}

TEST(MinimalBarrierBlock, keeps_fragments_and_globals_apart) {
  MMABlockSpec b = minimal();
  EXPECT_EQ(minimal_text(b, false), "P0 SB G0 M");
  EXPECT_EQ(minimal_text(b, false, true), "G0 SB P0 M");
  b.pre_op_1 = frag(1);
  b.global_load_1 = global(1);
  EXPECT_EQ(minimal_text(b, false), "P0 P1 SB G0 G1 M");
  EXPECT_EQ(minimal_text({.mma = op(2), .global_load = global(0), .pre_mma_barrier = false}, true), "G0 M");
  EXPECT_EQ(minimal_text({.mma = op(2), .pre_op_0 = frag(0), .pre_mma_barrier = false}, true), "P0 M");
}

TEST(MinimalBarrierBlock, wraps_each_group_of_waits) {
  MMABlockSpec b = minimal();
  b.entry_wait = vm(8);
  b.entry_wait_lgkm = lg(4);
  EXPECT_EQ(minimal_text(b, false), "VM8 LG4 BAR P0 SB G0 M");
  EXPECT_EQ(minimal_text(b, true), "SB VM8 LG4 BAR SB P0 SB G0 M");
  b.pre_sync = vm(8);
  EXPECT_EQ(minimal_text(b, true), "SB VM8 LG4 BAR SB P0 SB G0 SB VM8 SB M");
  b.pre_mma_barrier = true;
  b.post_barrier_lgkm = true;
  EXPECT_EQ(minimal_text(b, true), "SB VM8 LG4 BAR SB P0 SB G0 SB VM8 BAR LG0 SB M");
}

TEST(MinimalBarrierBlock, ignores_priorities_drains_and_what_follows_the_mma) {
  MMABlockSpec b = full();
  b.pre_mma_barrier = false;
  b.fused_mma = op(3);
  b.drain_lgkm_before_loads = b.post_barrier_sched = b.trailing_sched_barrier = true;
  EXPECT_EQ(minimal_text(b, false), "P0 P1 SB G0 G1 M");
}

TEST(PipelineProgram, positions_agree_with_the_expansion) {
  PipelineProgram p;
  p.blocks = {full(), minimal(), full()};
  p.explicit_blocks = {{}, emit_minimal_barrier_block(minimal(), true), {}};
  p.trailing_barrier = true;
  ASSERT_TRUE(p.validate().ok());
  const EntryList list = p.expand(Phase::kernel);
  ASSERT_EQ(int(list.size()), p.total_entries());
  EXPECT_EQ(p.total_entries(), 10 + 4 + 10 + 1);
  EXPECT_EQ(p.block_start(2), 14);
  for (int i = 0; i < p.size(); ++i) EXPECT_EQ(list[size_t(p.mma_entry(i))].op.tag, data_tag(2)) << i;
  for (size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i].time_slot, int(i));
  EXPECT_TRUE(list.back().op.is_barrier());
  for (const ScheduleEntry& e : list) EXPECT_FALSE(e.is_prefetch);
}

TEST(PipelineProgram, explicit_block_without_an_mma_points_to_its_start) {
  PipelineProgram p;
  p.blocks = {full(), full()};
  p.explicit_blocks = {{}, {OpDesc::barrier()}};
  EXPECT_EQ(p.mma_entry(1), 10);
}

TEST(PipelineProgram, explicit_blocks_must_do_the_work_of_their_specs) {
  PipelineProgram p;
  p.blocks = {full()};
  p.explicit_blocks = {{}, {}};
  EXPECT_EQ(p.validate().code, Code::program_shape);
  p.explicit_blocks = {{frag(0), frag(1), global(0), op(2)}};
  const TargetCostModel names = costs();
  const Diagnostic lost = p.validate(&names);
  EXPECT_EQ(lost.code, Code::op_lost);
  EXPECT_EQ(lost.a, Name("G1"));
  EXPECT_EQ(lost.have, 0);
  p.explicit_blocks[0].push_back(global(1));
  EXPECT_TRUE(p.validate().ok());
  p.explicit_blocks[0].push_back(global(1));
  EXPECT_EQ(p.validate().code, Code::op_lost);
  EXPECT_EQ(p.validate().have, 2);
}

}  // namespace

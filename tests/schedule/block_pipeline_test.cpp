// The pipeline from declared blocks: its sequences, its proof, and every mistake in it.
#include "warpwright/schedule/block_pipeline.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "warpwright/schedule/legacy/standing.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;

Pipeline shipped() { return ping_pong_of_blocks(targets::gfx950); }
BodySpec spec() { return ping_pong(targets::gfx950); }
std::string text(const EntryList& list, const Pipeline& p) { return to_text(list, p.costs); }

Diagnostics found_in(const Pipeline& p) {
  Diagnostics found;
  for (int n = 0; n <= 4 && found.empty(); ++n) {
    found.append(verify(p, n));
    found.append(simulate_waves(p, n));
  }
  return found;
}

TEST(BlockPipeline, is_proven) {
  EXPECT_TRUE(shipped().ok());
  for (const Diagnostic& d : prove(shipped())) ADD_FAILURE() << to_text(d);
}

TEST(BlockPipeline, sequences) {
  const Pipeline p = shipped();
  EXPECT_EQ(text(p.schedule.prologue, p), "LB00@K0 LB01@K0 LA00@K0 LA01@K0 LB10@K1 LB11@K1 LA10@K1 VM6 BAR");
  EXPECT_EQ(text(p.schedule.kernel, p),
            "FB00 FA00 LA11@K-1 BAR LG0 PR1 MMA00 PR0 BAR FB01 LG0 BAR PR1 MMA01 PR0 BAR "
            "FA01 LB00@K0* BAR LG0 PR1 MMA10 PR0 BAR LB01@K0* LA00@K0* VM6 BAR PR1 MMA11 PR0 BAR "
            "FB10 FA10 LA01@K0* BAR LG0 PR1 MMA00 PR0 BAR FB11 LG0 BAR PR1 MMA01 PR0 BAR "
            "FA11 LB10@K1* BAR LG0 PR1 MMA10 PR0 BAR LB11@K1* LA10@K1* VM6 BAR PR1 MMA11 PR0 BAR");
  EXPECT_EQ(text(p.schedule.epilogue, p),
            "FB00 FA00 LA11@K-1 LG0 PR1 MMA00 PR0 FB01 LG0 PR1 MMA01 PR0 "
            "FA01 VM0 BAR LG0 PR1 MMA10 MMA11 PR0 BAR "
            "FB10 FA10 LG0 PR1 MMA00 PR0 FB11 LG0 PR1 MMA01 PR0 FA11 LG0 PR1 MMA10 MMA11 PR0");
}

// What the reference derives for FP8, with the repair that makes it safe, less what orders nothing: the first wait for
// fragments, which the one behind the barrier repeats, and the hints that the kernel's own fences make superfluous.
TEST(BlockPipeline, is_the_reference_repaired_without_what_orders_nothing) {
  const legacy::Compiled c = legacy::compile(legacy::SafePingPong{});
  std::string reference;
  for (const ScheduleEntry& e : c.kernel) {
    const std::string name = c.costs.name(e.op).c_str();
    if (name == "LG8" || name == "SB") continue;
    reference += (reference.empty() ? "" : " ") + name + (e.is_prefetch ? "*" : "");
  }
  EXPECT_EQ(text(shipped().schedule.kernel, shipped()), reference);
}

EntryList& phase_of(Pipeline& p, int phase) {
  return phase == 0 ? p.schedule.prologue : phase == 1 ? p.schedule.kernel : p.schedule.epilogue;
}

TEST(BlockPipeline, every_wait_and_every_barrier_is_needed) {
  Pipeline p = shipped();
  int waits = 0, barriers = 0, turns = 0;
  for (int phase = 0; phase < 3; ++phase) {
    for (size_t i = 0; i < phase_of(p, phase).size(); ++i) {
      const OpDesc op = phase_of(p, phase)[i].op;
      if (!op.is_wait() && !op.is_barrier()) continue;
      Pipeline gone = p, weaker = p;
      phase_of(gone, phase)[i].op = OpDesc::schedule_barrier();
      const Diagnostics found = found_in(gone);
      EXPECT_FALSE(found.empty()) << phase << "[" << i << "] " << op_name(op).c_str() << " dropped";
      barriers += op.is_barrier();
      turns += op.is_barrier() && count_of(verify(gone, 4), Code::turn_shared) > 0;
      if (!op.is_wait()) continue;
      ++waits;
      ++phase_of(weaker, phase)[i].op.wait_value;
      EXPECT_FALSE(found_in(weaker).empty()) << phase << "[" << i << "] " << op_name(op).c_str() << " one too high";
    }
  }
  EXPECT_EQ(waits, 16);
  EXPECT_EQ(barriers, 19);
  // The kernel's barriers also keep the groups from multiplying at the same time; six do nothing else.
  EXPECT_EQ(turns, 16);
}

TEST(BlockPipeline, every_op_is_needed) {
  Pipeline p = shipped();
  for (int phase = 0; phase < 3; ++phase) {
    for (size_t i = 0; i < phase_of(p, phase).size(); ++i) {
      if (!phase_of(p, phase)[i].op.tag.is_data()) continue;
      Pipeline gone = p;
      phase_of(gone, phase).erase(i);
      EXPECT_FALSE(found_in(gone).empty()) << phase << "[" << i << "]";
    }
  }
}

template <class Change>
Diagnostics after(Change change) {
  PipelineProgram program = ping_pong_blocks(spec().costs);
  change(program.blocks);
  const Pipeline p = compile(spec(), program, 2, targets::gfx950);
  if (p.ok()) return found_in(p);
  Diagnostics found;
  found.push_back(p.error);
  return found;
}
using Blocks = List<MMABlockSpec>;

TEST(BlockPipeline, a_change_of_a_block_that_breaks_it_is_named) {
  EXPECT_TRUE(after([](Blocks&) {}).empty());
  const auto is = [](const Diagnostics& found, Code code) { return count_of(found, code) > 0; };
  // A load of B as early as the fragments of its slot.
  EXPECT_TRUE(is(after([](Blocks& b) { std::swap(b[1].global_load, b[2].global_load); }), Code::hazard_war));
  EXPECT_TRUE(is(after([](Blocks& b) { b[2].barrier_before_pre_ops = true; }), Code::hazard_raw));
  EXPECT_TRUE(is(after([](Blocks& b) { b[3].pre_sync = OpDesc::wait_vm(8); }), Code::hazard_raw));
  EXPECT_TRUE(is(after([](Blocks& b) { b[1].pre_sync = {}, b[1].post_barrier_lgkm = true; }), Code::hazard_war));
  EXPECT_TRUE(is(after([](Blocks& b) { b[0].post_barrier_lgkm = false; }), Code::hazard_raw));
  EXPECT_TRUE(is(after([](Blocks& b) { b[4].pre_mma_barrier = false, b[4].pre_sync = OpDesc::wait_lgkm(0); }),
                 Code::turn_shared));
  EXPECT_TRUE(is(after([](Blocks& b) { b[4].post_mma_barrier = false; }), Code::turn_shared));
  EXPECT_TRUE(is(after([](Blocks& b) { b[5].pre_mma_set_prio = false; }), Code::priority_balance));
  EXPECT_TRUE(is(after([](Blocks& b) { b[5].post_mma_set_prio = false; }), Code::priority_balance));
  EXPECT_TRUE(is(after([](Blocks& b) { b[5].pre_op_0 = {}; }), Code::op_lost));
  EXPECT_TRUE(is(after([](Blocks& b) { b[6].mma = b[4].mma; }), Code::op_lost));
  EXPECT_TRUE(is(after([](Blocks& b) { b[3].global_load_prefetch = false; }), Code::op_lost));
  // A load says which tile it brings; another than the one that its slot is for is refused.
  EXPECT_TRUE(is(after([](Blocks& b) { b[2].global_load.k_offset = KOffset::k1; }), Code::config_invalid));
  EXPECT_TRUE(is(after([](Blocks& b) { b[2].global_load.k_offset = KOffset::none; }), Code::config_invalid));
  EXPECT_TRUE(is(after([](Blocks& b) { b[1].global_load = b[1].pre_op_0; }), Code::op_role));
}

// More waiting is allowed, and is reported as needless where it is.
TEST(BlockPipeline, stronger_blocks_stay_safe) {
  EXPECT_TRUE(after([](Blocks& b) {
                b[2].drain_lgkm_before_loads = true;
                b[2].post_barrier_lgkm = false;
              }).empty());
  EXPECT_TRUE(after([](Blocks& b) { b[0].pre_sync = OpDesc::wait_lgkm(8); }).empty());
  EXPECT_TRUE(after([](Blocks& b) { b[0].post_barrier_sched = b[0].trailing_sched_barrier = true; }).empty());
  EXPECT_TRUE(after([](Blocks& b) { b[1].wrap_waits_with_sched_barrier = true; }).empty());
}

TEST(BlockPipeline, is_refused_where_it_does_not_fit) {
  EXPECT_EQ(ping_pong_of_blocks(targets::gfx942).error.code, Code::smem_capacity);
  EXPECT_EQ(ping_pong_of_blocks(targets::sm80).error.code, Code::unit_missing);
  EXPECT_EQ(compile(spec(), ping_pong_blocks(spec().costs), 3, targets::gfx950).error.code, Code::smem_capacity);
}

// In a constant expression, as the kernel makes it.
static_assert([] {
  const Pipeline p = ping_pong_of_blocks(targets::gfx950);
  return p.ok() && p.stages() == 2 && p.schedule.kernel.size() == 64;
}());

}  // namespace

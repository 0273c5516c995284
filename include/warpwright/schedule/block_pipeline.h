// A pipeline from declared blocks: order, waits and barriers of the kernel are those of the MMABlockSpecs. Prologue and
// epilogue follow from the blocks, and all three are judged by the validators, as those of a compiled pipeline are.
#pragma once
#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/program.h"

namespace warpwright::schedule {

namespace detail {

// The blocks once more, without what they load for the next iteration. A block that moves nothing any more gives its
// MMA to the one before it; with nothing in flight there is no wait for it. Nothing is overwritten any more, so only
// the blocks that wait for loads keep their barriers: both, since a group that trails has waited one barrier later.
constexpr List<MMABlockSpec> drained_blocks(const PipelineProgram& program) {
  List<MMABlockSpec> out;
  bool in_flight = true;
  const auto drain = [&in_flight](OpDesc& wait) {
    if (!wait.is_wait_vm()) return;
    wait = in_flight ? OpDesc::wait_vm(0) : OpDesc{};
    in_flight = false;
  };
  for (const MMABlockSpec& block : program.blocks) {
    MMABlockSpec b = block;
    if (b.global_load_prefetch) b.global_load = {};
    if (b.global_load_1_prefetch) b.global_load_1 = {};
    b.global_load_prefetch = b.global_load_1_prefetch = false;
    drain(b.entry_wait);
    in_flight = in_flight || b.global_count() > 0;
    drain(b.pre_sync);
    const bool waits_behind_barrier = b.pre_mma_barrier && b.post_barrier_lgkm;
    b.pre_mma_barrier = b.pre_mma_barrier && b.pre_sync.is_wait_vm();
    b.post_mma_barrier = b.post_mma_barrier && b.pre_mma_barrier;
    if (waits_behind_barrier && !b.pre_mma_barrier) b.pre_sync = OpDesc::wait_lgkm(0);
    const bool joins = b.frag_count() + b.global_count() == 0 && !b.has_entry_wait() && !out.empty() &&
                       !out.back().fused_mma.is_present();
    if (!joins) {
      out.push_back(b);
      continue;
    }
    MMABlockSpec& before = out.back();
    before.fused_mma = b.mma;
    if (!b.pre_sync.is_present()) continue;
    // Its wait comes first, and the fragments of the block it joins are waited for after the barrier.
    before.post_barrier_lgkm = before.pre_sync.is_wait_lgkm();
    before.pre_sync = b.pre_sync;
    before.pre_mma_barrier = b.pre_mma_barrier;
    before.post_mma_barrier = b.post_mma_barrier;
  }
  return out;
}

// Writes into each entry which op of the body it is, and the iteration that it belongs to.
class BlockSources {
 public:
  constexpr BlockSources(const LoopBody& body, int tiles, Diagnostic& error)
      : body_(body), tiles_(tiles), error_(error) {}

  // `base`: the iteration of everything but the loads, which say themselves how far ahead they are.
  constexpr void label(EntryList& list, int base) {
    List<int> multiplied(body_.ops.size(), 0);
    for (ScheduleEntry& e : list) {
      if (!e.op.tag.is_data()) continue;
      e.source = int16_t(source_of(e.op, multiplied));
      e.shift = int16_t(base + (e.op.role == OpRole::global_load ? ahead(e.op) : 0));
      if (e.source < 0 && error_.ok()) error_ = {.code = Code::op_lost, .a = op_name(e.op), .b = "body"};
    }
  }

 private:
  constexpr int source_of(const OpDesc& op, List<int>& multiplied) const {
    for (int i = 0; i < body_.size(); ++i) {
      const OpDesc& mine = body_.ops[size_t(i)].op;
      if (mine.tag != op.tag || mine.stage != op.stage || mine.subtile != op.subtile) continue;
      // An MMA does not name its tile: the quadrants of the first come first.
      if (op.role == OpRole::compute && multiplied[size_t(i)]++ > 0) continue;
      return i;
    }
    return -1;
  }
  // Iterations between a load and the one that it loads for. The K offset counts tiles from the next iteration.
  constexpr int ahead(const OpDesc& op) {
    const int tiles = tiles_ + k_tiles(op.k_offset) - op.stage;
    if (!has_k_offset(op.k_offset) || tiles < 0 || tiles % tiles_ != 0) {
      if (error_.ok()) error_ = {.code = Code::config_invalid, .a = op_name(op), .b = "its stage holds another tile"};
      return 0;
    }
    return tiles / tiles_;
  }

  const LoopBody& body_;
  int tiles_;
  Diagnostic& error_;
};

constexpr int load_ticks(const TargetCostModel& costs, const EntryList& list, int least_stage) {
  int ticks = 0;
  for (const ScheduleEntry& e : list)
    if (e.op.role == OpRole::global_load && e.op.stage >= least_stage) ticks += costs[e.op.tag].ticks;
  return ticks;
}

// What the kernel has loaded one iteration ahead, tile by tile; the first is complete before a wave reads it.
constexpr EntryList block_prologue(const EntryList& kernel, int tiles, const TargetCostModel& costs) {
  EntryList out;
  for (int tile = 0; tile < tiles; ++tile) {
    for (const ScheduleEntry& e : kernel) {
      if (e.op.role != OpRole::global_load || e.op.stage != tile || e.shift != 1) continue;
      append(out, e.op, Phase::prologue);
      out.back().source = e.source;
    }
  }
  append(out, OpDesc::wait_vm(load_ticks(costs, out, 1)), Phase::prologue);
  append(out, OpDesc::barrier(), Phase::prologue);
  return out;
}

}  // namespace detail

// `spec`: the ops of one tile, with what they access. An iteration of the program has `tiles` of them, each in an LDS
// slot of its own, so that every slot is a constant.
constexpr Pipeline compile(const BodySpec& spec, const PipelineProgram& program, int tiles, const Target& target) {
  Pipeline p;
  p.name = spec.name;
  p.target = target;
  p.costs = spec.costs;
  p.buffers = spec.buffers;
  p.stagger = spec.stagger;
  p.shape.roles = spec.roles;
  p.shape.staggered = p.takes_turns = spec.stagger > 0;
  p.error = spec.error;
  if (p.ok()) p.error = program.validate(&p.costs);
  if (!p.ok()) return p;
  p.body = unrolled(spec.loop, tiles, spec.costs);
  p.depths = uniform_depths(p.buffers, tiles);
  if (p.shared() > target.shared_bytes) p.error = detail::too_large(p);
  p.order.stages = 2;  // loads, one iteration ahead of what reads them

  detail::BlockSources sources(p.body, tiles, p.error);
  p.schedule.kernel = program.expand(Phase::kernel);
  sources.label(p.schedule.kernel, 0);
  p.schedule.prologue = detail::block_prologue(p.schedule.kernel, tiles, p.costs);
  // The trailing group lets the leading one pass the barrier after which the first tile is read.
  p.schedule.warp_stagger_index = int(p.schedule.prologue.size()) - 1;
  for (const MMABlockSpec& b : detail::drained_blocks(program)) {
    b.expand_to_list(p.schedule.epilogue, Phase::epilogue);
  }
  sources.label(p.schedule.epilogue, -1);
  p.short_runs.push_back({});  // no tile at all
  return p;
}

// The ping-pong as blocks, two tiles an iteration. While one group of waves multiplies a quadrant, the other reads the
// fragments of its next one and loads; every barrier hands the matrix units over. What keeps the data safe:
//   - B of a slot is overwritten from the third block on: its last fragments are read before the second block's
//     barrier, hence by both groups;
//   - part 0 of A in the fourth block, a barrier behind the last wait for its fragments;
//   - part 1 of A, which the trailing group alone reads, in the first block of the other tile;
//   - the last block waits for all loads of the tile that comes next, which are those before the last three.
constexpr PipelineProgram ping_pong_blocks(const TargetCostModel& costs) {
  namespace t = body_tags;
  const auto op = [&costs](Tag tag, int channel, int stage, int subtile, KOffset k = KOffset::none) {
    OpDesc d = OpDesc::logical(tag, channel, stage, subtile, k);
    annotate(d, costs);
    return d;
  };
  PipelineProgram program;
  for (int half = 0; half < 2; ++half) {
    const KOffset next = half == 0 ? KOffset::k0 : KOffset::k1, late = half == 0 ? KOffset::k_prev : KOffset::k0;
    const int behind = 2 * costs[t::load_b].ticks + costs[t::load_a].ticks;
    program.blocks.push_back({.mma = op(t::mma, -1, 0, 0),
                              .pre_op_0 = op(t::frag_b, 1, half, 0),
                              .pre_op_1 = op(t::frag_a, 0, half, 0),
                              .global_load = op(t::load_a, 0, 1 - half, 1, late),
                              .global_load_prefetch = late != KOffset::k_prev});
    program.blocks.push_back({.mma = op(t::mma, -1, 0, 1),
                              .pre_op_0 = op(t::frag_b, 1, half, 1),
                              .pre_sync = OpDesc::wait_lgkm(0),
                              .post_barrier_lgkm = false});
    program.blocks.push_back({.mma = op(t::mma, -1, 1, 0),
                              .pre_op_0 = op(t::frag_a, 0, half, 1),
                              .global_load = op(t::load_b, 1, half, 0, next),
                              .global_load_prefetch = true});
    program.blocks.push_back({.mma = op(t::mma, -1, 1, 1),
                              .global_load = op(t::load_b, 1, half, 1, next),
                              .global_load_1 = op(t::load_a, 0, half, 0, next),
                              .pre_sync = OpDesc::wait_vm(behind),
                              .post_barrier_lgkm = false,
                              .global_load_prefetch = true,
                              .global_load_1_prefetch = true});
  }
  return program;
}

constexpr Pipeline ping_pong_of_blocks(const Target& target, const KernelGeometry& g = {}) {
  BodySpec spec = ping_pong(target, g);
  spec.name = "blocks";
  if (!spec.error.ok()) return compile(spec, PipelineProgram{}, 2, target);
  return compile(spec, ping_pong_blocks(spec.costs), 2, target);
}

}  // namespace warpwright::schedule

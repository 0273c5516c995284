// The reference's own schedules: default (single buffer), ping-pong (two wave groups one barrier apart) and 4-wave
// (fragments of the other stage read ahead).
#pragma once
#include "warpwright/schedule/legacy/compile.h"

namespace warpwright::schedule::legacy {

struct DefaultMatmul {
  int k_tiles = 2;
  AmdScheduleHints hints = {};

  constexpr PipelineConfig config() const { return PipelineConfig::mi355x_single(); }
  constexpr TargetCostModel costs() const { return single_buffer::mi355x_costs(); }

  constexpr List<OpDesc> logical_body() const {
    namespace t = single_buffer;
    PipelineBody b;
    b.load(t::load_dram, 0, 0, 0).store(t::store_smem, 0).barrier();
    b.fan(k_tiles, t::load_frag, 0, 0);
    for (int k = 0; k < k_tiles; ++k) b.compute(t::compute, 0, k);
    return b.done();
  }
  constexpr List<OpDesc> build_body() const {
    List<OpDesc> ops = logical_body();
    annotate(ops, costs());
    ops = single_buffer_reorder(ops, config().loop_carried);
    LoopBody body(ops, costs());
    body.edges = apply_edge_rules(ops, single_buffer_rules(), config());
    return optimize_within_barriers(body);
  }
  constexpr EntryList transform_kernel(EntryList kernel, const List<OpDesc>& body) const {
    for (const OpDesc& hint : amd_schedule_hints(hints, body, config().loop_carried)) {
      append(kernel, hint, Phase::kernel);
    }
    return kernel;
  }
};

struct PingPong {
  Strategy strategy = Strategy::csp;
  int max_globals = 1;
  int vm_a = 2, vm_b = 2;
  int lgkm_a = 8, lgkm_b = 4;
  BlockSizing sizing = {};
  ScheduleConfig overrides = {};
  // The order in which each half declares its four loads.
  stdx::array<int, 4> load_order = {0, 1, 2, 3};

  static constexpr PingPong bf16() { return {}; }  // 256x256x64, MFMA 16x16x32
  static constexpr PingPong fp8() {                // 256x256x128, MFMA 16x16x128
    PingPong p;
    p.max_globals = 0;
    return p;
  }
  static constexpr PingPong fp8_skinny() {  // 128x256x128
    PingPong p = fp8();
    p.vm_a = 1;
    p.lgkm_a = 4;
    return p;
  }

  constexpr PipelineConfig config() const {
    PipelineConfig c = PipelineConfig::mi355x_double(max_globals, vm_a, vm_b);
    c.block_sizing = sizing;
    c.block_sizing.max_globals = max_globals;
    c.lgkm_per_load_a = lgkm_a;
    c.lgkm_per_load_b = lgkm_b;
    return c;
  }
  constexpr ScheduleConfig schedule_config() const {
    ScheduleConfig s = overrides;
    s.scheduling = strategy;
    return s;
  }
  constexpr TargetCostModel costs() const { return double_buffer::mi355x_costs(); }

  // The load of A's second part comes one half late: only the group that trails by one phase reads it.
  constexpr List<OpDesc> logical_body() const {
    namespace t = double_buffer;
    PipelineBody b;
    for (int half = 0; half < 2; ++half) {
      const KOffset k = half == 0 ? KOffset::k0 : KOffset::k1;
      const KOffset completion = half == 0 ? KOffset::k_prev : KOffset::k0;
      const OpDesc loads[4] = {OpDesc::logical(t::load_a, 0, 1 - half, 1, completion),
                               OpDesc::logical(t::load_a, 0, half, 0, k), OpDesc::logical(t::load_b, 1, half, 0, k),
                               OpDesc::logical(t::load_b, 1, half, 1, k)};
      for (const int i : load_order) b.op(loads[i]);
      b.fan(2, t::mma_load_a, 0, half).fan(2, t::mma_load_b, 1, half).grid(2, 2, t::mma);
    }
    return b.done();
  }
  constexpr List<OpDesc> build_body() const {
    List<OpDesc> ops = logical_body();
    annotate(ops, costs());
    return double_buffer_reorder(ops, config());
  }
};

struct FourWave {
  int vm = 2;
  int lgkm = 4;
  bool fences = false;  // the reference turns them on for BM >= 128 unless the operands are FP8

  constexpr PipelineConfig config() const {
    PipelineConfig c = PipelineConfig::mi355x_double(1, vm, vm);
    c.warp_stagger = WarpStaggerRule::none();
    c.cross_stage_rotation = true;
    c.lgkm_per_load_a = c.lgkm_per_load_b = lgkm;
    return c;
  }
  constexpr ScheduleConfig schedule_config() const {
    ScheduleConfig s;
    s.minimal_barriers = true;
    s.omit_mma_set_prio = true;
    s.inter_block_lgkm_drain = true;
    s.partial_prologue_drain = true;
    s.wrap_waits_with_sched_barrier = fences;
    if (fences) s.sched_barrier_mask = 0xff;
    return s;
  }
  constexpr TargetCostModel costs() const { return double_buffer::mi355x_costs(); }

  constexpr List<OpDesc> build_body() const {
    namespace t = double_buffer;
    PipelineBody b;
    for (int half = 0; half < 2; ++half) {
      const int own = half, other = 1 - half;
      const KOffset k = half == 0 ? KOffset::k0 : KOffset::k1;
      b.load(t::load_a, 0, own, 0, k).frag(t::mma_load_b, 1, own, 1).compute(t::mma, 0, 0);
      b.load(t::load_b, 1, own, 0, k).frag(t::mma_load_a, 0, own, 1).compute(t::mma, 0, 1);
      b.load(t::load_b, 1, own, 1, k).frag(t::mma_load_a, 0, other, 0).compute(t::mma, 1, 0);
      b.load(t::load_a, 0, own, 1, k).frag(t::mma_load_b, 1, other, 0).compute(t::mma, 1, 1);
    }
    return b.done();
  }
  constexpr List<DepEdge> derive_edges(const List<OpDesc>& ops) const {
    List<DepEdge> edges = apply_edge_rules(ops, double_buffer_rules(), config());
    for (const DepEdge& e : rotation_edges(ops)) edges.push_back(e);
    return edges;
  }
  constexpr List<OpDesc> bootstrap_frags() const {
    namespace t = double_buffer;
    return {OpDesc::logical(t::mma_load_a, 0, 0, 0), OpDesc::logical(t::mma_load_b, 1, 0, 0)};
  }
  constexpr List<List<OpDesc>> build_explicit_blocks(const PipelineProgram& program) const {
    List<List<OpDesc>> out;
    for (const MMABlockSpec& b : program.blocks) out.push_back(emit_minimal_barrier_block(b, fences));
    return out;
  }
};

}  // namespace warpwright::schedule::legacy

// From an ordered body to MMA blocks, and from blocks to wait counts, as the reference derives them. Nothing here looks
// at dependences; audit.h does.
#pragma once
#include "warpwright/schedule/legacy/edges.h"
#include "warpwright/schedule/legacy/order.h"

namespace warpwright::schedule::legacy {

constexpr bool drains(const MMABlockSpec& b, uint32_t mask, int index) {
  return (mask >> index & 1) != 0 && b.frag_count() > 0 && b.global_count() > 0;
}

namespace detail {

// The ops before one MMA.
struct BlockOps {
  List<OpDesc> frags = {};
  List<OpDesc> globals = {};
  OpDesc mma = {};
  constexpr bool reads_other_stage(int partition) const {
    for (const OpDesc& f : frags)
      if (f.stage != partition) return true;
    return false;
  }
};

constexpr List<BlockOps> split_blocks(const List<OpDesc>& ops, int count) {
  List<BlockOps> blocks(1);
  for (const OpDesc& op : ops) {
    BlockOps& b = blocks.back();
    if (op.role == OpRole::fragment_load) b.frags.push_back(op);
    if (op.role == OpRole::global_load) b.globals.push_back(op);
    if (op.role != OpRole::compute) continue;
    b.mma = op;
    blocks.push_back({});
  }
  blocks.resize(size_t(count));
  return blocks;
}

}  // namespace detail

struct BlockList {
  List<MMABlockSpec> blocks = {};
  Diagnostics findings = {};  // BLOCK_CAPACITY: the third and later ops of a kind are dropped
};

constexpr BlockList construct_mma_blocks(const LoopBody& body, const Order& order, const PipelineConfig& config,
                                         const ScheduleConfig& s) {
  List<OpDesc> ops;
  for (const int i : order) ops.push_back(body.ops[size_t(i)].op);
  int total_vm = 0;
  for (const OpDesc& op : ops) total_vm += op.is_prefetch() ? config.vm_per_load(op.channel) : 0;
  const int main_wait = total_vm - total_vm / config.num_partitions;
  const int per_partition = config.mmas_per_partition();
  const List<detail::BlockOps> parts = detail::split_blocks(ops, config.total_blocks());

  BlockList out;
  bool crossed = false;
  for (int i = 0; i < config.total_blocks(); ++i) {
    const int position = i % per_partition, partition = i / per_partition;
    const detail::BlockOps& part = parts[size_t(i)];
    for (const List<OpDesc>* list : {&part.frags, &part.globals}) {
      if (list->size() > 2) {
        out.findings.push_back({.code = Code::block_capacity,
                                .a = body.name_of((*list)[2]),
                                .b = Name("block ").add(i),
                                .have = int(list->size()),
                                .need = 2});
      }
    }
    MMABlockSpec b;
    b.mma = part.mma;
    const auto pick = [](const List<OpDesc>& list, size_t n) { return n < list.size() ? list[n] : OpDesc{}; };
    b.pre_op_0 = pick(part.frags, 0);
    b.pre_op_1 = pick(part.frags, 1);
    b.global_load = pick(part.globals, 0);
    b.global_load_1 = pick(part.globals, 1);
    b.global_load_prefetch = b.global_load.is_prefetch();
    b.global_load_1_prefetch = b.global_load_1.is_prefetch();

    if (position == 0) crossed = false;
    const bool first_cross = !crossed && part.reads_other_stage(partition);
    crossed = crossed || first_cross;
    bool top_drain = false;
    for (int j = i; position == 0 && j < i + per_partition; ++j) {
      top_drain = top_drain || parts[size_t(j)].reads_other_stage(partition);
    }
    if (first_cross || top_drain) b.entry_wait = OpDesc::wait_vm(main_wait);

    const bool merge = b.entry_wait.is_present() && s.minimal_barriers;
    if (position == 0 && s.wait_lgkm_first < kSuppressWait) {
      if (merge) {
        b.entry_wait_lgkm = OpDesc::wait_lgkm(0);
      } else {
        b.pre_sync = OpDesc::wait_lgkm(s.wait_lgkm_first);
      }
    } else if (first_cross) {
      (merge ? b.entry_wait_lgkm : b.pre_sync) = OpDesc::wait_lgkm(0);
    } else if (position == per_partition - 1) {
      b.pre_sync = OpDesc::wait_vm(s.wait_vm_last);
      b.post_barrier_lgkm = s.lgkm_after_last;
    } else if (s.inter_block_lgkm_drain) {
      b.entry_wait_lgkm = OpDesc::wait_lgkm(0);
    }

    b.trailing_sched_barrier = (s.sched_barrier_mask >> i & 1) != 0;
    b.drain_lgkm_before_loads = drains(b, s.drain_lgkm_mask, i);
    if (s.minimal_barriers) {
      b.pre_mma_barrier = b.post_mma_barrier = b.post_mma_set_prio = b.post_barrier_lgkm = false;
      b.pre_mma_set_prio = !s.omit_mma_set_prio && (position == 0 || first_cross);
    }
    b.global_before_frag = s.global_before_frag;
    b.barrier_before_pre_ops = s.barrier_before_pre_ops;
    b.wrap_waits_with_sched_barrier = s.wrap_waits_with_sched_barrier;
    out.blocks.push_back(b);
  }
  return out;
}

// Blocks over the limit give their last loads to the first blocks with room. Dependences, halves and stages are not
// consulted: this is where the reference's BF16 ping-pong gets its write before another group's read.
constexpr void redistribute_globals(List<MMABlockSpec>& blocks, int max_globals, uint32_t drain_mask) {
  if (max_globals <= 0) return;
  struct Moved {
    OpDesc op;
    bool prefetch;
  };
  List<Moved> pool;
  for (MMABlockSpec& b : blocks) {
    if (b.global_load_1.is_present() && b.global_count() > max_globals) {
      pool.push_back({b.global_load_1, b.global_load_1_prefetch});
      b.global_load_1 = {};
      b.global_load_1_prefetch = false;
    }
    if (b.global_load.is_present() && b.global_count() > max_globals) {
      pool.push_back({b.global_load, b.global_load_prefetch});
      b.global_load = {};
      b.global_load_prefetch = false;
    }
  }
  size_t next = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    MMABlockSpec& b = blocks[i];
    while (next < pool.size() && b.global_count() < max_globals) {
      const bool first_free = !b.global_load.is_present();
      (first_free ? b.global_load : b.global_load_1) = pool[next].op;
      (first_free ? b.global_load_prefetch : b.global_load_1_prefetch) = pool[next].prefetch;
      ++next;
    }
    b.drain_lgkm_before_loads = drains(b, drain_mask, int(i));
  }
}

struct DerivedWaits {
  int lgkm_first = 0;
  int vm_last = 0;
  constexpr bool operator==(const DerivedWaits&) const = default;
};

constexpr DerivedWaits derive_waits_from_blocks(const List<MMABlockSpec>& blocks, const PipelineConfig& config,
                                                const ScheduleConfig& s) {
  DerivedWaits w{0, 255};
  const int per_half = config.mmas_per_partition();
  for (int half = 0; half < config.num_partitions; ++half) {
    int lgkm = 0, vm = 0;
    for (int i = 0; i < per_half; ++i) {
      const MMABlockSpec& b = blocks[size_t(half * per_half + i)];
      for (const OpDesc& load : {b.global_load, b.global_load_1}) {
        if (!load.is_present()) continue;
        if (i == 0) lgkm += lgkm_per_load(config, s, load.channel);
        if (load.stage == half) vm += config.vm_per_load(load.channel);
      }
    }
    if (lgkm > w.lgkm_first) w.lgkm_first = lgkm;
    if (vm < w.vm_last) w.vm_last = vm;
  }
  return w;
}

constexpr void patch_waits(List<MMABlockSpec>& blocks, const DerivedWaits& waits, const PipelineConfig& config,
                           const ScheduleConfig& s) {
  const int per_half = config.mmas_per_partition();
  for (int half = 0; half < config.num_partitions; ++half) {
    MMABlockSpec& first = blocks[size_t(half * per_half)];
    const OpDesc lgkm = OpDesc::wait_lgkm(s.barrier_before_pre_ops ? 0 : waits.lgkm_first);
    if (s.minimal_barriers && first.entry_wait.is_present()) {
      first.entry_wait_lgkm = lgkm;
      first.pre_sync = {};
    } else {
      first.pre_sync = lgkm;
    }
    blocks[size_t((half + 1) * per_half - 1)].pre_sync = OpDesc::wait_vm(waits.vm_last);
  }
}

// Blocks where a fragment load of one operand meets a global load of the other. The second global load is not examined.
constexpr uint32_t derive_drain_mask(const List<MMABlockSpec>& blocks) {
  uint32_t mask = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const MMABlockSpec& b = blocks[i];
    for (const OpDesc& frag : {b.pre_op_0, b.pre_op_1}) {
      if (frag.is_present() && b.global_load.is_present() && frag.channel != b.global_load.channel) mask |= 1u << i;
    }
  }
  return mask;
}

// The reference's own checks, V0 to V7, which it compiles into debug builds only. They do not look at dependences, at
// lost ops or at the width of counters.
constexpr Diagnostic verify_schedule(const List<MMABlockSpec>& blocks, const PipelineConfig& config,
                                     const ScheduleConfig& s, const DerivedWaits& waits) {
  const auto broken = [](const char* check, int have, int need) {
    return Diagnostic{.code = Code::config_invalid, .a = check, .have = have, .need = need};
  };
  const int per_half = config.mmas_per_partition();
  const bool staged = config.depth == 2 && !config.cross_stage_rotation;
  if (int(blocks.size()) != config.total_blocks()) {
    return broken("V0 block count", int(blocks.size()), config.total_blocks());
  }
  int globals = 0, prefetches = 0;
  for (const MMABlockSpec& b : blocks) {
    if (b.mma.role != OpRole::compute) return broken("V1 mma role", int(b.mma.role), int(OpRole::compute));
    globals += b.global_count();
    prefetches += b.global_load_prefetch + b.global_load_1_prefetch;
  }
  const bool counts_lgkm = lgkm_per_load(config, s, 0) != 0 || lgkm_per_load(config, s, 1) != 0;
  for (int half = 0; half < config.num_partitions; ++half) {
    const MMABlockSpec& first = blocks[size_t(half * per_half)];
    int lgkm = 0, completions = 0;
    for (const OpDesc& load : {first.global_load, first.global_load_1}) {
      if (load.is_present()) lgkm += lgkm_per_load(config, s, load.channel);
    }
    if (counts_lgkm && waits.lgkm_first < kSuppressWait && waits.lgkm_first > lgkm) {
      return broken("V2 lgkm wait", waits.lgkm_first, lgkm);
    }
    for (int i = 0; i < per_half; ++i) {
      const MMABlockSpec& b = blocks[size_t(half * per_half + i)];
      for (const OpDesc& frag : {b.pre_op_0, b.pre_op_1}) {
        if (staged && frag.is_present() && frag.stage != half) return broken("V4 frag stage", frag.stage, half);
      }
      for (const OpDesc& load : {b.global_load, b.global_load_1}) {
        completions += load.is_present() && load.stage != half;
      }
    }
    if (staged && completions == 0) return broken("V6 completion load", 0, 1);
  }
  if (waits.vm_last < 0) return broken("V2 vm wait", waits.vm_last, 0);
  const int limit = config.block_sizing.max_globals;
  if (limit > 0 && globals >= limit * config.total_blocks()) {
    for (const MMABlockSpec& b : blocks)
      if (b.global_count() != limit) return broken("V3 globals", b.global_count(), limit);
  }
  if (prefetches == 0) return broken("V5 prefetch", 0, 1);
  if (config.depth == 2 && config.warp_stagger.enabled && limit == 0) {
    for (int i = 0; i + 1 < int(blocks.size()); ++i) {
      const int position = i % per_half;
      if (position < 1 || position > per_half - 2) continue;
      for (const OpDesc& load : {blocks[size_t(i)].global_load, blocks[size_t(i)].global_load_1}) {
        for (const OpDesc& frag : {blocks[size_t(i) + 1].pre_op_0, blocks[size_t(i) + 1].pre_op_1}) {
          if (load.is_present() && frag.is_present() && load.stage == frag.stage) {
            return broken("V7 load then frag", i, i + 1);
          }
        }
      }
    }
  }
  return {};
}

struct KernelProgram {
  PipelineProgram program = {};
  Order order = {};
  DerivedWaits waits = {};
  Diagnostics findings = {};
};

constexpr KernelProgram build_kernel_program(const LoopBody& body, const PipelineConfig& config,
                                             const ScheduleConfig& s) {
  KernelProgram out;
  Checked<Order> ordered{identity_order(body.size()), {}};
  if (s.scheduling == Strategy::greedy) ordered = greedy_schedule(body);
  if (s.scheduling == Strategy::csp) {
    ordered = optimal_schedule_with_halves(body, config.block_sizing.max_globals, s.lds_contention_penalty, s.max_vgpr);
  }
  if (!ordered.ok()) out.findings.push_back(ordered.error);
  out.order = ordered.value;

  BlockList built = construct_mma_blocks(body, out.order, config, s);
  for (const Diagnostic& d : built.findings) out.findings.push_back(d);
  List<MMABlockSpec>& blocks = built.blocks;
  redistribute_globals(blocks, config.block_sizing.max_globals, s.drain_lgkm_mask);
  out.waits = {s.wait_lgkm_first, s.wait_vm_last};
  if (s.auto_waits) {
    out.waits = derive_waits_from_blocks(blocks, config, s);
    if (s.auto_drain) {
      const uint32_t mask = derive_drain_mask(blocks);
      for (size_t i = 0; i < blocks.size(); ++i) blocks[i].drain_lgkm_before_loads = drains(blocks[i], mask, int(i));
    }
    patch_waits(blocks, out.waits, config, s);
  }
  const Diagnostic verdict = verify_schedule(blocks, config, s, out.waits);
  if (!verdict.ok()) out.findings.push_back(verdict);
  out.program.blocks = blocks;
  return out;
}

}  // namespace warpwright::schedule::legacy

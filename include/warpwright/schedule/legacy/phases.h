// The reference's prologue, epilogue, kernel dependences and compiler hints.
#pragma once
#include "warpwright/schedule/legacy/blocks.h"

namespace warpwright::schedule::legacy {

// The prefetch loads of both stages, each stage drained, or (partial) the bootstrap fragments as their loads arrive.
// Only stages 0 and 1 exist, and the i-th bootstrap fragment is taken to need the first i+1 loads.
constexpr EntryList prologue_from_program(const PipelineProgram& program, const PipelineConfig& config,
                                          const ScheduleConfig& s, const List<OpDesc>& bootstrap) {
  constexpr Phase phase = Phase::prologue;
  EntryList out;
  List<int> vm;
  int in_flight = 0;
  for (int stage = 0; stage < 2; ++stage) {
    for (const MMABlockSpec& b : program.blocks) {
      const auto copy = [&](const OpDesc& load, bool prefetch) {
        if (!prefetch || load.stage != stage) return;
        OpDesc d = load;
        d.k_offset = stage == 0 ? KOffset::k0 : KOffset::k1;
        d.vm_cost = int16_t(config.vm_per_load(load.channel));
        d.channel = -1;
        d.vgpr_def = d.vgpr_kill = 0;
        vm.push_back(d.vm_cost);
        in_flight += d.vm_cost;
        append(out, d, phase);
      };
      copy(b.global_load, b.global_load_prefetch);
      copy(b.global_load_1, b.global_load_1_prefetch);
    }
    if (s.partial_prologue_drain) continue;
    append(out, OpDesc::wait_vm(0), phase);
    if (stage == 0) append(out, OpDesc::barrier(), phase);
  }
  if (s.partial_prologue_drain) {
    for (size_t i = 0; i < bootstrap.size() && i < vm.size(); ++i) {
      in_flight -= vm[i];
      append(out, OpDesc::wait_vm(in_flight), phase);
      append(out, OpDesc::barrier(), phase);
      append(out, bootstrap[i], phase);
    }
  }
  return out;
}

// The blocks once more without their prefetches. An MMA whose block has become empty is fused to the one before it.
constexpr EntryList epilogue_from_program(const PipelineProgram& program, const PipelineConfig& config) {
  const List<MMABlockSpec>& blocks = program.blocks;
  const int count = int(blocks.size()), per_half = config.mmas_per_partition();
  const auto kept = [](const OpDesc& load, bool prefetch) { return prefetch ? OpDesc{} : load; };
  List<MMABlockSpec> drained;
  for (int half = 0; half < config.num_partitions; ++half) {
    const int begin = half * per_half, end = begin + per_half;
    int drain_start = begin;
    while (drain_start < end && !blocks[size_t(drain_start)].global_load_prefetch &&
           !blocks[size_t(drain_start)].global_load_1_prefetch) {
      ++drain_start;
    }
    for (int i = begin; i < end; ++i) {
      const MMABlockSpec& from = blocks[size_t(i)];
      MMABlockSpec b;
      b.mma = from.mma;
      b.pre_op_0 = from.pre_op_0;
      b.pre_op_1 = from.pre_op_1;
      b.global_load = kept(from.global_load, from.global_load_prefetch);
      b.global_load_1 = kept(from.global_load_1, from.global_load_1_prefetch);
      b.entry_wait_lgkm = OpDesc::wait_lgkm(0);
      b.pre_mma_barrier = from.pre_mma_barrier;
      b.pre_mma_set_prio = from.pre_mma_set_prio;
      b.post_mma_barrier = from.post_mma_barrier;
      b.post_mma_set_prio = from.post_mma_set_prio;
      b.post_barrier_lgkm = from.post_barrier_lgkm;
      if (i >= drain_start) b.pre_sync = OpDesc::wait_vm(0);
      if (i + 1 < count) {
        const MMABlockSpec& next = blocks[size_t(i) + 1];
        if (!next.pre_op_0.is_present() && !kept(next.global_load, next.global_load_prefetch).is_present() &&
            !kept(next.global_load_1, next.global_load_1_prefetch).is_present()) {
          b.fused_mma = next.mma;
          ++i;
        }
      }
      drained.push_back(b);
    }
  }
  drained.back().pre_sync = {};
  EntryList out;
  for (const MMABlockSpec& b : drained) b.expand_to_list(out, Phase::epilogue);
  append(out, OpDesc::barrier(), Phase::epilogue);
  return out;
}

// One step of a single-buffer phase: ops of a role, or a barrier, or a fence.
struct RecipeStep {
  enum class Action : uint8_t { emit = 0, barrier = 1, fence = 2 };
  Action action = Action::emit;
  OpRole role = OpRole::none;
  int subtile = -1;
  bool exclude_carried = false;
  bool carried_only = false;
  bool all = false;
};

constexpr List<RecipeStep> single_buffer_prologue_recipe() {
  using A = RecipeStep::Action;
  return {{.role = OpRole::global_load},
          {.role = OpRole::shared_store},
          {.action = A::barrier},
          {.role = OpRole::global_load},
          {.role = OpRole::fragment_load, .carried_only = true},
          {.action = A::fence}};
}
constexpr List<RecipeStep> single_buffer_epilogue_recipe() {
  using A = RecipeStep::Action;
  return {{.action = A::fence},
          {.role = OpRole::fragment_load, .exclude_carried = true, .all = true},
          {.action = A::barrier},
          {.role = OpRole::shared_store},
          {.role = OpRole::compute, .all = true},
          {.action = A::fence},
          {.action = A::barrier},
          {.role = OpRole::fragment_load, .all = true},
          {.role = OpRole::compute, .all = true},
          {.action = A::fence}};
}

constexpr EntryList follow_recipe(const List<RecipeStep>& recipe, const List<OpDesc>& body,
                                  const LoopCarriedSpec& carried, Phase phase) {
  EntryList out;
  for (const RecipeStep& step : recipe) {
    if (step.action == RecipeStep::Action::barrier) append(out, OpDesc::barrier(), phase);
    if (step.action == RecipeStep::Action::fence) append(out, OpDesc::schedule_barrier(), phase);
    if (step.action != RecipeStep::Action::emit) continue;
    for (const OpDesc& op : body) {
      const bool is_carried = op.subtile == carried.selector;
      if (op.role != step.role || (step.subtile >= 0 && op.subtile != step.subtile) ||
          (step.exclude_carried && is_carried) || (step.carried_only && !is_carried)) {
        continue;
      }
      append(out, op, phase);
      if (!step.all) break;
    }
  }
  return out;
}

// Positions in the kernel, for information only.
struct KernelDep {
  int producer = 0;
  int consumer = 0;
  constexpr bool operator==(const KernelDep&) const = default;
};

constexpr List<KernelDep> scan_kernel_deps(const EntryList& kernel, int partitions) {
  List<KernelDep> deps;
  const int half = int(kernel.size()) / partitions;
  for (int p = 0; p < partitions; ++p) {
    List<int> mmas, starts;
    int first_lgkm = -1;
    for (int i = p * half; i < (p + 1) * half; ++i) {
      const OpDesc& op = kernel[size_t(i)].op;
      if (op.role == OpRole::compute) mmas.push_back(i);
      if (op.role == OpRole::sync && starts.size() == mmas.size()) starts.push_back(i);
      if (op.is_wait_lgkm() && first_lgkm < 0) first_lgkm = i;
    }
    if (mmas.empty()) continue;
    if (!starts.empty()) deps.push_back({starts[0], mmas[0]});
    if (first_lgkm >= 0) deps.push_back({first_lgkm, mmas[0]});
    if (mmas.size() >= 3) {
      deps.push_back({mmas[0], mmas[1]});
      deps.push_back({mmas[1], mmas[2]});
    }
  }
  return deps;
}

struct AmdScheduleHints {
  int m_mmas = 4;
  int n_mmas = 4;
  int k_mmas = 2;
  int mma_m = 16;
  int mma_n = 16;
  int a_loads = 2;
  int b_loads = 2;
};

// Group hints that tell the backend how to mix MFMAs with reads and stores. Groups of zero MFMAs are emitted, as in the
// reference; a body without fragments gets none, where the reference divides by zero.
constexpr List<OpDesc> amd_schedule_hints(const AmdScheduleHints& h, const List<OpDesc>& body,
                                          const LoopCarriedSpec& carried) {
  int frags = 0, carried_frags = 0;
  for (const OpDesc& op : body) {
    if (op.role != OpRole::fragment_load) continue;
    ++frags;
    carried_frags += op.subtile == carried.selector;
  }
  List<OpDesc> out;
  if (frags == 0) return out;
  const auto hint = [&out](GroupMask m, int count) { out.push_back(OpDesc::sched_group_barrier(int(m), count)); };
  const int reads_per_frag = h.m_mmas + h.n_mmas;
  const int total_mmas = h.m_mmas * h.n_mmas * h.k_mmas;
  const int total_reads = reads_per_frag * frags;
  const int stores = h.a_loads + h.b_loads;
  const int wish = h.mma_m == 32 && h.mma_n == 32 ? 1 : 2;
  const int per_read = total_mmas / total_reads < wish ? total_mmas / total_reads : wish;
  const int rest = total_mmas - total_reads * per_read;
  const int per_store = stores > 0 ? rest / stores : 0, extra = stores > 0 ? rest % stores : 0;
  const auto reads = [&](int count) {
    for (int i = 0; i < count; ++i) {
      hint(GroupMask::ds_read, 1);
      hint(GroupMask::mfma, per_read);
    }
  };
  reads((frags - carried_frags) * reads_per_frag);
  for (int i = 0; i < stores; ++i) {
    const int mmas = per_store + (i < extra);
    hint(GroupMask::ds_write, 1);
    hint(GroupMask::mfma, mmas / 2);
    hint(GroupMask::vmem_read, 1);
    hint(GroupMask::mfma, mmas - mmas / 2);
  }
  reads(carried_frags * reads_per_frag);
  return out;
}

}  // namespace warpwright::schedule::legacy

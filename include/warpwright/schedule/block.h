// MMABlockSpec: one MMA and what surrounds it, declared. The order of emission is fixed (emit below is its definition);
// entry_count, mma_position and post_barrier_lgkm_position are closed forms of it.
//
//   entry    [SB] [entry_wait] [entry_wait_lgkm] [BAR] [SB]
//   load     fragment loads, [LG0], global loads        (global_before_frag: the other way round)
//   sync     [SB] [pre_sync] [BAR [SB] [LG0]] [SB]      (barrier_before_pre_ops: sync before load)
//   MMA      [PR1] mma [fused_mma] [PR0] [BAR [SB]]
#pragma once
#include "warpwright/schedule/entry.h"

namespace warpwright::schedule {

// Entry 5, load 5, sync 6, MMA 6.
inline constexpr int kMaxBlockEntries = 22;

// The entries that a block expands to.
struct BlockEntries {
  OpDesc ops[kMaxBlockEntries] = {};
  bool prefetch[kMaxBlockEntries] = {};
  int count = 0;
  constexpr void add(const OpDesc& op, bool is_prefetch = false) {
    ops[count] = op;
    prefetch[count] = is_prefetch;
    ++count;
  }
};

// An MMA and what surrounds it: waits, loads, fragments, barriers and priorities.
struct MMABlockSpec {
  OpDesc mma = {};
  OpDesc pre_op_0 = {};
  OpDesc pre_op_1 = {};
  OpDesc global_load = {};
  OpDesc global_load_1 = {};
  OpDesc entry_wait = {};       // a wait_vm; a barrier follows, because other waves filled what this block reads
  OpDesc entry_wait_lgkm = {};  // directly after entry_wait, so that the backend can merge the two
  OpDesc pre_sync = {};         // a wait_vm or a wait_lgkm
  OpDesc fused_mma = {};
  bool pre_mma_barrier = true;
  bool pre_mma_set_prio = true;
  bool post_mma_barrier = true;
  bool post_mma_set_prio = true;
  bool post_barrier_lgkm = true;        // only with pre_mma_barrier
  bool post_barrier_sched = false;      // only with pre_mma_barrier
  bool trailing_sched_barrier = false;  // only with post_mma_barrier
  bool global_load_prefetch = false;
  bool global_load_1_prefetch = false;
  bool drain_lgkm_before_loads = false;
  bool global_before_frag = false;
  bool barrier_before_pre_ops = false;
  bool wrap_waits_with_sched_barrier = false;

  constexpr bool operator==(const MMABlockSpec&) const = default;

  constexpr bool has_entry_wait() const { return entry_wait.is_present() || entry_wait_lgkm.is_present(); }
  constexpr bool has_sync() const { return pre_sync.is_present() || pre_mma_barrier; }
  constexpr bool wraps_entry() const { return wrap_waits_with_sched_barrier && has_entry_wait(); }
  constexpr bool wraps_sync() const { return wrap_waits_with_sched_barrier && has_sync(); }
  constexpr int frag_count() const { return pre_op_0.is_present() + pre_op_1.is_present(); }
  constexpr int global_count() const { return global_load.is_present() + global_load_1.is_present(); }

  constexpr int entry_length() const {
    return 2 * wraps_entry() + 2 * entry_wait.is_present() + entry_wait_lgkm.is_present();
  }
  constexpr int load_length() const { return frag_count() + drain_lgkm_before_loads + global_count(); }
  constexpr int sync_length() const {
    return 2 * wraps_sync() + pre_sync.is_present() +
           (pre_mma_barrier ? 1 + post_barrier_sched + post_barrier_lgkm : 0);
  }

  constexpr int mma_position() const { return entry_length() + load_length() + sync_length() + pre_mma_set_prio; }
  constexpr int entry_count() const {
    return mma_position() + 1 + fused_mma.is_present() + post_mma_set_prio +
           (post_mma_barrier ? 1 + trailing_sched_barrier : 0);
  }
  // -1: there is no wait for lgkm after the barrier. schedule/legacy returns what the reference returns, which is one
  // off when the sync group is wrapped or comes before the loads after an entry wait.
  constexpr int post_barrier_lgkm_position() const {
    if (!post_barrier_lgkm || !pre_mma_barrier) return -1;
    return entry_length() + (barrier_before_pre_ops ? 0 : load_length()) + wraps_sync() + pre_sync.is_present() + 1 +
           post_barrier_sched;
  }

  constexpr BlockEntries emit() const {
    BlockEntries out;
    emit_entry(out);
    if (barrier_before_pre_ops) emit_sync(out);
    emit_loads(out);
    if (!barrier_before_pre_ops) emit_sync(out);
    if (pre_mma_set_prio) out.add(OpDesc::set_prio(1));
    out.add(mma);
    if (fused_mma.is_present()) out.add(fused_mma);
    if (post_mma_set_prio) out.add(OpDesc::set_prio(0));
    if (post_mma_barrier) {
      out.add(OpDesc::barrier());
      if (trailing_sched_barrier) out.add(OpDesc::schedule_barrier());
    }
    return out;
  }

  template <int N, Phase P>
  constexpr void expand(EntryBuilder<N, P>& b) const {
    const BlockEntries block = emit();
    for (int i = 0; i < block.count; ++i) b.emit(block.ops[i], block.prefetch[i]);
  }
  constexpr void expand_to_list(EntryList& out, Phase phase) const {
    const BlockEntries block = emit();
    for (int i = 0; i < block.count; ++i) append(out, block.ops[i], phase, block.prefetch[i]);
  }

  // Every op is in a place meant for its role. Positions and counts are right either way.
  constexpr Diagnostic validate(const TargetCostModel* names = nullptr) const {
    const auto wrong = [names](const OpDesc& op, const char* place) {
      return Diagnostic{.code = Code::op_role, .a = name_with(names, op), .b = place};
    };
    if (mma.role != OpRole::compute) return wrong(mma, "mma");
    if (fused_mma.is_present() && fused_mma.role != OpRole::compute) return wrong(fused_mma, "fused_mma");
    if (pre_op_0.is_present() && pre_op_0.role != OpRole::fragment_load) return wrong(pre_op_0, "pre_op_0");
    if (pre_op_1.is_present() && pre_op_1.role != OpRole::fragment_load) return wrong(pre_op_1, "pre_op_1");
    if (global_load.is_present() && global_load.role != OpRole::global_load) return wrong(global_load, "global_load");
    if (global_load_1.is_present() && global_load_1.role != OpRole::global_load) {
      return wrong(global_load_1, "global_load_1");
    }
    if (entry_wait.is_present() && !entry_wait.is_wait_vm()) return wrong(entry_wait, "entry_wait");
    if (entry_wait_lgkm.is_present() && !entry_wait_lgkm.is_wait_lgkm()) {
      return wrong(entry_wait_lgkm, "entry_wait_lgkm");
    }
    if (pre_sync.is_present() && !pre_sync.is_wait()) return wrong(pre_sync, "pre_sync");
    return {};
  }

 private:
  constexpr void emit_entry(BlockEntries& out) const {
    if (wraps_entry()) out.add(OpDesc::schedule_barrier());
    if (entry_wait.is_present()) out.add(entry_wait);
    if (entry_wait_lgkm.is_present()) out.add(entry_wait_lgkm);
    // Reads of this wave need no barrier, so an lgkm wait alone brings none.
    if (entry_wait.is_present()) out.add(OpDesc::barrier());
    if (wraps_entry()) out.add(OpDesc::schedule_barrier());
  }
  constexpr void emit_loads(BlockEntries& out) const {
    if (global_before_frag) emit_globals(out);
    if (!global_before_frag) emit_frags(out);
    if (drain_lgkm_before_loads) out.add(OpDesc::wait_lgkm(0));
    if (global_before_frag) emit_frags(out);
    if (!global_before_frag) emit_globals(out);
  }
  constexpr void emit_frags(BlockEntries& out) const {
    if (pre_op_0.is_present()) out.add(pre_op_0);
    if (pre_op_1.is_present()) out.add(pre_op_1);
  }
  constexpr void emit_globals(BlockEntries& out) const {
    if (global_load.is_present()) out.add(global_load, global_load_prefetch);
    if (global_load_1.is_present()) out.add(global_load_1, global_load_1_prefetch);
  }
  constexpr void emit_sync(BlockEntries& out) const {
    if (wraps_sync()) out.add(OpDesc::schedule_barrier());
    if (pre_sync.is_present()) out.add(pre_sync);
    if (pre_mma_barrier) {
      out.add(OpDesc::barrier());
      if (post_barrier_sched) out.add(OpDesc::schedule_barrier());
      if (post_barrier_lgkm) out.add(OpDesc::wait_lgkm(0));
    }
    if (wraps_sync()) out.add(OpDesc::schedule_barrier());
  }
};

// The other way to emit a block: no priorities, no barrier after the MMA, and a compiler fence between fragment loads
// and global loads, which must not change places. Priorities, the barrier after the MMA, fused_mma,
// drain_lgkm_before_loads, post_barrier_sched and trailing_sched_barrier are not looked at.
constexpr List<OpDesc> emit_minimal_barrier_block(const MMABlockSpec& block, bool wrap,
                                                  bool global_before_frag = false) {
  List<OpDesc> out;
  const auto emit_if = [&out](const OpDesc& op) {
    if (op.is_present()) out.push_back(op);
  };
  const auto fence_if = [&out](bool wanted) {
    if (wanted) out.push_back(OpDesc::schedule_barrier());
  };
  fence_if(wrap && block.has_entry_wait());
  emit_if(block.entry_wait);
  emit_if(block.entry_wait_lgkm);
  if (block.entry_wait.is_present()) out.push_back(OpDesc::barrier());
  fence_if(wrap && block.has_entry_wait());

  for (const bool frags : {!global_before_frag, global_before_frag}) {
    emit_if(frags ? block.pre_op_0 : block.global_load);
    emit_if(frags ? block.pre_op_1 : block.global_load_1);
    if (frags != global_before_frag) fence_if(block.frag_count() > 0 && block.global_count() > 0);
  }

  fence_if(wrap && block.has_sync());
  emit_if(block.pre_sync);
  if (block.pre_mma_barrier) {
    out.push_back(OpDesc::barrier());
    if (block.post_barrier_lgkm) out.push_back(OpDesc::wait_lgkm(0));
  }
  fence_if(wrap && block.has_sync());
  out.push_back(block.mma);
  return out;
}

}  // namespace warpwright::schedule

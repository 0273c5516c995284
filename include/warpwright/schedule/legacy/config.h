// The reference's configuration records. Fields that none of its derivations read are kept, and marked, because its
// tables are part of what the goldens pin.
#pragma once
#include "warpwright/schedule/body.h"
#include "warpwright/schedule/program.h"

namespace warpwright::schedule::legacy {

enum class Strategy : uint8_t { identity = 0, greedy = 1, csp = 2 };

struct LoopCarriedSpec {
  OpRole role = OpRole::none;
  int selector = 0;  // subtile
  static constexpr LoopCarriedSpec fragment_zero() { return {OpRole::fragment_load, 0}; }
  static constexpr LoopCarriedSpec none() { return {}; }
  constexpr bool matches(const OpDesc& op) const { return op.role == role && op.subtile == selector; }
};

// Ops of an MMA block that starts a new quadrant row (heavy) or not (light), and the most global loads it may hold;
// 0 globals: no limit.
struct BlockSizing {
  int heavy = 4;
  int light = 2;
  int max_globals = 0;
  static constexpr BlockSizing default_2x2() { return {}; }
  static constexpr BlockSizing uniform(int n) { return {n, n, 0}; }
  constexpr bool operator==(const BlockSizing&) const = default;
};

struct WarpStaggerRule {
  bool enabled = false;
  bool compute_from_body = false;
  int fixed_amount = 0;
  static constexpr WarpStaggerRule none() { return {}; }
  static constexpr WarpStaggerRule automatic() { return {true, true, 0}; }
  static constexpr WarpStaggerRule fixed(int n) { return {true, false, n}; }
  constexpr bool operator==(const WarpStaggerRule&) const = default;
};

enum class MatchField : uint8_t { stage = 0, subtile = 1 };

struct PipelineConfig {
  int depth = 2;
  int prefetch = 1;       // not read
  int drain_passes = 2;   // not read
  int prologue_fill = 1;  // not read
  LoopCarriedSpec loop_carried = {};
  BlockSizing block_sizing = {};
  bool b_before_a = true;
  int m_mmas = 2;
  int n_mmas = 2;
  int num_partitions = 2;
  bool mma_serial = true;  // not read
  int mma_latency = 16;    // not read
  int vm_per_load_a = 4;
  int vm_per_load_b = 4;
  MatchField ch0_match_field = MatchField::stage;
  MatchField ch1_match_field = MatchField::subtile;
  WarpStaggerRule warp_stagger = {};
  int lgkm_per_load_a = 0;  // 0: the value of ScheduleConfig
  int lgkm_per_load_b = 0;
  bool cross_stage_rotation = false;

  constexpr int mmas_per_partition() const { return m_mmas * n_mmas; }
  constexpr int globals_per_partition() const { return m_mmas + n_mmas; }
  constexpr int frags_per_partition() const { return m_mmas + n_mmas; }
  constexpr int ops_per_partition() const {
    return mmas_per_partition() + globals_per_partition() + frags_per_partition();
  }
  constexpr int total_ops() const { return ops_per_partition() * num_partitions; }
  constexpr int total_blocks() const { return mmas_per_partition() * num_partitions; }
  constexpr int total_edges() const {
    const int mn = mmas_per_partition(), g = globals_per_partition(), h = num_partitions;
    return 2 * mn * h + 2 * mn + 2 * g * h + 2 * (2 * g - 1);
  }
  constexpr int vm_per_load(int channel) const { return channel == 0 ? vm_per_load_a : vm_per_load_b; }
  constexpr int match_key(const OpDesc& op, int channel) const {
    return (channel == 0 ? ch0_match_field : ch1_match_field) == MatchField::stage ? op.stage : op.subtile;
  }

  static constexpr PipelineConfig mi355x_double(int max_globals = 1, int vm_a = 4, int vm_b = 4) {
    PipelineConfig c;
    c.block_sizing.max_globals = max_globals;
    c.vm_per_load_a = vm_a;
    c.vm_per_load_b = vm_b;
    c.warp_stagger = WarpStaggerRule::automatic();
    return c;
  }
  static constexpr PipelineConfig mi355x_single() {
    PipelineConfig c;
    c.depth = 1;
    c.prologue_fill = 0;
    c.loop_carried = LoopCarriedSpec::fragment_zero();
    c.num_partitions = 1;
    return c;
  }
};

inline constexpr int kSuppressWait = 255;

struct ScheduleConfig {
  Strategy scheduling = Strategy::identity;
  uint32_t sched_barrier_mask = 0b01010101;
  bool auto_waits = true;
  uint32_t drain_lgkm_mask = 0;
  bool auto_drain = false;
  int lds_contention_penalty = 0;
  int wait_lgkm_first = 8;  // kSuppressWait: none
  int wait_vm_last = 6;
  int lgkm_per_load_a = 0;
  int lgkm_per_load_b = 0;
  bool lgkm_after_last = false;
  bool minimal_barriers = false;
  bool omit_mma_set_prio = false;
  int max_vgpr = 999999;
  bool global_before_frag = false;
  bool barrier_before_pre_ops = false;
  bool inter_block_lgkm_drain = false;
  bool partial_prologue_drain = false;
  bool wrap_waits_with_sched_barrier = false;
};

// Counter ticks of a load in the two records: PipelineConfig first, ScheduleConfig where that says 0.
constexpr int lgkm_per_load(const PipelineConfig& c, const ScheduleConfig& s, int channel) {
  const int own = channel == 0 ? c.lgkm_per_load_a : c.lgkm_per_load_b;
  return own != 0 ? own : channel == 0 ? s.lgkm_per_load_a : s.lgkm_per_load_b;
}

// The reference multiplies "no displacement" out to 255 tiles. Its kernels only use the value for loads.
constexpr int signed_multiplier(KOffset k) { return k == KOffset::k_prev ? -1 : int(k); }

// What the reference returns. It counts the fence after the sync group as if it came before it, and forgets the barrier
// after entry_wait when the sync group comes first; MMABlockSpec has the true position.
constexpr int post_barrier_lgkm_position(const MMABlockSpec& b) {
  if (!b.post_barrier_lgkm || !b.pre_mma_barrier) return -1;
  const int before_barrier = b.barrier_before_pre_ops
                                 ? b.entry_wait.is_present() + b.entry_wait_lgkm.is_present() +
                                       b.pre_sync.is_present() + 2 * b.wraps_entry() + b.wraps_sync()
                                 : b.entry_length() + b.load_length() + b.pre_sync.is_present() + 2 * b.wraps_sync();
  return before_barrier + 1 + b.post_barrier_sched;
}

constexpr int derive_safe_max_globals(int num_k_mmas) { return num_k_mmas >= 2 ? 1 : 0; }

// Tags, and the costs and labels that belong to them.
namespace double_buffer {
inline constexpr Tag load_a = data_tag(0);
inline constexpr Tag load_b = data_tag(1);
inline constexpr Tag compute = data_tag(2);
inline constexpr Tag mma_load_a = data_tag(3);
inline constexpr Tag mma_load_b = data_tag(4);
inline constexpr Tag mma = data_tag(5);

constexpr TargetCostModel mi355x_costs() {
  TargetCostModel m;
  m.set(load_a, OpCost{ResourceKind::global_mem, 200, OpRole::global_load}.named("LA"));
  m.set(load_b, OpCost{ResourceKind::global_mem, 200, OpRole::global_load}.named("LB"));
  m.set(compute, OpCost{ResourceKind::mma_unit, 16, OpRole::compute, 4}.named("C"));
  m.set(mma_load_a, OpCost{ResourceKind::lds, 20, OpRole::fragment_load, 8}.named("FA"));
  m.set(mma_load_b, OpCost{ResourceKind::lds, 20, OpRole::fragment_load, 8}.named("FB"));
  m.set(mma, OpCost{ResourceKind::mma_unit, 16, OpRole::compute, 4}.named("MMA"));
  return m;
}
}  // namespace double_buffer

namespace single_buffer {
inline constexpr Tag load_dram = data_tag(0);
inline constexpr Tag store_smem = data_tag(1);
inline constexpr Tag load_frag = data_tag(2);
inline constexpr Tag compute = data_tag(3);

constexpr TargetCostModel mi355x_costs() {
  TargetCostModel m;
  m.set(load_dram, OpCost{ResourceKind::global_mem, 200, OpRole::global_load}.named("LD", 0));
  m.set(store_smem, OpCost{ResourceKind::lds, 20, OpRole::shared_store}.named("ST", 0));
  m.set(load_frag, OpCost{ResourceKind::lds, 20, OpRole::fragment_load, 4}.named("FR", 1));
  m.set(compute, OpCost{ResourceKind::mma_unit, 64, OpRole::compute, 16}.named("MM", 1));
  return m;
}
}  // namespace single_buffer

}  // namespace warpwright::schedule::legacy

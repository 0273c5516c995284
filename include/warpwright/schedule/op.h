// OpDesc: one operation of a software pipeline. Which fields mean something depends on the role, so readers that know
// the role use the accessors (quadrant, wait_count, ...) and only tables and printers touch the raw fields.
#pragma once
#include "warpwright/schedule/error.h"

namespace warpwright::schedule {

struct Quadrant {
  int row = 0;
  int column = 0;
  constexpr bool operator==(const Quadrant&) const = default;
};

// The two mbarriers of a slot: full is completed by the copy that fills it, empty by those who have read it.
enum class PhaseBarrier : uint8_t { full = 0, empty = 1 };

// A structural type: an op may be a template argument.
struct OpDesc {
  Tag tag = {};
  uint8_t stage = 0;                 // LDS stage of a load, store or fragment load; quadrant row of a compute op
  uint8_t subtile = 0;               // part of the stage; quadrant column of a compute op; mask index of a group hint
  KOffset k_offset = KOffset::none;  // for a global load
  int16_t vm_cost = 0;               // vmcnt ticks, of the loads of a prologue
  int16_t lgkm_cost = 0;             // lgkmcnt ticks
  int16_t wait_value = 0;            // count of a wait, priority of set_prio, count of a group hint
  ResourceKind resource = ResourceKind::none;
  int32_t latency = 0;  // cycles
  OpRole role = OpRole::none;
  int8_t channel = -1;  // operand path: 0 A, 1 B
  int16_t vgpr_def = 0;
  int16_t vgpr_kill = 0;

  constexpr bool operator==(const OpDesc&) const = default;
  constexpr bool is_present() const { return !tag.is_none(); }
  constexpr bool is_prefetch() const {
    return role == OpRole::global_load && (k_offset == KOffset::k0 || k_offset == KOffset::k1);
  }
  constexpr bool is_barrier() const { return tag == tags::barrier; }
  constexpr bool is_wait_vm() const { return tag == tags::wait_vm; }
  constexpr bool is_wait_lgkm() const { return tag == tags::wait_lgkm; }
  // A wait for a counter; CDNA's two, or a group of copies or of wgmmas.
  constexpr bool is_wait() const {
    return is_wait_vm() || is_wait_lgkm() || tag == tags::wait_copy || tag == tags::wait_wgmma;
  }
  constexpr bool is_phase() const { return tag == tags::phase_wait || tag == tags::phase_arrive; }
  constexpr bool is_commit() const { return tag == tags::commit_copy || tag == tags::commit_wgmma; }

  // Payload by role. The second form of each question is is_*() or role above.
  constexpr Quadrant quadrant() const { return {stage, subtile}; }
  constexpr int wait_count() const { return wait_value; }
  constexpr PhaseBarrier phase_barrier() const { return PhaseBarrier(subtile); }
  constexpr int phase_ring() const { return channel; }
  constexpr int phase_slots() const { return stage; }
  constexpr int phase_slot(int tile) const { return tile % stage; }
  constexpr int phase_parity(int tile) const { return (tile / stage + wait_value) & 1; }
  constexpr int priority() const { return wait_value; }
  constexpr int hint_mask_index() const { return subtile; }
  constexpr int hint_count() const { return wait_value; }

  // The identity of an op of a body: what it does, not what it costs.
  constexpr bool same_work(const OpDesc& o) const {
    return tag == o.tag && stage == o.stage && subtile == o.subtile && k_offset == o.k_offset && channel == o.channel &&
           (tag.is_data() || wait_value == o.wait_value);
  }

  static constexpr OpDesc none() { return {}; }

  // Everything but the cost, which annotate() fills in.
  static constexpr OpDesc logical(Tag tag, int channel, int stage, int subtile, KOffset k = KOffset::none) {
    OpDesc d;
    d.tag = tag;
    d.channel = int8_t(channel);
    d.stage = uint8_t(stage);
    d.subtile = uint8_t(subtile);
    d.k_offset = k;
    return d;
  }
  static constexpr OpDesc op(Tag tag, ResourceKind resource, int latency, OpRole role, int channel = -1, int stage = 0,
                             int subtile = 0, KOffset k = KOffset::none) {
    OpDesc d = logical(tag, channel, stage, subtile, k);
    d.resource = resource;
    d.latency = latency;
    d.role = role;
    return d;
  }

  static constexpr OpDesc barrier() { return framework(tags::barrier, OpRole::sync); }
  static constexpr OpDesc wait_vm(int n) { return framework(tags::wait_vm, OpRole::sync, n); }
  static constexpr OpDesc wait_lgkm(int n) { return framework(tags::wait_lgkm, OpRole::sync, n); }
  static constexpr OpDesc set_prio(int p) { return framework(tags::set_prio, OpRole::fence, p); }
  static constexpr OpDesc schedule_barrier() { return framework(tags::schedule_barrier, OpRole::fence); }
  static constexpr OpDesc sched_group_barrier(int mask_index, int count) {
    OpDesc d = framework(tags::sched_group_barrier, OpRole::fence, count);
    d.subtile = uint8_t(mask_index);
    return d;
  }

  static constexpr OpDesc commit_copy() { return framework(tags::commit_copy, OpRole::sync); }
  static constexpr OpDesc wait_copy(int n) { return framework(tags::wait_copy, OpRole::sync, n); }
  static constexpr OpDesc wgmma_fence() { return framework(tags::wgmma_fence, OpRole::fence); }
  static constexpr OpDesc commit_wgmma() { return framework(tags::commit_wgmma, OpRole::sync); }
  static constexpr OpDesc wait_wgmma(int n) { return framework(tags::wait_wgmma, OpRole::sync, n); }
  // On the barriers of a ring of `slots` slots; which slot and which parity follow from the tile. `flip`: the parity is
  // the other one, as where a slot that was never filled counts as free.
  static constexpr OpDesc phase_wait(PhaseBarrier b, int ring, int slots, int flip = 0) {
    return phase(tags::phase_wait, b, ring, slots, flip);
  }
  static constexpr OpDesc phase_arrive(PhaseBarrier b, int ring, int slots) {
    return phase(tags::phase_arrive, b, ring, slots, 0);
  }

 private:
  static constexpr OpDesc phase(Tag tag, PhaseBarrier b, int ring, int slots, int flip) {
    OpDesc d = framework(tag, OpRole::sync, flip);
    d.channel = int8_t(ring);
    d.stage = uint8_t(slots);
    d.subtile = uint8_t(b);
    return d;
  }
  static constexpr OpDesc framework(Tag tag, OpRole role, int value = 0) {
    OpDesc d;
    d.tag = tag;
    d.resource = ResourceKind::scalar;
    d.role = role;
    d.wait_value = int16_t(value);
    return d;
  }
};

// Instruction classes of sched_group_barrier; OpDesc keeps the index, the kernel's lowering the hardware mask.
enum class GroupMask : uint8_t { ds_read = 0, ds_write = 1, vmem_read = 2, mfma = 3 };
constexpr int hardware_mask(GroupMask m) {
  constexpr int masks[4] = {0x100, 0x200, 0x20, 0x8};
  return masks[int(m)];
}

constexpr Checked<Tag> make_data_tag(int value) {
  if (value >= 0 && value < kDataTags) return {Tag{uint8_t(value)}, {}};
  return {Tag{}, {.code = Code::tag_range, .a = Name("tag ").add(value), .have = value, .need = kDataTags - 1}};
}

namespace detail {
// Not constexpr, so a wrong tag does not compile and the message names the rule.
inline void tag_range_a_kernel_op_tag_is_0_to_127() {}
}  // namespace detail

consteval Tag data_tag(int value) {
  if (value < 0 || value >= kDataTags) detail::tag_range_a_kernel_op_tag_is_0_to_127();
  return Tag{uint8_t(value)};
}

// How an op is written in one word: a stem and how many of its two digits follow.
struct OpLabel {
  FixedText<6> stem = {};
  int8_t digits = 2;  // 2: stage and subtile, 1: subtile, 0: neither
  constexpr bool operator==(const OpLabel&) const = default;
};

// "LA01@K0", "FB10", "MMA01", "VM6", "LG0", "BAR", "PR1", "SB", "SGB(3,2)", "CG1", "WG0"; "full1.wait": on ring 1.
constexpr Name op_name(const OpDesc& op, const OpLabel& label = {}) {
  Name n;
  if (op.tag.is_data()) {
    if (label.stem.empty()) {
      n.add("tag").add(int(op.tag.value)).add('.').add(int(op.stage)).add(int(op.subtile));
    } else {
      n.add(label.stem.c_str());
      if (label.digits > 1) n.add(int(op.stage));
      if (label.digits > 0) n.add(int(op.subtile));
    }
    if (has_k_offset(op.k_offset)) n.add('@').add(word(op.k_offset));
    return n;
  }
  if (op.is_barrier()) return "BAR";
  if (op.is_wait_vm()) return n.add("VM").add(int(op.wait_value));
  if (op.is_wait_lgkm()) return n.add("LG").add(int(op.wait_value));
  if (op.tag == tags::set_prio) return n.add("PR").add(int(op.wait_value));
  if (op.tag == tags::schedule_barrier) return "SB";
  if (op.tag == tags::sched_group_barrier) {
    return n.add("SGB(").add(int(op.subtile)).add(',').add(int(op.wait_value)).add(')');
  }
  if (op.tag == tags::commit_copy) return "CC";
  if (op.tag == tags::wait_copy) return n.add("CG").add(int(op.wait_value));
  if (op.tag == tags::wgmma_fence) return "WF";
  if (op.tag == tags::commit_wgmma) return "WC";
  if (op.tag == tags::wait_wgmma) return n.add("WG").add(int(op.wait_value));
  if (op.is_phase()) {
    n.add(op.phase_barrier() == PhaseBarrier::full ? "full" : "empty").add(op.phase_ring());
    return n.add(op.tag == tags::phase_wait ? ".wait" : ".arrive");
  }
  return "none";
}

}  // namespace warpwright::schedule

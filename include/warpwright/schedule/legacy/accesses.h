// What the ops of the reference's schedules touch: stated here once, read by the validators and by the access graph.
#pragma once
#include "warpwright/schedule/legacy/schedules.h"
#include "warpwright/schedule/trace.h"

namespace warpwright::schedule::legacy {

enum BufferId : uint8_t { kBufferA = 0, kBufferB = 1, kStaging = 2 };

namespace detail {
constexpr uint8_t bit(int n) { return uint8_t(1 << n); }
constexpr Access shared(AccessMode mode, int buffer, int slot, uint8_t regions, int tile, uint8_t roles = kAllRoles) {
  return {Space::shared, mode, uint8_t(buffer), regions, int8_t(tile), int8_t(slot), roles};
}
constexpr Access registers(AccessMode mode, int buffer, uint8_t regions, int tile) {
  return {Space::registers, mode, uint8_t(buffer), regions, int8_t(tile), 0, kAllRoles};
}
// A quadrant's operands and its accumulator.
constexpr AccessList mma(const OpDesc& op, int tile) {
  AccessList list;
  list.add(registers(AccessMode::read, kBufferA, bit(op.stage), tile));
  list.add(registers(AccessMode::read, kBufferB, bit(op.subtile), tile));
  list.add({Space::accumulator, AccessMode::update, 0, bit(op.stage * 2 + op.subtile), int8_t(tile), 0, kAllRoles});
  return list;
}
}  // namespace detail

// Counter ticks of one op and the tile arithmetic that ping-pong and 4-wave share: an iteration is two K tiles, the
// loop starts at tile 2 and computes the pair before its K position.
struct PairModel {
  int vm_a = 2, vm_b = 2, lgkm_a = 8, lgkm_b = 4;

  constexpr OpTicks ticks(const OpDesc& op) const {
    namespace t = double_buffer;
    if (op.tag == t::load_a) return {Counter::vm, vm_a};
    if (op.tag == t::load_b) return {Counter::vm, vm_b};
    if (op.tag == t::mma_load_a) return {Counter::lgkm, lgkm_a};
    if (op.tag == t::mma_load_b) return {Counter::lgkm, lgkm_b};
    return {};
  }
  constexpr int tile(const Instance& i, int) const {
    const int base = i.phase == Phase::prologue ? 0 : 2 * (i.iteration + 1);
    // The K position of the epilogue is K itself, one pair after the last that the loop loaded.
    return k_tiles(i.op.k_offset) + (i.phase == Phase::epilogue ? last_pair : base);
  }
  static constexpr int total_tiles(int iterations) { return 2 * iterations + 2; }
  int last_pair = 2;  // total_tiles of the run

  static constexpr bool is_load(const OpDesc& op) {
    return op.tag == double_buffer::load_a || op.tag == double_buffer::load_b;
  }
  static constexpr bool is_frag(const OpDesc& op) {
    return op.tag == double_buffer::mma_load_a || op.tag == double_buffer::mma_load_b;
  }
  static constexpr int buffer_of(const OpDesc& op) {
    return op.tag == double_buffer::load_a || op.tag == double_buffer::mma_load_a ? kBufferA : kBufferB;
  }
};

// Part j of A is read by wave group j alone, both parts of B by both groups. A load's subtile is a part of the slot, a
// fragment's subtile a quadrant inside the parts that the group reads.
struct PingPongModel : PairModel {
  static constexpr PingPongModel of(const PingPong& p, int iterations = 0) {
    return {{p.vm_a, p.vm_b, p.lgkm_a, p.lgkm_b, total_tiles(iterations)}};
  }
  static constexpr RunShape shape() { return {.roles = 2, .staggered = true, .barrier_after_prologue = true}; }
  constexpr AccessList accesses(const Instance& i) const { return accesses(i.op, 0); }
  // `half`: of the body, for the tile of an MMA; the validators do not need it.
  constexpr AccessList accesses(const OpDesc& op, int half) const {
    using enum AccessMode;
    AccessList list;
    if (is_load(op)) {
      list.add(detail::shared(write, buffer_of(op), op.stage, detail::bit(op.subtile), k_tiles(op.k_offset)));
    } else if (is_frag(op)) {
      const int tile = op.stage - 2;
      if (buffer_of(op) == kBufferA) {
        list.add(detail::shared(read, kBufferA, op.stage, detail::bit(0), tile, detail::bit(0)));
        list.add(detail::shared(read, kBufferA, op.stage, detail::bit(1), tile, detail::bit(1)));
      } else {
        list.add(detail::shared(read, kBufferB, op.stage, 0b11, tile));
      }
      list.add(detail::registers(write, buffer_of(op), detail::bit(op.subtile), tile));
    } else if (op.role == OpRole::compute) {
      list = detail::mma(op, half - 2);
    }
    return list;
  }
};

// Every wave reads its share of both halves of A and of B, so loads and fragments name the same part.
struct FourWaveModel : PairModel {
  static constexpr FourWaveModel of(const FourWave& f, int iterations = 0) {
    return {{f.vm, f.vm, f.lgkm, f.lgkm, total_tiles(iterations)}};
  }
  static constexpr RunShape shape(bool drained = false) { return {.drain_before_epilogue = drained}; }
  constexpr AccessList accesses(const Instance& i) const { return accesses(i.op, 0); }
  constexpr AccessList accesses(const OpDesc& op, int half) const {
    using enum AccessMode;
    AccessList list;
    const uint8_t part = detail::bit(op.subtile);
    if (is_load(op)) {
      list.add(detail::shared(write, buffer_of(op), op.stage, part, k_tiles(op.k_offset)));
    } else if (is_frag(op)) {
      // Part 0 is read one half ahead of its MMAs.
      const int tile = op.subtile == 1 ? half - 2 : half - 1;
      list.add(detail::shared(read, buffer_of(op), op.stage, part, tile));
      list.add(detail::registers(write, buffer_of(op), part, tile));
    } else if (op.role == OpRole::compute) {
      list = detail::mma(op, half - 2);
    }
    return list;
  }
};

// One slot. Loads bring a tile to staging registers, the store puts it into shared memory an iteration later.
struct DefaultModel {
  static constexpr RunShape shape() { return {.barriers_fence = true}; }
  static constexpr int total_tiles(int iterations) { return iterations + 2; }
  constexpr int tile(const Instance&, int n) const { return n; }
  constexpr OpTicks ticks(const OpDesc& op) const {
    namespace t = single_buffer;
    if (op.tag == t::load_dram) return {Counter::vm, 1};
    if (op.tag == t::store_smem || op.tag == t::load_frag) return {Counter::lgkm, 1};
    return {};
  }
  constexpr AccessList accesses(const Instance& i) const {
    using enum AccessMode;
    namespace t = single_buffer;
    const OpDesc& op = i.op;
    AccessList list;
    const uint8_t part = detail::bit(op.subtile);
    if (op.tag == t::load_dram) list.add(detail::registers(write, kStaging, 1, 0));
    if (op.tag == t::store_smem) {
      list.add(detail::registers(read, kStaging, 1, 0));
      list.add(detail::shared(write, kBufferA, 0, kAllRegions, 0));
    }
    if (op.tag == t::load_frag) {
      list.add(detail::shared(read, kBufferA, 0, part, 0));
      list.add(detail::registers(write, kBufferA, part, 0));
    }
    if (op.tag == t::compute) {
      list.add(detail::registers(read, kBufferA, part, 0));
      list.add({Space::accumulator, update, 0, part, 0, 0, kAllRoles});
    }
    return list;
  }
};

}  // namespace warpwright::schedule::legacy

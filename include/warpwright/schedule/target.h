// The machines a schedule is made for: units, counters and capacities as plain values, so that one compiler serves all.
//
//            asynchronous copy        tracked by                  fragments          MMA                 waves meet at
//   CDNA     buffer_load ... lds      vmcnt <= 63, in order       ds_read, lgkmcnt   mfma, interlocked   s_barrier
//   sm_80    cp.async                 groups, in order            ldmatrix           mma.sync            bar.sync
//   sm_90a   TMA, one thread          mbarrier phase of a slot    none               wgmma groups        mbarrier
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/chip.h"
#include "warpwright/schedule/op.h"

namespace warpwright::schedule {

// What tells a wave that an asynchronous op is done. `none`: the hardware interlocks, or the op is synchronous.
enum class Counter : uint8_t { none, vm, lgkm, copy_group, wgmma_group, phase };
// How many kinds of counters there are.
inline constexpr int kCounters = 6;

// A counter of a target and what a wait on it can say.
struct CounterDomain {
  Counter id = Counter::none;
  Name name = {};
  int max_value = 0;     // largest count a wait can name
  bool in_order = true;  // retires in issue order, so "at most n in flight" names which
};

// A machine: its units, counters and capacities.
struct Target {
  Arch arch = Arch::sm80;
  Name name = {};
  int wave_size = 32;
  int shared_bytes = 0;               // bytes that one workgroup or CTA has
  int registers = 0;                  // how many a thread has, with one wave on each SIMD or whatever the ISA allows
  int register_file = 0;              // per lane and SIMD (CDNA: waves share it); 0: not shared this way
  int copy_bytes = 0;                 // largest asynchronous copy to shared memory, per lane; 0: whole tiles
  int capacity[kResourceKinds] = {};  // ops at once on a unit; 0: not a limit
  CounterDomain domains[3] = {};
  int domain_count = 0;
  Counter load_counter = Counter::none;
  Counter store_counter = Counter::none;
  Counter fragment_counter = Counter::none;
  Counter mma_counter = Counter::none;
  int mma_macs_per_cycle = 0;  // bf16, of the whole CU or SM
  bool priorities = false;     // s_setprio: waves that share a SIMD are served by priority

  constexpr Counter counter_of(OpRole role) const {
    switch (role) {
      case OpRole::global_load:
        return load_counter;
      case OpRole::shared_store:
        return store_counter;
      case OpRole::fragment_load:
        return fragment_counter;
      case OpRole::compute:
        return mma_counter;
      default:
        return Counter::none;
    }
  }
  constexpr bool has(Counter c) const {
    for (int i = 0; i < domain_count; ++i)
      if (domains[i].id == c) return true;
    return false;
  }
  // Copies are issued by a warp of its own, and phases of mbarriers are all that connects it with the others.
  constexpr bool splits_roles() const { return load_counter == Counter::phase; }
  // Only if has(c).
  constexpr CounterDomain domain(Counter c) const {
    for (int i = 0; i < domain_count; ++i)
      if (domains[i].id == c) return domains[i];
    return {};
  }
  // CDNA hands out registers in blocks of eight.
  constexpr int registers_at(int waves_per_simd) const {
    return register_file == 0 ? registers : register_file / waves_per_simd / 8 * 8;
  }
  constexpr int mma_cycles(int m, int n, int k) const {
    return int((int64_t(m) * n * k + mma_macs_per_cycle - 1) / mma_macs_per_cycle);
  }
};

namespace targets {

// The CDNA chips.
constexpr Target cdna(Arch arch, const char* name, int shared_bytes, int copy_bytes, int macs) {
  Target t;
  t.arch = arch;
  t.name = name;
  t.wave_size = 64;
  t.shared_bytes = shared_bytes;
  t.registers = 512;
  t.register_file = 512;
  t.copy_bytes = copy_bytes;
  t.capacity[int(ResourceKind::mma_unit)] = 1;
  t.capacity[int(ResourceKind::valu)] = 1;
  t.domains[0] = {Counter::vm, "vmcnt", 63, true};
  t.domains[1] = {Counter::lgkm, "lgkmcnt", 15, true};
  t.domain_count = 2;
  t.load_counter = Counter::vm;
  t.store_counter = Counter::lgkm;
  t.fragment_counter = Counter::lgkm;
  t.priorities = true;
  t.mma_macs_per_cycle = macs;
  return t;
}

// A v_mfma_f32_16x16x16_bf16 (gfx942) or 16x16x32 (gfx950) takes 16 cycles on one of four SIMDs.
inline constexpr Target gfx942 = cdna(Arch::gfx942, "gfx942", 64 * 1024, 4, 4 * 16 * 16 * 16 / 16);
inline constexpr Target gfx950 = cdna(Arch::gfx950, "gfx950", 160 * 1024, 16, 4 * 16 * 16 * 32 / 16);

// Chips with mma.sync and cp.async.
constexpr Target make_sm80() {
  Target t;
  t.arch = Arch::sm80;
  t.name = "sm80";
  t.shared_bytes = 163 * 1024;
  t.registers = 255;
  t.copy_bytes = 16;
  t.capacity[int(ResourceKind::mma_unit)] = 1;
  t.capacity[int(ResourceKind::valu)] = 1;
  // PTX puts no bound on N of cp.async.wait_group; more groups than slots is never useful.
  t.domains[0] = {Counter::copy_group, "cp.async", 63, true};
  t.domain_count = 1;
  t.load_counter = Counter::copy_group;
  t.mma_macs_per_cycle = 1024;
  return t;
}
inline constexpr Target sm80 = make_sm80();

// Hopper, with TMA and wgmma.
constexpr Target make_sm90() {
  Target t;
  t.arch = Arch::sm90;
  t.name = "sm90";
  t.shared_bytes = kMaxSharedBytes;
  t.registers = 255;
  t.capacity[int(ResourceKind::mma_unit)] = 1;
  t.capacity[int(ResourceKind::valu)] = 1;
  t.domains[0] = {Counter::phase, "mbarrier", 1, false};
  t.domains[1] = {Counter::wgmma_group, "wgmma", 7, true};  // PTX: N of wgmma.wait_group is 0 to 7
  t.domain_count = 2;
  t.load_counter = Counter::phase;
  t.mma_counter = Counter::wgmma_group;
  t.mma_macs_per_cycle = 2048;
  return t;
}
inline constexpr Target sm90a = make_sm90();

}  // namespace targets

// The counter that a wait or a commit is about.
constexpr Counter counter_of_sync(const OpDesc& op) {
  if (op.is_wait_vm()) return Counter::vm;
  if (op.is_wait_lgkm()) return Counter::lgkm;
  if (op.tag == tags::wait_copy || op.tag == tags::commit_copy) return Counter::copy_group;
  if (op.tag == tags::wait_wgmma || op.tag == tags::commit_wgmma) return Counter::wgmma_group;
  if (op.tag == tags::phase_wait || op.tag == tags::phase_arrive) return Counter::phase;
  return Counter::none;
}

// Ops of these counters are counted by the commit that follows them, not one by one.
constexpr bool counts_groups(Counter c) { return c == Counter::copy_group || c == Counter::wgmma_group; }

// Whether a count fits its counter, a wait its target, and buffers and registers the machine.
constexpr Diagnostic check_count(const Target& t, Counter c, int n, const Name& what) {
  if (!t.has(c)) return {.code = Code::unit_missing, .a = what, .b = t.name};
  const CounterDomain d = t.domain(c);
  if (n < 0 || n > d.max_value) {
    return {.code = Code::counter_range, .a = what, .b = d.name, .have = n, .need = d.max_value};
  }
  return {};
}
constexpr Diagnostic check_wait(const Target& t, const OpDesc& wait) {
  return wait.is_wait() ? check_count(t, counter_of_sync(wait), wait.wait_count(), op_name(wait)) : Diagnostic{};
}
constexpr Diagnostic check_shared(const Target& t, int depth, int64_t bytes_per_stage) {
  const int64_t bytes = depth * bytes_per_stage;
  if (bytes <= t.shared_bytes) return {};
  return {.code = Code::smem_capacity,
          .a = Name("depth ").add(depth),
          .b = t.name,
          .have = t.shared_bytes,
          .need = int(bytes)};
}
constexpr Diagnostic check_registers(const Target& t, int peak, int waves_per_simd, const Name& at) {
  const int limit = t.registers_at(waves_per_simd);
  if (peak <= limit) return {};
  return {.code = Code::register_capacity, .a = at, .b = t.name, .have = limit, .need = peak};
}

// Main-loop iterations, where prologue and epilogue together account for `peeled_tiles` tiles of K.
constexpr Checked<int> trip_count(int k, int tile_k, int tiles_per_iteration, int peeled_tiles) {
  const int step = tile_k * tiles_per_iteration;
  const int tiles = k / tile_k;
  if (k % step != 0) return {0, {.code = Code::trip_count, .a = Name("K ").add(k), .have = k % step, .need = 0}};
  if (tiles < peeled_tiles) {
    return {0, {.code = Code::trip_count, .a = Name("K ").add(k), .have = tiles, .need = peeled_tiles}};
  }
  return {(tiles - peeled_tiles) / tiles_per_iteration, {}};
}

}  // namespace warpwright::schedule

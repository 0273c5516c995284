// The bodies of the matmul kernels, one iteration each, written as if nothing overlapped: copy a K tile, read
// fragments, multiply. Everything else is compile()'s work.
//
//   default_matmul   CDNA: global -> registers -> LDS -> fragments -> MFMA, one group of waves
//   ping_pong        CDNA: LDS DMA; two groups of waves, one barrier apart, share each SIMD
//   four_wave        CDNA: LDS DMA; one wave per SIMD
//   copy_ring        sm_80: cp.async, ldmatrix, mma.sync
//   tma_ring         sm_90a: TMA in a warp of its own, wgmma straight from shared memory
//   attention_ring   sm_90a: the same with two products and a softmax between them
//
// Cycles are what the instructions take on an idle machine, rounded; they steer the order and never its correctness.
#pragma once
#include "warpwright/schedule/geometry.h"
#include "warpwright/schedule/proof.h"

namespace warpwright::schedule {

namespace body_tags {
inline constexpr Tag load_a = data_tag(0);
inline constexpr Tag load_b = data_tag(1);
inline constexpr Tag store = data_tag(2);
inline constexpr Tag frag_a = data_tag(3);
inline constexpr Tag frag_b = data_tag(4);
inline constexpr Tag mma = data_tag(5);
inline constexpr Tag mma_second = data_tag(6);
inline constexpr Tag softmax = data_tag(7);
inline constexpr Tag scale = data_tag(8);
}  // namespace body_tags

enum BodyBuffer : uint8_t { kSharedA = 0, kSharedB = 1, kStagingRegisters = 2 };

namespace detail {

inline constexpr int kCopyLatency = 800;  // global memory to LDS or registers
inline constexpr int kLdsLatency = 64;    // first result of an LDS access
inline constexpr int kLdsCyclesPer = 16;  // each further 16 bytes per lane

// An MFMA of 16-bit or 8-bit elements on one of the four SIMDs. The target's rate is that of 16-bit elements; bytes
// pass twice as fast, so 16x16x128 takes 32 cycles where 16x16x32 of bf16 takes 16.
constexpr int mfma_cycles(const Target& target, const KernelGeometry& g) {
  return 4 * g.mma_m * g.mma_n * g.mma_k * g.elem_bytes / 2 / target.mma_macs_per_cycle;
}

constexpr uint8_t part(int n) { return uint8_t(1 << n); }
constexpr Access in_shared(AccessMode mode, int buffer, uint8_t regions, uint8_t roles = kAllRoles) {
  return {Space::shared, mode, uint8_t(buffer), regions, 0, -1, roles};
}
constexpr Access in_registers(AccessMode mode, int buffer, uint8_t regions) {
  return {Space::registers, mode, uint8_t(buffer), regions, 0, -1, kAllRoles};
}
constexpr Access accumulate(int n) { return {Space::accumulator, AccessMode::update, 0, part(n), 0, -1, kAllRoles}; }
constexpr int lds_latency(int instructions) { return kLdsLatency + kLdsCyclesPer * instructions; }

class BodyWriter {
 public:
  constexpr explicit BodyWriter(const char* name) { spec_.name = name; }
  constexpr BodySpec& spec() { return spec_; }
  constexpr void cost(Tag tag, ResourceKind unit, int latency, OpRole role, int occupancy, int ticks, int registers,
                      const char* label, int digits = 2) {
    spec_.costs.set(tag, OpCost{unit, latency, role, registers, 0, occupancy, ticks, {}}.named(label, digits));
  }
  constexpr void op(Tag tag, int channel, int stage, int subtile, std::initializer_list<Access> accesses) {
    OpDesc d = OpDesc::logical(tag, channel, stage, subtile);
    if (const Diagnostic e = annotate(d, spec_.costs); !e.ok() && spec_.error.ok()) spec_.error = e;
    OpNode n(d, spec_.costs);
    for (const Access& a : accesses) n.accesses.add(a);
    spec_.loop.ops.push_back(n);
  }

 private:
  BodySpec spec_;
};

// Loads of both parts of A and B, their fragments, the four quadrants. Which part a fragment reads is the caller's.
template <class Reads>
constexpr void quadrants(BodyWriter& w, Reads reads) {
  using enum AccessMode;
  namespace t = body_tags;
  for (int i = 0; i < 2; ++i) w.op(t::load_a, 0, 0, i, {in_shared(write, kSharedA, part(i))});
  for (int i = 0; i < 2; ++i) w.op(t::load_b, 1, 0, i, {in_shared(write, kSharedB, part(i))});
  reads();
  for (int m = 0; m < 2; ++m) {
    for (int n = 0; n < 2; ++n) {
      w.op(t::mma, -1, m, n,
           {in_registers(read, kSharedA, part(m)), in_registers(read, kSharedB, part(n)), accumulate(2 * m + n)});
    }
  }
}

constexpr void cdna_costs(BodyWriter& w, const Target& target, const KernelGeometry& g, int waves_per_simd) {
  using enum ResourceKind;
  namespace t = body_tags;
  const int cycles = g.mma_count() * mfma_cycles(target, g);
  w.cost(t::load_a, global_mem, kCopyLatency, OpRole::global_load, 0, g.vm_a(), 0, "LA");
  w.cost(t::load_b, global_mem, kCopyLatency, OpRole::global_load, 0, g.vm_b(), 0, "LB");
  // A read instruction fills four registers.
  w.cost(t::frag_a, lds, lds_latency(g.lgkm_a()), OpRole::fragment_load, 0, g.lgkm_a(), 4 * g.lgkm_a(), "FA");
  w.cost(t::frag_b, lds, lds_latency(g.lgkm_b()), OpRole::fragment_load, 0, g.lgkm_b(), 4 * g.lgkm_b(), "FB");
  // Waves that share a SIMD take turns on its matrix unit.
  w.cost(t::mma, mma_unit, cycles, OpRole::compute, cycles * waves_per_simd, 0,
         g.quad_m() * g.quad_n() * g.mma_m * g.mma_n / KernelGeometry::kWave, "MMA");
  w.spec().waves_per_simd = waves_per_simd;
}

// The CDNA bodies count instructions of waves of 64.
constexpr Diagnostic check_wave(const Target& target) {
  if (target.wave_size == KernelGeometry::kWave) return {};
  return {.code = Code::unit_missing, .a = "waves of 64", .b = target.name};
}

constexpr void tile_buffers(BodySpec& s, int bytes_a, int bytes_b) {
  s.buffers.push_back({"A", kSharedA, bytes_a});
  s.buffers.push_back({"B", kSharedB, bytes_b});
}

}  // namespace detail

// One LDS buffer for both operands. A warp multiplies its tile in k_slices steps along K.
constexpr BodySpec default_matmul(const Target& target, int k_slices = 2) {
  using enum AccessMode;
  namespace t = body_tags;
  detail::BodyWriter w("default");
  const int mma_k = target.arch == Arch::gfx942 ? 16 : 32;
  const KernelGeometry g{.bm = 128, .bn = 128, .bk = 64, .mma_k = mma_k, .warps_m = 2, .warps_n = 2};
  const int copies = g.shared_bytes_per_stage() / (g.warps() * KernelGeometry::kWave * KernelGeometry::kLoadBytes);
  const int mmas = g.warp_m() / g.mma_m * (g.warp_n() / g.mma_n) * g.num_k() / k_slices;
  // One read instruction brings 16 bytes, which is one fragment of 16x16x32 or two of 16x16x16.
  const int reads = (g.warp_m() + g.warp_n()) * g.bk * g.elem_bytes / k_slices / (KernelGeometry::kWave * 16);
  const int accumulators = g.warp_m() * g.warp_n() / KernelGeometry::kWave;
  const int cycles = mmas * detail::mfma_cycles(target, g);
  using enum ResourceKind;
  w.cost(t::load_a, global_mem, detail::kCopyLatency, OpRole::global_load, 0, copies, 4 * copies, "LD", 0);
  w.cost(t::store, lds, detail::lds_latency(copies), OpRole::shared_store, 0, copies, 0, "ST", 0);
  w.cost(t::frag_a, lds, detail::lds_latency(reads), OpRole::fragment_load, 0, reads, 4 * reads, "FR", 1);
  // Slices add to one accumulator tile; each carries its share of the registers.
  w.cost(t::mma, mma_unit, cycles, OpRole::compute, cycles, 0, accumulators / k_slices, "MM", 1);
  w.op(t::load_a, 0, 0, 0, {detail::in_registers(write, kStagingRegisters, 1)});
  w.op(t::store, 0, 0, 0,
       {detail::in_registers(read, kStagingRegisters, 1), detail::in_shared(write, kSharedA, kAllRegions)});
  for (int k = 0; k < k_slices; ++k) {
    w.op(t::frag_a, 0, 0, k,
         {detail::in_shared(read, kSharedA, detail::part(k)), detail::in_registers(write, kSharedA, detail::part(k))});
  }
  for (int k = 0; k < k_slices; ++k) {
    w.op(t::mma, -1, 0, k, {detail::in_registers(read, kSharedA, detail::part(k)), detail::accumulate(k)});
  }
  w.spec().buffers.push_back({"A and B", kSharedA, g.shared_bytes_per_stage()});
  w.spec().error = detail::check_wave(target);
  return w.spec();
}

// 256x256: part j of A belongs to wave group j, both parts of B to both.
constexpr BodySpec ping_pong(const Target& target, const KernelGeometry& g = {}) {
  using enum AccessMode;
  namespace t = body_tags;
  detail::BodyWriter w("ping-pong");
  BodySpec& s = w.spec();
  // A slot to read and a slot to fill, so that a late copy does not stop both groups.
  s.least_depth = 2;
  s.error = detail::check_wave(target);
  if (s.error.ok()) s.error = check_shared(target, s.least_depth, g.shared_bytes_per_stage());
  if (s.error.ok()) s.error = g.check(target, s.least_depth);
  if (!s.error.ok()) return s;
  detail::cdna_costs(w, target, g, 2);
  detail::quadrants(w, [&] {
    for (int i = 0; i < 2; ++i) {
      w.op(t::frag_a, 0, 0, i,
           {detail::in_shared(read, kSharedA, detail::part(0), detail::part(0)),
            detail::in_shared(read, kSharedA, detail::part(1), detail::part(1)),
            detail::in_registers(write, kSharedA, detail::part(i))});
    }
    for (int i = 0; i < 2; ++i) {
      w.op(t::frag_b, 1, 0, i,
           {detail::in_shared(read, kSharedB, 0b11), detail::in_registers(write, kSharedB, detail::part(i))});
    }
  });
  s.roles = 2;
  s.stagger = 1;
  s.stagger_cycles = g.mma_count() * detail::mfma_cycles(target, g);
  detail::tile_buffers(s, g.bm * g.bk * g.elem_bytes, g.bn * g.bk * g.elem_bytes);
  return s;
}

// 128x128: every wave reads its share of both parts.
constexpr BodySpec four_wave(const Target& target,
                             const KernelGeometry& g = {.bm = 128, .bn = 128, .warps_m = 2, .warps_n = 2}) {
  using enum AccessMode;
  namespace t = body_tags;
  detail::BodyWriter w("4-wave");
  BodySpec& s = w.spec();
  s.error = detail::check_wave(target);
  if (s.error.ok()) s.error = g.check(target, 1);
  if (!s.error.ok()) return s;
  detail::cdna_costs(w, target, g, 1);
  detail::quadrants(w, [&] {
    for (int i = 0; i < 2; ++i) {
      w.op(
          t::frag_a, 0, 0, i,
          {detail::in_shared(read, kSharedA, detail::part(i)), detail::in_registers(write, kSharedA, detail::part(i))});
    }
    for (int i = 0; i < 2; ++i) {
      w.op(
          t::frag_b, 1, 0, i,
          {detail::in_shared(read, kSharedB, detail::part(i)), detail::in_registers(write, kSharedB, detail::part(i))});
    }
  });
  detail::tile_buffers(s, g.bm * g.bk * g.elem_bytes, g.bn * g.bk * g.elem_bytes);
  return s;
}

struct TileShape {
  int m = 128, n = 128, k = 32;
  int elem_bytes = 2;
};

// Four warps of 2 x 2, each with a fragment of A and of B for every 16 of K.
constexpr BodySpec copy_ring(const Target& target, const TileShape& tile = {}) {
  using enum AccessMode;
  using enum ResourceKind;
  namespace t = body_tags;
  detail::BodyWriter w("default");
  // One slot to read, one that lands, one that is free: then one barrier per tile serves reuse and arrival.
  w.spec().least_depth = 3;
  constexpr int kThreads = 128, kWarpsAcross = 2, kMmaK = 16, kLdmatrixLatency = 33;
  const int slices = tile.k / kMmaK;
  const int warp_m = tile.m / kWarpsAcross, warp_n = tile.n / kWarpsAcross;
  const int cycles = target.mma_cycles(tile.m, tile.n, kMmaK);
  w.cost(t::load_a, global_mem, 600, OpRole::global_load, 0, 1, 0, "LA", 0);
  w.cost(t::load_b, global_mem, 600, OpRole::global_load, 0, 1, 0, "LB", 0);
  w.cost(t::frag_a, lds, kLdmatrixLatency, OpRole::fragment_load, 0, 0, warp_m * kMmaK / 64, "FA", 1);
  w.cost(t::frag_b, lds, kLdmatrixLatency, OpRole::fragment_load, 0, 0, warp_n * kMmaK / 64, "FB", 1);
  w.cost(t::mma, mma_unit, cycles, OpRole::compute, cycles, 0, tile.m * tile.n / kThreads / slices, "MMA", 1);
  w.op(t::load_a, 0, 0, 0, {detail::in_shared(write, kSharedA, kAllRegions)});
  w.op(t::load_b, 1, 0, 0, {detail::in_shared(write, kSharedB, kAllRegions)});
  for (int k = 0; k < slices; ++k) {
    const uint8_t at = detail::part(k);
    w.op(t::frag_a, 0, 0, k, {detail::in_shared(read, kSharedA, at), detail::in_registers(write, kSharedA, at)});
    w.op(t::frag_b, 1, 0, k, {detail::in_shared(read, kSharedB, at), detail::in_registers(write, kSharedB, at)});
    w.op(t::mma, -1, 0, k,
         {detail::in_registers(read, kSharedA, at), detail::in_registers(read, kSharedB, at), detail::accumulate(k)});
  }
  detail::tile_buffers(w.spec(), tile.m * tile.k * tile.elem_bytes, tile.n * tile.k * tile.elem_bytes);
  if (target.load_counter != Counter::copy_group) {
    w.spec().error = {.code = Code::unit_missing, .a = "cp.async", .b = target.name};
  }
  return w.spec();
}

constexpr BodySpec tma_ring(const Target& target, const TileShape& tile = {128, 256, 64, 2}) {
  using enum AccessMode;
  using enum ResourceKind;
  namespace t = body_tags;
  detail::BodyWriter w("default");
  constexpr int kThreads = 256;
  // A slot more than the lifetimes ask for, so that a copy that comes late does not stop the consumers at once.
  w.spec().spare_slots = 1;
  w.spec().consumers = kThreads / 128;
  const int cycles = target.mma_cycles(tile.m, tile.n, tile.k);
  w.cost(t::load_a, global_mem, 1000, OpRole::global_load, 0, 1, 0, "LA", 0);
  w.cost(t::load_b, global_mem, 1000, OpRole::global_load, 0, 1, 0, "LB", 0);
  w.cost(t::mma, mma_unit, cycles, OpRole::compute, cycles, 1, tile.m * tile.n / kThreads, "MMA", 0);
  w.op(t::load_a, 0, 0, 0, {detail::in_shared(write, kSharedA, kAllRegions)});
  w.op(t::load_b, 1, 0, 0, {detail::in_shared(write, kSharedB, kAllRegions)});
  w.op(t::mma, -1, 0, 0,
       {detail::in_shared(read, kSharedA, kAllRegions), detail::in_shared(read, kSharedB, kAllRegions),
        detail::accumulate(0)});
  detail::tile_buffers(w.spec(), tile.m * tile.k * tile.elem_bytes, tile.n * tile.k * tile.elem_bytes);
  if (target.load_counter != Counter::phase) {
    w.spec().error = {.code = Code::unit_missing, .a = "TMA", .b = target.name};
  }
  return w.spec();
}

// S = Q K, P = softmax(S), O = O * scale + P V. P is kept twice, so that the softmax of a tile may write while the
// product of the tile before still reads.
constexpr BodySpec attention_ring(const Target& target, const TileShape& tile = {128, 128, 128, 2}) {
  using enum AccessMode;
  using enum ResourceKind;
  namespace t = body_tags;
  enum : uint8_t { kScores = 2, kProbabilities = 3 };
  detail::BodyWriter w("attention");
  BodySpec& s = w.spec();
  constexpr int kThreads = 256;
  const int cycles = target.mma_cycles(tile.m, tile.n, tile.k);
  w.cost(t::load_a, global_mem, 1000, OpRole::global_load, 0, 1, 0, "LK", 0);
  w.cost(t::load_b, global_mem, 1000, OpRole::global_load, 0, 1, 0, "LV", 0);
  w.cost(t::mma, mma_unit, cycles, OpRole::compute, cycles, 1, tile.m * tile.n / kThreads, "QK", 0);
  w.cost(t::mma_second, mma_unit, cycles, OpRole::compute, cycles, 1, tile.m * tile.k / kThreads, "PV", 0);
  w.cost(t::softmax, valu, cycles / 2, OpRole::valu_compute, cycles / 2, 0, tile.m * tile.n / kThreads / 2, "SMAX", 0);
  w.cost(t::scale, valu, cycles / 4, OpRole::valu_compute, cycles / 4, 0, 0, "SCALE", 0);
  const auto scores = [](AccessMode mode) { return detail::in_registers(mode, kScores, 1); };
  const auto probabilities = [](AccessMode mode) { return detail::in_registers(mode, kProbabilities, 1); };
  w.op(t::load_a, 0, 0, 0, {detail::in_shared(write, kSharedA, kAllRegions)});
  w.op(t::load_b, 1, 0, 0, {detail::in_shared(write, kSharedB, kAllRegions)});
  w.op(t::mma, -1, 0, 0, {detail::in_shared(read, kSharedA, kAllRegions), scores(write)});
  w.op(t::softmax, -1, 0, 0, {scores(read), probabilities(write)});
  w.op(t::mma_second, -1, 0, 0,
       {detail::in_shared(read, kSharedB, kAllRegions), probabilities(read), detail::accumulate(0)});
  w.op(t::scale, -1, 0, 0, {detail::accumulate(0)});
  s.spare_slots = 1;
  s.consumers = kThreads / 128;
  s.register_depths = {{Space::registers, kProbabilities, 2}};
  s.buffers.push_back({"K", kSharedA, tile.n * tile.k * tile.elem_bytes, 0});
  s.buffers.push_back({"V", kSharedB, tile.n * tile.k * tile.elem_bytes, 1});
  if (!target.splits_roles()) s.error = {.code = Code::unit_missing, .a = "TMA", .b = target.name};
  return s;
}

}  // namespace warpwright::schedule

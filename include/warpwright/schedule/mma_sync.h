// The body of a matmul by mma.sync at the grain at which the instructions are issued. A warp issues in order, so
// whatever should run beside an MMA must be placed between the MMAs: the multiplication of a slice of K is cut into
// pieces (groups of rows of a warp's tile), and the fragments of the next slice and the copies of a later tile find
// their places between them. Fragments have two sets of registers, one for each of the two slices of a tile.
#pragma once
#include "warpwright/schedule/bodies.h"

namespace warpwright::schedule {

struct MmaSyncShape {
  int m = 128, n = 256;
  int warps_m = 2, warps_n = 4;
  int pieces = 4;                  // into how many pieces the multiplication of a slice is cut: 1, 2 or 4
  int copies_a = 1, copies_b = 1;  // parts in which the tile of an operand is copied
  bool spread = true;              // copies and fragments keep a distance; otherwise each comes as early as it may
  int blocks = 1;                  // CTAs that share the tensor cores of an SM
  // Decides how far ahead the copies stand and between which MMAs. Which of the orders is fast is a matter of
  // measurement (docs/evidence/sm80-log.md); this is the fastest for which the compiler also chooses the depth.
  int copy_latency = 2700;
  constexpr bool operator==(const MmaSyncShape&) const = default;
  constexpr int warps() const { return warps_m * warps_n; }
  constexpr int warp_m() const { return m / warps_m; }
  constexpr int warp_n() const { return n / warps_n; }
};

// A row of a tile is 64 bytes: two slices of 32, which is what one mma.sync takes of every type.
inline constexpr int kMmaSyncRowBytes = 64;
inline constexpr int kMmaSyncSlices = 2;

constexpr int mma_sync_ops(const MmaSyncShape& s) { return s.copies_a + s.copies_b + kMmaSyncSlices * 3 * s.pieces; }

// The target with the path from L2 to shared memory and the port of shared memory as units, for when they should be
// shared out evenly.
constexpr Target mma_sync_target(const Target& base, const MmaSyncShape& s) {
  Target t = base;
  if (s.spread) t.capacity[int(ResourceKind::global_mem)] = t.capacity[int(ResourceKind::lds)] = 1;
  return t;
}

constexpr BodySpec mma_sync_ring(const Target& target, const MmaSyncShape& s) {
  using enum AccessMode;
  using enum ResourceKind;
  namespace t = body_tags;
  detail::BodyWriter w("mma-sync");
  // One slot to read, one that lands, one that is free: then one barrier per tile serves reuse and arrival.
  w.spec().least_depth = 3;
  constexpr int kSharedBytesPerCycle = 128, kLdmatrixLatency = 33;
  constexpr int kHalfSlice = 16;  // elements of 2 bytes in a slice; the shorter types have twice as many, twice as fast
  const int slice_bytes = kMmaSyncRowBytes / kMmaSyncSlices;
  const int slice_cycles = target.mma_cycles(s.m, s.n, kHalfSlice) * s.blocks;
  const int piece_cycles = slice_cycles / s.pieces;
  // All warps read at once, each its own rows of A and its own columns of B.
  const int read_a = s.warps() * s.warp_m() * slice_bytes / kSharedBytesPerCycle;
  const int read_b = s.warps() * s.warp_n() * slice_bytes / kSharedBytesPerCycle;
  const int frag_latency = kLdmatrixLatency + read_a + read_b;
  // Copies take turns such that a tile's fill the time of its multiplication.
  const auto turn = [&](int rows, int copies) {
    return s.spread ? piece_cycles * s.pieces * kMmaSyncSlices * rows / (s.m + s.n) / copies : 0;
  };
  const auto port = [&](int cycles) { return s.spread ? cycles / s.pieces : 0; };
  const int a_registers = s.warp_m() * slice_bytes / 128 / s.pieces;
  const int b_registers = s.warp_n() * slice_bytes / 128 / s.pieces;
  const int accumulators = s.warp_m() * s.warp_n() / 32 / s.pieces / kMmaSyncSlices;
  w.cost(t::load_a, global_mem, s.copy_latency, OpRole::global_load, turn(s.m, s.copies_a), 1, 0, "LA", 1);
  w.cost(t::load_b, global_mem, s.copy_latency, OpRole::global_load, turn(s.n, s.copies_b), 1, 0, "LB", 1);
  w.cost(t::frag_a, lds, frag_latency, OpRole::fragment_load, port(read_a), 0, a_registers, "FA");
  w.cost(t::frag_b, lds, frag_latency, OpRole::fragment_load, port(read_b), 0, b_registers, "FB");
  w.cost(t::mma, mma_unit, piece_cycles, OpRole::compute, piece_cycles, 0, accumulators, "MMA");
  const uint8_t whole_a = uint8_t((1 << s.copies_a) - 1), whole_b = uint8_t((1 << s.copies_b) - 1);
  const auto registers_of = [&](int slice) { return uint8_t(((1 << s.pieces) - 1) << slice * s.pieces); };
  for (int i = 0; i < s.copies_a; ++i) w.op(t::load_a, 0, 0, i, {detail::in_shared(write, kSharedA, detail::part(i))});
  for (int i = 0; i < s.copies_b; ++i) w.op(t::load_b, 1, 0, i, {detail::in_shared(write, kSharedB, detail::part(i))});
  // Every fragment waits for the whole tile of both operands, so that one barrier serves them all. Among ops that start
  // together, fragments come before the multiplication.
  for (int k = 0; k < kMmaSyncSlices; ++k) {
    for (const bool b : {true, false}) {
      for (int i = 0; i < s.pieces; ++i) {
        w.op(b ? t::frag_b : t::frag_a, b ? 1 : 0, k, i,
             {detail::in_shared(read, kSharedA, whole_a), detail::in_shared(read, kSharedB, whole_b),
              detail::in_registers(write, b ? kSharedB : kSharedA, detail::part(k * s.pieces + i))});
      }
    }
  }
  for (int k = 0; k < kMmaSyncSlices; ++k) {
    for (int i = 0; i < s.pieces; ++i) {
      const uint8_t at = detail::part(k * s.pieces + i);
      w.op(t::mma, -1, k, i,
           {detail::in_registers(read, kSharedA, at), detail::in_registers(read, kSharedB, registers_of(k)),
            detail::accumulate(k * s.pieces + i)});
    }
  }
  detail::tile_buffers(w.spec(), s.m * kMmaSyncRowBytes, s.n * kMmaSyncRowBytes);
  if (target.load_counter != Counter::copy_group) {
    w.spec().error = {.code = Code::unit_missing, .a = "cp.async", .b = target.name};
  }
  return w.spec();
}

}  // namespace warpwright::schedule

// How many instructions one op of a CDNA kernel is, from the shape of its tile: the counter ticks that waits are made
// of.
#pragma once
#include "warpwright/schedule/target.h"

namespace warpwright::schedule {

struct KernelGeometry {
  int bm = 256, bn = 256, bk = 64;
  int mma_m = 16, mma_n = 16, mma_k = 32;
  int elem_bytes = 2;
  int warps_m = 2, warps_n = 4;

  static constexpr int kLoadBytes = 16;  // per lane
  static constexpr int kWave = 64;

  constexpr int warps() const { return warps_m * warps_n; }
  constexpr int warp_m() const { return bm / warps_m; }
  constexpr int warp_n() const { return bn / warps_n; }
  // A warp's tile is 2 x 2 quadrants of this many MMAs.
  constexpr int quad_m() const { return warp_m() / mma_m / 2; }
  constexpr int quad_n() const { return warp_n() / mma_n / 2; }
  constexpr int num_k() const { return bk / mma_k; }
  constexpr int shared_bytes_per_stage() const { return (bm + bn) * bk * elem_bytes; }

  // Fragment elements of a lane. An 8-bit 16x16x128 fragment is read in two pieces.
  constexpr int mma_frag_width() const { return mma_m * mma_k / kWave; }
  constexpr bool splits_fragment() const { return elem_bytes == 1 && mma_m == 16 && mma_k == 128; }
  constexpr int lds_frag_width() const { return splits_fragment() ? 16 : mma_frag_width(); }
  constexpr int reads_per_mma() const {
    const int pieces = mma_frag_width() / lds_frag_width();
    return pieces * ((lds_frag_width() * elem_bytes + kLoadBytes - 1) / kLoadBytes);
  }
  constexpr int lgkm_a() const { return quad_m() * num_k() * reads_per_mma(); }
  constexpr int lgkm_b() const { return quad_n() * num_k() * reads_per_mma(); }

  // Half of the tile's rows, moved by all waves together, 16 bytes a lane.
  constexpr int rows_per_load() const { return warps() * kWave / (bk * elem_bytes / kLoadBytes); }
  constexpr int vm_a() const { return bm / 2 / rows_per_load(); }
  constexpr int vm_b() const { return bn / 2 / rows_per_load(); }

  constexpr int mma_count() const { return quad_m() * quad_n() * num_k(); }

  // Loads and fragments must be whole instructions, and the stages must fit.
  constexpr Diagnostic check(const Target& t, int depth) const {
    const auto invalid = [](const char* what, int have, int need) {
      return Diagnostic{.code = Code::config_invalid, .a = what, .have = have, .need = need};
    };
    if (bm % (2 * rows_per_load()) != 0) return invalid("rows of A", bm, 2 * rows_per_load());
    if (bn % (2 * rows_per_load()) != 0) return invalid("rows of B", bn, 2 * rows_per_load());
    if (quad_m() < 1 || warp_m() % (2 * mma_m) != 0) return invalid("warp rows", warp_m(), 2 * mma_m);
    if (quad_n() < 1 || warp_n() % (2 * mma_n) != 0) return invalid("warp columns", warp_n(), 2 * mma_n);
    if (num_k() < 1 || bk % mma_k != 0) return invalid("tile depth", bk, mma_k);
    if (t.copy_bytes < kLoadBytes) {
      return {
          .code = Code::unit_missing, .a = "16-byte LDS DMA", .b = t.name, .have = t.copy_bytes, .need = kLoadBytes};
    }
    return check_shared(t, depth, shared_bytes_per_stage());
  }
};

}  // namespace warpwright::schedule

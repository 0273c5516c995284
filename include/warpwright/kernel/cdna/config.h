// Configuration and arguments of the CDNA matmul. World-free: the host fills these, whichever world compiles the
// kernel.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/tile/config.h"

namespace warpwright {

//   standard    global -> registers -> LDS; 4 waves, one LDS slot; the only one that fits gfx942
//   ping_pong   LDS DMA; 8 waves in two groups, one barrier apart: while one multiplies, the other moves data
//   four_wave   LDS DMA; 4 waves with a SIMD each
//   blocks      as ping_pong, in the order that MMABlockSpecs declare instead of one that the compiler found
enum class CdnaVariant : uint8_t { standard, ping_pong, four_wave, blocks };
inline constexpr CdnaVariant kCdnaVariants[] = {CdnaVariant::standard, CdnaVariant::ping_pong, CdnaVariant::four_wave,
                                                CdnaVariant::blocks};
// The word for it in the names of instances and of compiled kernels.
WW_HD constexpr const char* name(CdnaVariant variant) {
  constexpr const char* words[] = {"default", "pingpong", "4wave", "blocks"};
  return words[int(variant)];
}

// D[m, n] = alpha * sum over k of A[m, k] * B[n, k]; all row-major, sums in fp32.
//
// Nothing is compiled for AMD while a program runs, so what is seldom asked for is decided by the arguments of a
// general kernel and not by its configuration: batches, the nodes between a sum and D, the type of D.
struct CdnaMatmulConfig {
  Arch arch = Arch::gfx950;
  CdnaVariant variant = CdnaVariant::ping_pong;
  DType type = DType::bf16;      // of A and B: bf16, fp16, or e4m3 (gfx950: OCP, gfx942: FNUZ)
  DType out_type = DType::bf16;  // of D: bf16 or fp32; a general kernel has it in its arguments
  bool general = false;
  // Elements of A and B are loaded one by one: any layout, stride and address.
  bool by_elements = false;
  DepthSplit split = DepthSplit::none;

  static constexpr int kTileBytes = 128;  // of K: a row of a tile in LDS
  static constexpr int kWave = 64;
  static constexpr int kMma = 16;  // rows of either operand in one MFMA

  // Two groups of waves that take turns on the matrix units.
  WW_HD constexpr bool ping_pong() const { return variant == CdnaVariant::ping_pong || variant == CdnaVariant::blocks; }
  WW_HD constexpr bool uses_dma() const { return variant != CdnaVariant::standard; }
  WW_HD constexpr int element_bytes() const { return bits(type) / 8; }
  WW_HD constexpr int out_bytes() const { return bits(out_type) / 8; }
  WW_HD constexpr int tile_m() const { return ping_pong() ? 256 : 128; }
  WW_HD constexpr int tile_n() const { return tile_m(); }
  WW_HD constexpr int tile_k() const { return kTileBytes / element_bytes(); }
  WW_HD constexpr int waves_m() const { return 2; }
  WW_HD constexpr int waves_n() const { return ping_pong() ? 4 : 2; }
  WW_HD constexpr int waves() const { return waves_m() * waves_n(); }
  WW_HD constexpr int threads() const { return waves() * kWave; }
  // Two 16-byte fragments make the operand of the widest fp8 instruction, which gfx942 does not have.
  WW_HD constexpr bool wide_fp8() const { return type == DType::e4m3 && uses_dma(); }
  WW_HD constexpr int mma_k() const {
    if (element_bytes() == 2) return arch == Arch::gfx942 ? 16 : 32;
    return wide_fp8() ? 128 : 32;
  }

  // A wave multiplies two by two quadrants, each of this many MFMA tiles. The rows of a quadrant of A begin at quadrant
  // * quadrant_step_m + wave row * wave_step_m; those of B likewise.
  WW_HD constexpr int quadrant_m() const { return tile_m() / waves_m() / 2 / kMma; }
  WW_HD constexpr int quadrant_n() const { return tile_n() / waves_n() / 2 / kMma; }
  WW_HD constexpr int quadrant_step_m() const { return variant == CdnaVariant::four_wave ? 64 : quadrant_m() * kMma; }
  WW_HD constexpr int quadrant_step_n() const { return variant == CdnaVariant::four_wave ? 64 : quadrant_n() * kMma; }
  WW_HD constexpr int wave_step_m() const { return quadrant_m() * kMma * (variant == CdnaVariant::four_wave ? 1 : 2); }
  WW_HD constexpr int wave_step_n() const { return quadrant_n() * kMma * (variant == CdnaVariant::four_wave ? 1 : 2); }

  // Where in its row of LDS a chunk of 16 bytes lies. The 16 rows of a fragment, of which every lane reads one chunk,
  // must be in different banks: gfx950 has 64, which two rows fill, gfx942 has 32, which one row fills.
  template <class T>
  WW_HD constexpr T place_of(const T& row, const T& chunk) const {
    return (chunk ^ ((row >> T(arch == Arch::gfx942 ? 0 : 1)) & T(7))) << T(4);
  }

  // Rows that one 16-byte load of every lane of the workgroup brings.
  WW_HD constexpr int rows_per_load() const { return threads() * 16 / kTileBytes; }

  // How many MFMA tiles a wave has along M and N.
  WW_HD constexpr int wave_tiles_m() const { return 2 * quadrant_m(); }
  WW_HD constexpr int wave_tiles_n() const { return 2 * quadrant_n(); }

  // split_k: a counter for each wave of each tile, then the sums of each wave of each part of a tile.
  WW_HD constexpr int64_t tiles(int64_t m, int64_t n, int64_t batches) const {
    return (m + tile_m() - 1) / tile_m() * ((n + tile_n() - 1) / tile_n()) * batches;
  }
  WW_HD constexpr int64_t counter_bytes(int64_t all_tiles) const { return (all_tiles * waves() * 4 + 127) / 128 * 128; }
  WW_HD constexpr uint32_t slot_bytes() const { return uint32_t(wave_tiles_m() * wave_tiles_n() * kWave * 16); }
  WW_HD constexpr int64_t workspace_bytes(int64_t all_tiles, int64_t splits) const {
    return split == DepthSplit::none ? 0
                                     : counter_bytes(all_tiles) + all_tiles * splits * waves() * int64_t(slot_bytes());
  }

  constexpr bool operator==(const CdnaMatmulConfig&) const = default;
};

// The sentence says what is wrong; nullptr when the configuration can be compiled.
WW_HD constexpr const char* refuse(const CdnaMatmulConfig& c) {
  if (c.arch != Arch::gfx942 && c.arch != Arch::gfx950) return "cdna_matmul: it is made for gfx942 and gfx950";
  if (c.type != DType::bf16 && c.type != DType::fp16 && c.type != DType::e4m3) {
    return "cdna_matmul: A and B are bf16, fp16 or e4m3";
  }
  if (c.general) {
    if (c.out_type != usual_result(c.type)) return "cdna_matmul: the launch of a general kernel says what D is";
  } else if (c.by_elements || c.split != DepthSplit::none) {
    return "cdna_matmul: only general kernels load single elements or share the depth of a tile";
  } else if (c.out_type != DType::bf16 && c.out_type != DType::fp32) {
    return "cdna_matmul: D is bf16 or fp32";
  }
  if (c.split == DepthSplit::stream_k) return "cdna_matmul: stream-K is not served";
  if (c.by_elements && c.uses_dma()) return "cdna_matmul: LDS DMA moves no single elements";
  if (c.uses_dma() && c.arch != Arch::gfx950) return "cdna_matmul: 16-byte LDS DMA is an instruction of gfx950";
  return nullptr;
}

// Rows of A and B are whole 16-byte units and begin at multiples of them, unless single elements are loaded; those of D
// begin at whole elements.
struct CdnaMatmulArgs {
  Global<const uint8_t> a;
  Global<const uint8_t> b;
  Global<uint8_t> d;
  uint32_t m = 0, n = 0, k = 0;
  uint32_t a_row_bytes = 0, b_row_bytes = 0, d_row_bytes = 0;
  float alpha = 1;

  // For general kernels only: the step from an element to the next one along k. Rows then begin anywhere.
  uint32_t a_k_bytes = 0, b_k_bytes = 0;
  uint32_t batches = 1;
  uint32_t splits = 1;  // split_k: parts of a tile, each of which has some of k
  int64_t a_batch_bytes = 0, b_batch_bytes = 0, d_batch_bytes = 0;
  // split_k: config.workspace_bytes(), of which the first config.counter_bytes() are zero before the first launch.
  void* workspace = nullptr;
  EpilogueConfig nodes = {};
  EpilogueArgs epilogue = {};  // factors, tensors and strides of `nodes`
};

// Offsets inside the rows of a tile are 31 bits, the 32nd marks what lies outside: 256 rows of less than 8 MiB each.
inline constexpr uint32_t kCdnaMaxRowBytes = (1u << 23) - 1;

}  // namespace warpwright

// Block-scaled MMAs: the factors of a tile of the ring are copied from shared memory to columns of tensor memory that
// are theirs alone, and the MMAs read them there. One thread issues both, so the copies come before the MMAs; the
// commit that frees the stage waits for both, and the next copy into the columns follows the next load of the stage.
#pragma once
#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// Copies `tiles` tiles along K for each of `blocks` tiles of rows. Shared memory is ordered by rows first, tensor
// memory by K first, as an MMA reads them.
template <int CtaGroup>
WW_FN void copy_scales(Tmem to, Shared<uint8_t> from, int blocks, int tiles) {
  WW_UNROLL
  for (int block = 0; block < blocks; ++block) {
    WW_UNROLL
    for (int tile = 0; tile < tiles; ++tile) {
      // Rows of 16 bytes: groups of eight follow each other.
      const MatrixDesc source{from.address + uint32_t(block * tiles + tile) * kScaleTileBytes, 0, 128, Swizzle::none,
                              0};
      machine::tcgen05_cp<machine::TmemCopy::s32x128b_warpx4, CtaGroup>(
          to.column(uint32_t((tile * blocks + block) * kScaleTileTmemColumns)), encode_sm100(source));
    }
  }
}

// An MMA takes `per_mma` factors of a row (1, 2 or 4): MMA i of a tile of the ring finds them in this tile of factors,
// starting at this byte of its cells.
WW_HD constexpr int scale_tile_of(int mma, int per_mma) { return mma * per_mma / kScaleTileColumns; }
WW_HD constexpr uint8_t scale_id_of(int mma, int per_mma) { return uint8_t(mma * per_mma % kScaleTileColumns); }

template <DenseGemmSm100Config C>
struct BlockScaledMultiply {
  static constexpr DType kScale = scale_dtype(C.scaling);
  static constexpr InstrDesc kMma{.kind = scaled_mma_kind(C.first_type(), C.second_type(), kScale),
                                  .a = C.first_type(),
                                  .b = C.second_type(),
                                  .m = C.mma_m(),
                                  .n = C.tile_n,
                                  .scale = kScale};
  static_assert(idesc_error(kMma, C.cta_group) == nullptr, "dense_gemm: there is no block-scaled MMA of this shape");
  static constexpr int kTiles = C.scale_tiles();
  static constexpr int kMmas = C.tile_k() / mma_k(C.type);
  static_assert(kTiles * kScaleTileColumns % kMmas == 0 && kTiles * kScaleTileColumns / kMmas <= 4);
  static constexpr int kPerMma = kTiles * kScaleTileColumns / kMmas;

  // The columns of the factors of tile `i` of the ring.
  WW_FN static Tmem scales(Tmem allocation, int i) {
    return allocation.column(uint32_t(C.first_scale_column() + C.scale_columns() * i));
  }
  // Where the factors of the second operand begin.
  WW_FN static Tmem b_scales(Tmem scales) {
    return scales.column(uint32_t(kScaleTileTmemColumns * kTiles * C.a_scale_blocks()));
  }
  // Rows of the second operand begin here in their tile of factors.
  WW_FN static uint32_t shift(int first_row) { return uint32_t(first_row) % kScaleTileRows / 32; }

  // One thread. If `CopiesB` is false, the factors of the second operand are in tensor memory already.
  template <bool CopiesB = true, class Tile>
  WW_FN static void issue(Tmem sums, Tmem scales, uint32_t b_shift, const Tile& operands, bool fresh) {
    constexpr int a_blocks = C.a_scale_blocks(), b_blocks = C.b_scale_blocks();
    constexpr auto kind = machine::MmaKind(uint8_t(kMma.kind));
    constexpr uint32_t step_bytes = 32;  // of every row: what an MMA takes of any type
    const Tmem of_b = b_scales(scales);
    copy_scales<C.cta_group>(scales, operands.a_scales, a_blocks, kTiles);
    if constexpr (CopiesB) copy_scales<C.cta_group>(of_b, operands.b_scales, b_blocks, kTiles);
    // A padded element takes the space of an 8-bit one, so 8-bit and packed rows are both 128 bytes.
    const uint64_t a = encode_sm100(k_major_desc(C.type, Swizzle::b128, C.tile_m, operands.a.address));
    const uint64_t b = encode_sm100(k_major_desc(C.type, Swizzle::b128, C.b_rows(), operands.b.address));
    WW_UNROLL
    for (int i = 0; i < kMmas; ++i) {
      InstrDesc shape = kMma;
      shape.a_scale_id = shape.b_scale_id = scale_id_of(i, kPerMma);
      const int tile = scale_tile_of(i, kPerMma);
      machine::tcgen05_mma_scaled<kind, C.cta_group>(
          sums, advance_desc(a, step_bytes * uint32_t(i)), advance_desc(b, step_bytes * uint32_t(i)),
          encode_idesc(shape), scales.column(uint32_t(tile * a_blocks * kScaleTileTmemColumns)),
          of_b.column(uint32_t(tile * b_blocks * kScaleTileTmemColumns) + b_shift), i != 0 || !fresh);
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

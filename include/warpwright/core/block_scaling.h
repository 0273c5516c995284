// Block-scaled formats: narrow elements with a scale factor for each short block along K, which the tensor core applies
// itself, and the tiles in which the factors lie in device memory, in shared memory and on their way.
#pragma once
#include "warpwright/core/dtype.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/core/word_enum.h"

namespace warpwright {

// The formats with scale factors for blocks along k; core/words.h explains the words.
WW_WORDS(BlockScaling, kBlockScalings, WW_BLOCK_SCALINGS)

// How many elements share a factor, the type of that factor, and the element type of B when A has the given type.
WW_HD constexpr int scale_block(BlockScaling s) { return s == BlockScaling::nvfp4 ? 16 : 32; }
WW_HD constexpr DType scale_dtype(BlockScaling s) { return s == BlockScaling::nvfp4 ? DType::ue4m3 : DType::ue8m0; }
WW_HD constexpr DType b_dtype(BlockScaling s, DType a) { return s == BlockScaling::w4a8 ? DType::e2m1 : a; }

// A tile of factors is what one tcgen05.cp.32x128b.warpx4 moves into four columns of tensor memory: 128 rows by four
// factors along K, those of row r at 16 * (r % 32) + 4 * (r / 32). A matrix has tiles [ceil(rows / 128)][ceil(factors
// of a row / 4)]; factors that it does not reach are zero.
inline constexpr int kScaleTileRows = 128;
inline constexpr int kScaleTileColumns = 4;
inline constexpr int kScaleTileBytes = kScaleTileRows * kScaleTileColumns;
inline constexpr int kScaleTileTmemColumns = 4;
// Neighbouring tiles of the same rows. They travel as words: a box has at most 256 elements along each side.
WW_HD constexpr TensorBox scale_box(int tiles) { return {DType::fp32, kScaleTileBytes / 4, tiles, Swizzle::none}; }

// The sentence says what is wrong; nullptr when elements of this type have such factors.
WW_HD constexpr const char* refuse(BlockScaling s, DType a) {
  const bool byte = a == DType::e4m3 || a == DType::e5m2;
  if (s == BlockScaling::mxfp8 && !byte) return "block scaling: elements of mxfp8 are e4m3 or e5m2";
  if (s == BlockScaling::w4a8 && !byte) return "block scaling: A of w4a8 is e4m3 or e5m2";
  if ((s == BlockScaling::mxfp4 || s == BlockScaling::nvfp4) && a != DType::e2m1) {
    return "block scaling: elements of mxfp4 and nvfp4 are e2m1";
  }
  return nullptr;
}

}  // namespace warpwright

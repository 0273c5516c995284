// Quantization: turns matrices into narrow elements with scale factors along their rows, in the forms that the kernels
// take. A GPU and the host give the same bits.
//
//   token   e4m3 or e5m2, one fp32 factor for 128 elements of a row
//   block   e4m3 or e5m2, one fp32 factor for 128 rows by 128 elements
//   mx      e4m3, e5m2 or e2m1, one ue8m0 factor for 32 elements of a row
//   nvfp4   e2m1, one ue4m3 factor for 16 elements of a row, one fp32 factor for the tensor
//
//   warpwright::QuantizeProblem problem{.rows = 4096, .columns = 7168};      bf16 to e4m3 with factors of tokens
//   warpwright::Status status = warpwright::quantize(problem, {.source = x, .values = q, .scales = s}, stream);
//
// An fp32 factor is the largest magnitude of the block times the reciprocal of the largest value of the type, not below
// the smallest normal number, and 1 for a block of zeros. A ue8m0 factor is the smallest power of two with which
// nothing overflows. A ue4m3 factor is rounded to the nearest, so the largest elements of a block may saturate.
// Elements are multiplied by the reciprocal of their factor and rounded to the nearest, ties to even. A NaN spoils its
// block: its factor is NaN, and so are its elements where the type has one. An infinite element saturates; with an fp32
// factor it spoils its block.
#pragma once
#include <cstdint>
#include <vector>

#include "warpwright/core/block_scaling.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/word_enum.h"
#include "warpwright/status.h"

namespace warpwright {

// The forms listed at the top of this file.
WW_WORDS(Quantization, kQuantizations, WW_QUANTIZATIONS)

// The rows and columns that share a scale factor, and the type of that factor.
WW_HD constexpr int block_rows(Quantization q) { return q == Quantization::block ? 128 : 1; }
WW_HD constexpr int block_columns(Quantization q) {
  return q == Quantization::mx ? 32 : q == Quantization::nvfp4 ? 16 : 128;
}
WW_HD constexpr DType scale_dtype(Quantization q) {
  return q == Quantization::mx ? DType::ue8m0 : q == Quantization::nvfp4 ? DType::ue4m3 : DType::fp32;
}

// Where the factors lie: `rows` as the Hopper kernels take them, `tiles` as the Blackwell kernels do.
WW_WORDS(ScaleLayout, kScaleLayouts, WW_SCALE_LAYOUTS)

// A matrix to quantize, and how.
struct QuantizeProblem {
  int64_t rows = 0;  // may be 0, like columns
  int64_t columns = 0;
  int64_t stride = 0;          // elements from one row of the source to the next; 0: no gap
  DType source = DType::bf16;  // or fp16, fp32
  Quantization kind = Quantization::token;
  DType type = DType::e4m3;
  ScaleLayout layout = ScaleLayout::rows;
  bool given_tensor_scale =
      false;  // nvfp4: the factor of the whole tensor is read; otherwise it is computed and written
};

// Where the source is and where the results go: device memory for quantize(), host memory for quantize_on_host().
struct QuantizePointers {
  const void* source = nullptr;  // aligned to its elements; to 16 bytes, rows too, for full speed
  void* values = nullptr;  // value_bytes(): rows without gaps; two e2m1 share a byte, the even column in its low half
  void* scales = nullptr;  // scale_bytes()
  float* tensor_scale = nullptr;  // nvfp4: largest finite magnitude / (448 * 6), not below the smallest normal number
};

// The sentence names the argument, its value and the rule. Needs no GPU.
Status validate(const QuantizeProblem& problem);
// How many bytes the results of a legal problem take.
int64_t value_bytes(const QuantizeProblem& problem);
int64_t scale_bytes(const QuantizeProblem& problem);

// Quantizes on a stream, a cudaStream_t, of the current device. Allocates nothing; legal during stream capture.
Status quantize(const QuantizeProblem& problem, const QuantizePointers& pointers, void* stream = nullptr);
// The same in host memory.
Status quantize_on_host(const QuantizeProblem& problem, const QuantizePointers& pointers);

// A quantized matrix in host memory.
struct ScaledMatrix {
  DType type = DType::e4m3;
  DType scale_type = DType::fp32;
  int64_t rows = 0;
  int64_t columns = 0;
  int block_rows = 1;  // rows and columns that share a factor
  int block_columns = 128;
  float tensor_scale = 1;       // NVFP4: a factor for all elements, on top of those of the blocks
  std::vector<uint8_t> values;  // row-major; two e2m1 share a byte, the even column in its low half
  std::vector<uint8_t> scales;  // [scale_rows()][scale_columns()] of scale_type

  int64_t scale_rows() const { return (rows + block_rows - 1) / block_rows; }
  int64_t scale_columns() const { return (columns + block_columns - 1) / block_columns; }
  int64_t row_bytes() const { return columns * bits(type) / 8; }
  float scale(int64_t scale_row, int64_t scale_column) const;
  // The element with its factors applied, as the kernels see it.
  double value(int64_t row, int64_t column) const;
};

// On the host, from fp32 rows of `columns` elements without gaps; for e2m1 the number of columns must be even.
ScaledMatrix quantize_mx(const float* source, int64_t rows, int64_t columns, DType type);
ScaledMatrix quantize_nvfp4(const float* source, int64_t rows, int64_t columns);
ScaledMatrix quantize_per_token(const float* source, int64_t rows, int64_t columns, DType type = DType::e4m3);
ScaledMatrix quantize_per_block(const float* source, int64_t rows, int64_t columns, DType type = DType::e4m3);

// All elements with their factors applied.
std::vector<float> dequantize(const ScaledMatrix& matrix);

// fp32 factors of rows as the kernels read them: [scale_columns()][rows], the rows padded to a multiple of 4 (16
// bytes).
std::vector<float> scales_by_block(const ScaledMatrix& matrix);

// 8-bit factors in the tiles of core/block_scaling.h, as the Blackwell kernels take them.
std::vector<uint8_t> tiled_scales(const ScaledMatrix& matrix);
// The same for rows that are cut into groups, each of which begins a new tile: offsets[groups + 1], ascending.
std::vector<uint8_t> tiled_scales(const ScaledMatrix& matrix, const std::vector<uint32_t>& offsets);

}  // namespace warpwright

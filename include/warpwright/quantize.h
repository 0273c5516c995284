// Quantization on the host: matrices in fp32 become narrow elements with scale factors along their rows, in the forms
// that the kernels take.
//
//   MX      e4m3, e5m2 or e2m1, one ue8m0 factor for 32 elements of a row
//   NVFP4   e2m1, one ue4m3 factor for 16 elements of a row, one fp32 factor for the tensor
//   token   e4m3, one fp32 factor for 128 elements of a row
//   block   e4m3, one fp32 factor for 128 rows by 128 elements
#pragma once
#include <cstdint>
#include <vector>

#include "warpwright/core/block_scaling.h"
#include "warpwright/core/dtype.h"

namespace warpwright {

struct ScaledMatrix {
  DType type = DType::e4m3;
  DType scale_type = DType::fp32;
  int64_t rows = 0;
  int64_t columns = 0;
  int block_rows = 1;  // of one factor
  int block_columns = 128;
  float tensor_scale = 1;       // NVFP4: a factor of all elements, on top of those of the blocks
  std::vector<uint8_t> values;  // row-major; of two e2m1 in a byte the even column is in the low half
  std::vector<uint8_t> scales;  // [scale_rows()][scale_columns()] of scale_type

  int64_t scale_rows() const { return (rows + block_rows - 1) / block_rows; }
  int64_t scale_columns() const { return (columns + block_columns - 1) / block_columns; }
  int64_t row_bytes() const { return columns * bits(type) / 8; }
  float scale(int64_t scale_row, int64_t scale_column) const;
  // The element that the kernels see, with its factors.
  double value(int64_t row, int64_t column) const;
};

// `source` has rows of `columns` elements without gaps; of e2m1 the columns must be even. Factors are chosen so that
// the largest magnitude of a block does not overflow: a ue8m0 factor is rounded up, a ue4m3 factor to the nearest, in
// which case the largest elements saturate. A block of zeros has the smallest factor of its type, or 1 in fp32.
ScaledMatrix quantize_mx(const float* source, int64_t rows, int64_t columns, DType type);
ScaledMatrix quantize_nvfp4(const float* source, int64_t rows, int64_t columns);
ScaledMatrix quantize_per_token(const float* source, int64_t rows, int64_t columns, DType type = DType::e4m3);
ScaledMatrix quantize_per_block(const float* source, int64_t rows, int64_t columns, DType type = DType::e4m3);

// All elements with their factors.
std::vector<float> dequantize(const ScaledMatrix& matrix);

// fp32 factors of rows as the kernels read them: [scale_columns()][rows], the rows padded to a multiple of 4 (16
// bytes).
std::vector<float> scales_by_block(const ScaledMatrix& matrix);

// 8-bit factors in the tiles of core/block_scaling.h, as the Blackwell kernels take them.
std::vector<uint8_t> tiled_scales(const ScaledMatrix& matrix);
// The same for rows that are cut into groups, each of which begins a new tile: offsets[groups + 1], ascending.
std::vector<uint8_t> tiled_scales(const ScaledMatrix& matrix, const std::vector<uint32_t>& offsets);

}  // namespace warpwright

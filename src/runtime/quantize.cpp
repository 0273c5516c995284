#include "warpwright/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "warpwright/core/numeric.h"

namespace warpwright {
namespace {

float largest_of(DType type) { return type == DType::e4m3 ? 448.f : type == DType::e5m2 ? 57344.f : 6.f; }

uint8_t code_of(DType type, float x) {
  return type == DType::e4m3   ? from_float<e4m3>(x).bits
         : type == DType::e5m2 ? from_float<e5m2>(x).bits
                               : from_float<e2m1>(x).bits;
}
float value_of(DType type, uint8_t code) {
  return type == DType::e4m3 ? to_float(e4m3{code}) : type == DType::e5m2 ? to_float(e5m2{code}) : to_float(e2m1{code});
}

ScaledMatrix empty_matrix(DType type, DType scale_type, int64_t rows, int64_t columns, int block_rows,
                          int block_columns) {
  ScaledMatrix m{type, scale_type, rows, columns, block_rows, block_columns, 1, {}, {}};
  m.values.assign(size_t(rows * m.row_bytes()), 0);
  m.scales.assign(size_t(m.scale_rows() * m.scale_columns() * bits(scale_type) / 8), 0);
  return m;
}

// A NaN is the largest of all: its block has no meaning, and its factor says so where the type can.
float largest_magnitude(const float* source, const ScaledMatrix& m, int64_t row, int64_t column, int rows,
                        int columns) {
  float largest = 0;
  for (int64_t r = row; r < std::min(row + rows, m.rows); ++r) {
    for (int64_t c = column; c < std::min(column + columns, m.columns); ++c) {
      const float x = std::fabs(source[r * m.columns + c]);
      if (!(x <= largest)) largest = x;
      if (std::isnan(largest)) return largest;
    }
  }
  return largest;
}

void put(ScaledMatrix& m, int64_t row, int64_t column, float x) {
  const int64_t bit = column * bits(m.type);
  uint8_t& byte = m.values[size_t(row * m.row_bytes() + bit / 8)];
  byte = uint8_t(byte | code_of(m.type, x) << bit % 8);
}

// `factor(largest)` stores the factor of a block and returns what its elements are divided by.
template <class Factor>
void quantize_blocks(const float* source, ScaledMatrix& m, const Factor& factor) {
  for (int64_t i = 0; i < m.scale_rows(); ++i) {
    for (int64_t j = 0; j < m.scale_columns(); ++j) {
      const int64_t row = i * m.block_rows, column = j * m.block_columns;
      const float largest = largest_magnitude(source, m, row, column, m.block_rows, m.block_columns);
      const float divisor = factor(i * m.scale_columns() + j, largest);
      for (int64_t r = row; r < std::min(row + m.block_rows, m.rows); ++r) {
        for (int64_t c = column; c < std::min(column + m.block_columns, m.columns); ++c) {
          const float x = source[r * m.columns + c];
          put(m, r, c, divisor == 0 ? 0.f : x / divisor);
        }
      }
    }
  }
}

ScaledMatrix quantize_fp32(const float* source, int64_t rows, int64_t columns, DType type, int block_rows) {
  ScaledMatrix m = empty_matrix(type, DType::fp32, rows, columns, block_rows, 128);
  quantize_blocks(source, m, [&](int64_t at, float largest) {
    const float scale = largest == 0 ? 1.f : std::max(largest / largest_of(type), std::numeric_limits<float>::min());
    std::memcpy(m.scales.data() + at * int64_t(sizeof(float)), &scale, sizeof(float));
    return scale;
  });
  return m;
}

// Where the factors of a row begin in their tile.
int64_t in_tile(int64_t row) { return row % 32 * 16 + row % kScaleTileRows / 32 * kScaleTileColumns; }

}  // namespace

float ScaledMatrix::scale(int64_t scale_row, int64_t scale_column) const {
  const int64_t at = scale_row * scale_columns() + scale_column;
  if (scale_type == DType::fp32) {
    float x;
    std::memcpy(&x, scales.data() + at * int64_t(sizeof(float)), sizeof(float));
    return x;
  }
  const uint8_t code = scales[size_t(at)];
  return scale_type == DType::ue8m0 ? to_float(ue8m0{code}) : to_float(ue4m3{code});
}

double ScaledMatrix::value(int64_t row, int64_t column) const {
  const int64_t bit = column * bits(type);
  const uint8_t byte = values[size_t(row * row_bytes() + bit / 8)];
  const uint8_t code = bits(type) == 4 ? uint8_t(byte >> bit % 8 & 0xf) : byte;
  return double(value_of(type, code)) * double(scale(row / block_rows, column / block_columns)) * double(tensor_scale);
}

ScaledMatrix quantize_mx(const float* source, int64_t rows, int64_t columns, DType type) {
  ScaledMatrix m = empty_matrix(type, DType::ue8m0, rows, columns, 1, 32);
  quantize_blocks(source, m, [&](int64_t at, float largest) {
    const ue8m0 scale = from_float<ue8m0>(largest / largest_of(type));
    m.scales[size_t(at)] = scale.bits;
    return to_float(scale);
  });
  return m;
}

ScaledMatrix quantize_nvfp4(const float* source, int64_t rows, int64_t columns) {
  ScaledMatrix m = empty_matrix(DType::e2m1, DType::ue4m3, rows, columns, 1, 16);
  float largest_of_all = 0;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float x = std::fabs(source[i]);
    if (std::isfinite(x)) largest_of_all = std::max(largest_of_all, x);
  }
  // The block with the largest element gets the largest factor.
  const float whole = largest_of_all / (largest_of(DType::e4m3) * largest_of(DType::e2m1));
  m.tensor_scale = whole >= std::numeric_limits<float>::min() ? whole : 1.f;
  quantize_blocks(source, m, [&](int64_t at, float largest) {
    const ue4m3 scale = from_float<ue4m3>(largest / largest_of(DType::e2m1) / m.tensor_scale);
    m.scales[size_t(at)] = scale.bits;
    return to_float(scale) * m.tensor_scale;
  });
  return m;
}

ScaledMatrix quantize_per_token(const float* source, int64_t rows, int64_t columns, DType type) {
  return quantize_fp32(source, rows, columns, type, 1);
}
ScaledMatrix quantize_per_block(const float* source, int64_t rows, int64_t columns, DType type) {
  return quantize_fp32(source, rows, columns, type, 128);
}

std::vector<float> dequantize(const ScaledMatrix& m) {
  std::vector<float> all;
  all.reserve(size_t(m.rows * m.columns));
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.columns; ++c) all.push_back(float(m.value(r, c)));
  return all;
}

std::vector<float> scales_by_block(const ScaledMatrix& m) {
  const int64_t rows = (m.scale_rows() + 3) / 4 * 4;
  std::vector<float> all(size_t(rows * m.scale_columns()), 0.f);
  for (int64_t r = 0; r < m.scale_rows(); ++r)
    for (int64_t c = 0; c < m.scale_columns(); ++c) all[size_t(c * rows + r)] = m.scale(r, c);
  return all;
}

std::vector<uint8_t> tiled_scales(const ScaledMatrix& m) { return tiled_scales(m, {0, uint32_t(m.rows)}); }

std::vector<uint8_t> tiled_scales(const ScaledMatrix& m, const std::vector<uint32_t>& offsets) {
  const int64_t across = (m.scale_columns() + kScaleTileColumns - 1) / kScaleTileColumns;
  std::vector<uint8_t> all;
  for (size_t group = 0; group + 1 < offsets.size(); ++group) {
    const int64_t begin = offsets[group], rows = int64_t(offsets[group + 1]) - begin;
    const size_t first = all.size();
    all.resize(first + size_t((rows + kScaleTileRows - 1) / kScaleTileRows * across * kScaleTileBytes), 0);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < m.scale_columns(); ++c) {
        const int64_t tile = r / kScaleTileRows * across + c / kScaleTileColumns;
        all[first + size_t(tile * kScaleTileBytes + in_tile(r) + c % kScaleTileColumns)] =
            m.scales[size_t((begin + r) * m.scale_columns() + c)];
      }
    }
  }
  return all;
}

}  // namespace warpwright

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "launch/quantize_rules.h"
#include "warpwright/core/numeric.h"

namespace warpwright {
namespace {

float value_of(DType type, uint8_t code) {
  return type == DType::e4m3 ? to_float(e4m3{code}) : type == DType::e5m2 ? to_float(e5m2{code}) : to_float(e2m1{code});
}

float element(const QuantizeArgs& p, int64_t row, int64_t column) {
  const int64_t at = row * p.stride + column;
  switch (p.source_type) {
    case DType::bf16:
      return to_float(static_cast<const bf16*>(p.source)[at]);
    case DType::fp16:
      return to_float(static_cast<const fp16*>(p.source)[at]);
    default:
      return static_cast<const float*>(p.source)[at];
  }
}

void store_scale(const QuantizeArgs& p, DType type, int64_t at, uint32_t code) {
  if (type == DType::fp32) {
    std::memcpy(static_cast<uint8_t*>(p.scales) + at * int64_t(sizeof code), &code, sizeof code);
  } else {
    static_cast<uint8_t*>(p.scales)[at] = uint8_t(code);
  }
}

template <Quantization Q, DType T>
void quantize_block(const QuantizeArgs& p, int64_t row, int64_t column, int64_t at, float inverse_tensor_scale) {
  const int64_t end_row = std::min(row + block_rows(Q), p.rows);
  const int64_t end_column = std::min(column + block_columns(Q), p.columns);
  uint32_t largest = 0;
  for (int64_t r = row; r < end_row; ++r)
    for (int64_t c = column; c < end_column; ++c) largest = std::max(largest, quantizing::magnitude(element(p, r, c)));
  const quantizing::Scale factor = quantizing::scale_of<Q, T>(largest, inverse_tensor_scale);
  store_scale(p, scale_dtype(Q), at, factor.code);
  for (int64_t r = row; r < end_row; ++r) {
    for (int64_t c = column; c < end_column; c += quantizing::kElements) {
      const int64_t count = std::min<int64_t>(quantizing::kElements, end_column - c);
      float x[quantizing::kElements] = {};
      for (int64_t i = 0; i < count; ++i) x[i] = element(p, r, c + i);
      uint32_t words[quantizing::kWords<T>];
      quantizing::convert<T>(x, factor.by, words);
      std::memcpy(p.values + (r * p.columns + c) * bits(T) / 8, words, size_t(count * bits(T) / 8));
    }
  }
}

template <Quantization Q, DType T>
void quantize_matrix(const QuantizeArgs& p) {
  float inverse_tensor_scale = 1;
  if constexpr (Q == Quantization::nvfp4) inverse_tensor_scale = tile::reciprocal(*p.tensor_scale);
  const ScaleExtents scales = ScaleExtents::of(Q, p.layout, p.rows, p.columns);
  for (int64_t r = 0; r < scales.padded_rows; ++r) {
    for (int64_t c = 0; c < scales.padded_columns; ++c) {
      const int64_t at = scales.at(p.layout, r, c);
      if (r >= scales.rows || c >= scales.columns) {
        store_scale(p, scale_dtype(Q), at, 0);
      } else {
        quantize_block<Q, T>(p, r * block_rows(Q), c * block_columns(Q), at, inverse_tensor_scale);
      }
    }
  }
}

ScaledMatrix quantized(const float* source, int64_t rows, int64_t columns, Quantization kind, DType type) {
  ScaledMatrix m{type, scale_dtype(kind), rows, columns, block_rows(kind), block_columns(kind), 1, {}, {}};
  m.values.resize(size_t(rows * m.row_bytes()));
  m.scales.resize(size_t(m.scale_rows() * m.scale_columns() * bits(m.scale_type) / 8));
  const QuantizeProblem problem{.rows = rows, .columns = columns, .source = DType::fp32, .kind = kind, .type = type};
  (void)quantize_on_host(problem, {source, m.values.data(), m.scales.data(), &m.tensor_scale});
  return m;
}

}  // namespace

Status quantize_on_host(const QuantizeProblem& problem, const QuantizePointers& pointers) {
  if (Status s = validate(problem, pointers); !s) return s;
  if (problem.kind == Quantization::nvfp4 && !problem.given_tensor_scale)
    *pointers.tensor_scale = quantizing::kSmallest;
  if (problem.rows == 0 || problem.columns == 0) return {};
  const QuantizeArgs args = quantize_args(problem, pointers);
  if (problem.kind == Quantization::nvfp4 && !problem.given_tensor_scale) {
    uint32_t largest = 0;
    for (int64_t r = 0; r < args.rows; ++r) {
      for (int64_t c = 0; c < args.columns; ++c) {
        const uint32_t size = quantizing::magnitude(element(args, r, c));
        if (size < quantizing::kInfinity) largest = std::max(largest, size);
      }
    }
    *args.tensor_scale = quantizing::tensor_scale_of(largest);
  }
  quantizing::with_kind(problem.kind, problem.type, [&]<Quantization Q, DType T>() { quantize_matrix<Q, T>(args); });
  return {};
}

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
  return quantized(source, rows, columns, Quantization::mx, type);
}
ScaledMatrix quantize_nvfp4(const float* source, int64_t rows, int64_t columns) {
  return quantized(source, rows, columns, Quantization::nvfp4, DType::e2m1);
}
ScaledMatrix quantize_per_token(const float* source, int64_t rows, int64_t columns, DType type) {
  return quantized(source, rows, columns, Quantization::token, type);
}
ScaledMatrix quantize_per_block(const float* source, int64_t rows, int64_t columns, DType type) {
  return quantized(source, rows, columns, Quantization::block, type);
}

std::vector<float> dequantize(const ScaledMatrix& m) {
  std::vector<float> all;
  all.reserve(size_t(m.rows * m.columns));
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.columns; ++c) all.push_back(float(m.value(r, c)));
  return all;
}

std::vector<float> scales_by_block(const ScaledMatrix& m) {
  const int64_t rows = ScaleExtents::up(m.scale_rows(), 4);
  std::vector<float> all(size_t(rows * m.scale_columns()), 0.f);
  for (int64_t r = 0; r < m.scale_rows(); ++r)
    for (int64_t c = 0; c < m.scale_columns(); ++c) all[size_t(c * rows + r)] = m.scale(r, c);
  return all;
}

std::vector<uint8_t> tiled_scales(const ScaledMatrix& m) { return tiled_scales(m, {0, uint32_t(m.rows)}); }

std::vector<uint8_t> tiled_scales(const ScaledMatrix& m, const std::vector<uint32_t>& offsets) {
  std::vector<uint8_t> all;
  for (size_t group = 0; group + 1 < offsets.size(); ++group) {
    const int64_t begin = offsets[group], rows = int64_t(offsets[group + 1]) - begin, columns = m.scale_columns();
    const ScaleExtents extents{rows, columns, ScaleExtents::up(rows, kScaleTileRows),
                               ScaleExtents::up(columns, kScaleTileColumns)};
    const size_t first = all.size();
    all.resize(first + size_t(extents.count()), 0);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        all[first + size_t(extents.at(ScaleLayout::tiles, r, c))] = m.scales[size_t((begin + r) * columns + c)];
  }
  return all;
}

}  // namespace warpwright

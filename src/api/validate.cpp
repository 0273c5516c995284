#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "api/refused.h"
#include "problem/lower.h"

namespace warpwright {
namespace {

constexpr int64_t kSmallestTile = 64;
constexpr int64_t kMostTiles = INT32_MAX;
// Strides of a tensor map are below 2^40 bytes, and no product of these overflows 63 bits.
constexpr int64_t kLargestStride = int64_t(1) << 36;
constexpr int64_t kLargestBatch = 65535;

bool wide(DType t) { return t == DType::fp32 || t == DType::bf16 || t == DType::fp16; }
bool narrow(DType t) { return t == DType::e4m3 || t == DType::e5m2; }

Status check_types(const GemmProblem& p) {
  const DType a = p.a.type, b = p.b.type;
  if (a != DType::bf16 && a != DType::fp16 && !narrow(a)) {
    return refused("a.type = {}: A must be bf16, fp16, e4m3 or e5m2.", name(a));
  }
  if (a != b && !(narrow(a) && narrow(b))) {
    return refused("b.type = {}: A is {}, and B must have its type, or be the other 8-bit type.", name(b), name(a));
  }
  if (!wide(p.d.type) && p.d.type != DType::e4m3) {
    return refused("d.type = {}: D must be fp32, bf16, fp16 or e4m3.", name(p.d.type));
  }
  if (p.beta != 0 && !wide(p.c.type)) return refused("c.type = {}: C must be fp32, bf16 or fp16.", name(p.c.type));
  if (narrow(a) && (p.a.major != Major::K || p.b.major != Major::K)) {
    return refused("{}.major = MN: {} operands must be stored along k.", p.a.major != Major::K ? "a" : "b", name(a));
  }
  if (p.c.major != Major::K || p.d.major != Major::K) {
    return refused("{}.major = MN: C and D are stored [m, n].", p.c.major != Major::K ? "c" : "d");
  }
  if (p.scaling != Scaling::none && !narrow(a)) {
    return refused("scaling = {}: {} operands have no factors, scaling must be none.",
                   p.scaling == Scaling::tensor ? "tensor" : "row_column", name(a));
  }
  if (p.accumulation == Accumulation::promoted && !narrow(a)) {
    return refused("accumulation = promoted: sums of {} products are fp32 already.", name(a));
  }
  return {};
}

// `output`: no two elements may share their place.
Status check_layout(const char* argument, const MatrixLayout& layout, int64_t rows, int64_t columns, int64_t batch,
                    bool output) {
  const auto check_stride = [&](const char* which, int64_t value) -> Status {
    if (value == kPacked) return {};
    if (value < 0) return refused("{}.{} = {}: it must not be negative.", argument, which, value);
    if (value > kLargestStride) return refused("{}.{} = {}: it must be at most 2^36.", argument, which, value);
    return {};
  };
  if (Status s = check_stride("stride", layout.stride); !s) return s;
  if (Status s = check_stride("batch_stride", layout.batch_stride); !s) return s;
  if (rows == 0 || columns == 0 || batch == 0) return {};
  const problem::StoredMatrix m = problem::stored(layout, rows, columns, batch);
  if (m.stride < columns && rows > 1) {
    return refused("{}.stride = {}: a stored row has {} elements, the stride must be at least that.", argument,
                   m.stride, columns);
  }
  // No term exceeds 2^66: in floating point.
  const double last =
      double(batch - 1) * double(m.batch_stride) + double(rows - 1) * double(m.stride) + double(columns);
  if (last * bits(m.type) / 8 >= double(int64_t(1) << 46)) {
    return refused("{}: its {} matrices of {} x {} span more than 2^46 bytes.", argument, batch, rows, columns);
  }
  if (!output || batch == 1) return {};
  const bool behind_each_other = m.batch_stride >= (rows - 1) * m.stride + columns;
  const bool side_by_side = m.stride >= (batch - 1) * m.batch_stride + columns && m.batch_stride >= columns;
  if (!behind_each_other && !side_by_side) {
    return refused("{}.batch_stride = {}: the matrices of the result overlap.", argument, m.batch_stride);
  }
  return {};
}

Status check_epilogue(const GemmProblem& p) {
  const Epilogue& e = p.epilogue;
  if (e.bias != Bias::none && !wide(e.bias_type)) {
    return refused("epilogue.bias_type = {}: the bias must be fp32, bf16 or fp16.", name(e.bias_type));
  }
  if (e.bias != Bias::none && (e.bias_batch_stride < 0 || e.bias_batch_stride > kLargestStride)) {
    return refused("epilogue.bias_batch_stride = {}: it must be from 0 to 2^36.", e.bias_batch_stride);
  }
  if (e.activation == Activation::swiglu) {
    return refused("epilogue.activation = swiglu: it takes pairs of sums, which a dense product does not have.");
  }
  if (e.residual) {
    if (!wide(e.residual_layout.type)) {
      return refused("epilogue.residual_layout.type = {}: the residual must be fp32, bf16 or fp16.",
                     name(e.residual_layout.type));
    }
    if (Status s = check_layout("epilogue.residual_layout", e.residual_layout, p.m, p.n, p.batch, false); !s) return s;
  }
  return {};
}

}  // namespace

Status validate(const GemmProblem& p) {
  if (p.block_scaling != BlockScaling::none) {
    return refused("block_scaling = {}: Hopper has no block-scaled products, it must be none.", name(p.block_scaling));
  }
  if (Status s = check_extent("m", p.m, kLargestExtent); !s) return s;
  if (Status s = check_extent("n", p.n, kLargestExtent); !s) return s;
  if (Status s = check_extent("k", p.k, kLargestExtent); !s) return s;
  if (Status s = check_extent("batch", p.batch, kLargestBatch); !s) return s;
  const auto tiles = [](int64_t extent) { return (extent + kSmallestTile - 1) / kSmallestTile; };
  if (tiles(p.m) * tiles(p.n) > kMostTiles / std::max<int64_t>(p.batch, 1)) {
    return refused("m = {}, n = {}, batch = {}: the result has more than {} tiles of {} x {}.", p.m, p.n, p.batch,
                   kMostTiles, kSmallestTile, kSmallestTile);
  }
  if (Status s = check_types(p); !s) return s;
  const auto operand = [&](const char* argument, const MatrixLayout& layout, int64_t rows) {
    return layout.major == Major::K ? check_layout(argument, layout, rows, p.k, p.batch, false)
                                    : check_layout(argument, layout, p.k, rows, p.batch, false);
  };
  if (Status s = operand("a", p.a, p.m); !s) return s;
  if (Status s = operand("b", p.b, p.n); !s) return s;
  if (p.beta != 0) {
    if (Status s = check_layout("c", p.c, p.m, p.n, p.batch, false); !s) return s;
  }
  if (Status s = check_layout("d", p.d, p.m, p.n, p.batch, true); !s) return s;
  if (!std::isfinite(p.alpha)) return refused("alpha = {}: it must be finite.", p.alpha);
  if (!std::isfinite(p.beta)) return refused("beta = {}: it must be finite.", p.beta);
  if (Status s = check_epilogue(p); !s) return s;
  if (p.alignment < 1 || !std::has_single_bit(unsigned(p.alignment))) {
    return refused("alignment = {}: it must be a power of two.", p.alignment);
  }
  for (const auto& [argument, type] : {std::pair{"A", p.a.type}, {"B", p.b.type}, {"D", p.d.type}}) {
    if (p.alignment * 8 < bits(type)) {
      return refused("alignment = {}: {} has elements of {} bytes, which are aligned to their size.", p.alignment,
                     argument, bits(type) / 8);
    }
  }
  if (p.sm_limit < 0) return refused("sm_limit = {}: it must not be negative.", p.sm_limit);
  return {};
}

}  // namespace warpwright

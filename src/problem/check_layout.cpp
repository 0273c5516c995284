#include "problem/check_layout.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "problem/lower.h"
#include "problem/refused.h"

namespace warpwright::problem {

Status check_layout(const char* argument, const MatrixLayout& layout, int64_t rows, int64_t columns, int64_t batch,
                    bool output) {
  const auto check_stride = [&](const char* which, int64_t value) -> Status {
    if (value == kPacked) return {};
    if (value < 0) return refused(fmt::format("{}.{} = {}: it must not be negative.", argument, which, value));
    if (value > kLargestStride)
      return refused(fmt::format("{}.{} = {}: it must be at most 2^36.", argument, which, value));
    return {};
  };
  if (Status s = check_stride("stride", layout.stride); !s) return s;
  if (Status s = check_stride("batch_stride", layout.batch_stride); !s) return s;
  if (rows == 0 || columns == 0 || batch == 0) return {};
  const StoredMatrix m = stored(layout, rows, columns, batch);
  if (m.stride < columns && rows > 1) {
    return refused(fmt::format("{}.stride = {}: a stored row has {} elements, the stride must be at least that.",
                               argument, m.stride, columns));
  }
  // No term exceeds 2^66: in floating point.
  const double last =
      double(batch - 1) * double(m.batch_stride) + double(rows - 1) * double(m.stride) + double(columns);
  if (last * bits(m.type) / 8 >= double(int64_t(1) << 46)) {
    return refused(
        fmt::format("{}: its {} matrices of {} x {} span more than 2^46 bytes.", argument, batch, rows, columns));
  }
  if (!output || batch == 1) return {};
  const bool behind_each_other = m.batch_stride >= (rows - 1) * m.stride + columns;
  const bool side_by_side = m.stride >= (batch - 1) * m.batch_stride + columns && m.batch_stride >= columns;
  if (!behind_each_other && !side_by_side) {
    return refused(fmt::format("{}.batch_stride = {}: the matrices of the result overlap.", argument, m.batch_stride));
  }
  return {};
}

Status check_layouts(const GemmProblem& p) {
  const auto operand = [&](const char* argument, const MatrixLayout& layout, int64_t rows) {
    return layout.major == Major::K ? check_layout(argument, layout, rows, p.k, p.batch, false)
                                    : check_layout(argument, layout, p.k, rows, p.batch, false);
  };
  const int64_t columns = result_columns(p);
  if (Status s = operand("a", p.a, p.m); !s) return s;
  if (Status s = operand("b", p.b, p.n); !s) return s;
  if (reads_c(p)) {
    if (Status s = check_layout("c", p.c, p.m, columns, p.batch, false); !s) return s;
  }
  if (Status s = check_layout("d", p.d, p.m, columns, p.batch, true); !s) return s;
  const Epilogue& e = p.epilogue;
  if (e.bias != Bias::none && (e.bias_batch_stride < 0 || e.bias_batch_stride > kLargestStride)) {
    return refused(fmt::format("epilogue.bias_batch_stride = {}: it must be from 0 to 2^36.", e.bias_batch_stride));
  }
  return e.residual ? check_layout("epilogue.residual_layout", e.residual_layout, p.m, columns, p.batch, false)
                    : Status();
}

Status check_alignment(const GemmProblem& p) {
  if (p.alignment < 1 || !std::has_single_bit(unsigned(p.alignment))) {
    return refused(fmt::format("alignment = {}: it must be a power of two.", p.alignment));
  }
  for (const auto& [argument, type] : {std::pair{"A", p.a.type}, {"B", p.b.type}, {"D", p.d.type}}) {
    if (p.alignment * 8 < bits(type)) {
      return refused(fmt::format("alignment = {}: {} has elements of {} bytes, which are aligned to their size.",
                                 p.alignment, argument, bits(type) / 8));
    }
  }
  return {};
}

}  // namespace warpwright::problem

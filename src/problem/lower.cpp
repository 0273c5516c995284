#include "problem/lower.h"

#include <fmt/format.h>

#include "formula/formula.h"
#include "problem/words.h"

namespace warpwright::problem {

namespace {
constexpr int64_t kTmaAlignment = 16;
}  // namespace

std::string GemmShape::text() const {
  std::string text =
      fmt::format("{} {} {}x{}x{}", mixed ? fmt::format("{} x {}", name(dtype), name(b_dtype())) : name(dtype),
                  layout_of(a_major, b_major), m, n, k);
  if (batch != 1) text += fmt::format(", batch {}", batch);
  if (epilogue.out != usual_result(dtype)) text += fmt::format(", {} result", name(epilogue.out));
  if (epilogue != factor_and_conversion(epilogue.out)) text += ", epilogue";
  if (scaling != Scaling::none) text += scaling == Scaling::tensor ? ", tensor scales" : ", row and column scales";
  if (promoted) text += ", promoted sums";
  if (block_scaling != BlockScaling::none) text += fmt::format(", {}", name(block_scaling));
  if (load == Mover::threads) {
    text += ", operands not aligned for the TMA";
  } else if (store == Mover::threads) {
    text += ", result not aligned for the TMA";
  }
  return text;
}

int64_t StoredMatrix::bytes() const {
  if (empty()) return 0;
  return ((count - 1) * batch_stride + (rows - 1) * stride + columns) * bits(type) / 8;
}

bool StoredMatrix::rows_fit_tma() const {
  const int64_t size = bits(type) / 8;
  return (rows <= 1 || stride * size % kTmaAlignment == 0) && (count <= 1 || batch_stride * size % kTmaAlignment == 0);
}

StoredMatrix stored(const MatrixLayout& layout, int64_t rows, int64_t columns, int64_t batch) {
  StoredMatrix m{layout.type, rows, columns, batch, layout.stride, layout.batch_stride};
  if (m.stride == kPacked) m.stride = columns;
  if (m.batch_stride == kPacked) m.batch_stride = rows * m.stride;
  if (m.batch_stride == 0) m.count = batch == 0 ? 0 : 1;
  return m;
}

int64_t result_columns(const GemmProblem& p) { return p.epilogue.activation == Activation::swiglu ? p.n / 2 : p.n; }

bool reads_c(const GemmProblem& p) {
  if (p.epilogue.formula.empty()) return p.beta != 0;
  const auto formula = formula::parse(p.epilogue.formula);
  return formula && formula->uses(formula::Name::c);
}

int operations_of(const std::string& text) {
  if (text.empty()) return 0;
  const auto formula = formula::parse(text);
  return formula ? formula->operations() : 0;
}

Lowered lower(const GemmProblem& p) {
  const auto operand = [&](const MatrixLayout& layout, int64_t rows) {
    return layout.major == Major::K ? stored(layout, rows, p.k, p.batch) : stored(layout, p.k, rows, p.batch);
  };
  Lowered low;
  low.a = operand(p.a, p.m);
  low.b = operand(p.b, p.n);
  const int64_t columns = result_columns(p);
  low.c = stored(p.c, p.m, columns, p.batch);
  low.d = stored(p.d, p.m, columns, p.batch);
  low.residual = stored(p.epilogue.residual_layout, p.m, columns, p.batch);
  low.reads_c = reads_c(p);

  GemmShape& s = low.shape;
  s.m = p.m;
  s.n = p.n;
  s.k = p.k;
  s.batch = p.batch;
  s.dtype = p.a.type;
  s.mixed = p.block_scaling == BlockScaling::none && p.a.type != p.b.type;
  s.block_scaling = p.block_scaling;
  s.a_major = p.a.major;
  s.b_major = p.b.major;
  s.scaling = p.scaling;
  s.promoted = p.accumulation == Accumulation::promoted;
  s.deterministic = p.deterministic;
  s.epilogue = factor_and_conversion(p.d.type);
  if (low.reads_c) {
    s.epilogue.source = true;
    s.epilogue.source_type = p.c.type;
  }
  s.epilogue.bias = p.epilogue.bias;
  if (p.epilogue.bias != Bias::none) s.epilogue.bias_type = p.epilogue.bias_type;
  s.epilogue.activation = p.epilogue.activation;
  s.epilogue.residual = p.epilogue.residual;
  if (p.epilogue.residual) s.epilogue.residual_type = p.epilogue.residual_layout.type;
  s.epilogue.quantize = p.epilogue.quantize;
  if (!p.epilogue.formula.empty()) {
    s.epilogue.own = own_id(p.epilogue.formula.c_str());
    s.own_operations = operations_of(p.epilogue.formula);
  }

  const bool aligned = p.alignment >= kTmaAlignment;
  // Without depth A and B are not read, whatever their strides are.
  const bool load = p.k == 0 || (aligned && low.a.rows_fit_tma() && low.b.rows_fit_tma());
  if (!load) s.load = Mover::threads;
  // The TMA stores no less than 16 bytes, so the rows of D must end at a multiple of them too.
  const bool whole = low.d.columns * bits(low.d.type) / 8 % kTmaAlignment == 0;
  low.d_fits_tma = aligned && whole && low.d.rows_fit_tma();
  if (!load || !low.d_fits_tma) s.store = Mover::threads;
  return low;
}

GemmProblem plain_product(int64_t m, int64_t n, int64_t k, DType dtype) {
  GemmProblem problem{.m = m, .n = n, .k = k};
  problem.a.type = problem.b.type = dtype;
  problem.d.type = usual_result(dtype);
  return problem;
}

}  // namespace warpwright::problem

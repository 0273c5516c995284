#include "reference/own_epilogue.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "reference/workload_parts.h"

namespace warpwright::reference {

double OwnEpilogue::value(double sum, const Array* bias, const GroupPart& part, int64_t row, int64_t column) const {
  const int64_t of_matrix = product_.shared_bias ? 0 : part.matrix;
  const double added =
      bias == nullptr ? 0 : element(*bias, product_.row_bias ? row : of_matrix * product_.shape.n + column);
  return expected_number(formula_value(*formula_, data_,
                                       {.x = sum,
                                        .bias = added,
                                        .row_bias = added,
                                        .beta = product_.beta,
                                        .row = int32_t(row),
                                        .column = int32_t(column),
                                        .batch = int32_t(part.batch)}));
}

Array bias_of(const GroupedProduct& product, Data data, uint64_t seed) {
  const int64_t matrices = product.shared_bias ? 1 : product.matrices_given();
  Array bias = product.row_bias ? new_array("bias", product.bias_type, 1, product.shape.m)
                                : new_array("bias", product.bias_type, matrices, product.shape.n);
  if (product.has_bias()) fill(bias, data, seed * 4 + 5);
  if (product.formula.empty() && data == Data::integers) refine(bias);
  return bias;
}

void apply_own(const GroupedProduct& product, uint64_t seed, Workload& w) {
  const OwnEpilogue own(product, w.data);
  if (!own) return;
  Array bias = bias_of(product, w.data, seed);
  const int64_t columns = product.columns();
  for (const GroupPart& part : parts_of(product)) {
    for (int64_t r = part.first; r < part.end; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        double& element = w.expected[size_t((part.out + r - part.first) * columns + c)];
        element = own.value(element, product.has_bias() ? &bias : nullptr, part, r, c);
      }
    }
  }
  if (product.has_bias()) w.arrays.insert(w.arrays.end() - 1, std::move(bias));
}

}  // namespace warpwright::reference

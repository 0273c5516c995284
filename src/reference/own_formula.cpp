// The functions of own_epilogue.h that dense products need too.
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "reference/own_epilogue.h"

namespace warpwright::reference {

std::optional<formula::Formula> formula_of(const std::string& text) {
  if (text.empty()) return {};
  const auto formula = formula::parse(text);
  if (!formula) throw std::invalid_argument(formula.status().message());
  return *formula;
}

double formula_value(const formula::Formula& formula, Data data, const formula::Values<double>& v) {
  if (data == Data::normal) return formula.value(v);
  return double(formula.value(formula::Values<float>{float(v.x), float(v.c), float(v.bias), float(v.row_bias),
                                                     float(v.residual), float(v.beta), v.row, v.column, v.batch}));
}

double expected_number(double value) {
  return std::isnan(value) ? std::copysign(std::numeric_limits<double>::quiet_NaN(), -1) : value;
}

}  // namespace warpwright::reference

// A user-defined epilogue in a reference: of whole numbers with the bits of the kernels, which are compared exactly,
// otherwise in float64, by other functions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "formula/formula.h"
#include "reference/group_parts.h"
#include "reference/workload.h"

namespace warpwright::reference {

// Nothing where there is no text. Throws for one that cannot be read: no problem is made of such a text.
std::optional<formula::Formula> formula_of(const std::string& text);
double formula_value(const formula::Formula& formula, Data data, const formula::Values<double>& values);
// As Workload::expected has what is a NaN.
double expected_number(double value);

// For a product by groups.
class OwnEpilogue {
 public:
  OwnEpilogue(const GroupedProduct& product, Data data)
      : product_(product), formula_(formula_of(product.formula)), data_(data) {}
  explicit operator bool() const { return formula_.has_value(); }
  // For a sum in row `row` and column `column` of its group; `bias` is null where the product has none.
  double value(double sum, const Array* bias, const GroupPart& part, int64_t row, int64_t column) const;

 private:
  const GroupedProduct& product_;
  std::optional<formula::Formula> formula_;
  Data data_;
};
// The bias of a product that has one for its formula alone.
Array bias_of(const GroupedProduct& product, Data data, uint64_t seed);
// For a workload whose expected elements are the sums: gives it the bias, and applies the text to them.
void apply_own(const GroupedProduct& product, uint64_t seed, Workload& w);

}  // namespace warpwright::reference

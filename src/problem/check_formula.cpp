#include "problem/check_formula.h"

#include <fmt/format.h>

#include "formula/formula.h"
#include "problem/refused.h"

namespace warpwright::problem {

Status check_formula(const GemmProblem& p) {
  using formula::Name;
  const Epilogue& e = p.epilogue;
  if (e.formula.empty()) return {};
  const auto formula = formula::parse(e.formula);
  if (!formula) return formula.status();
  if (e.activation != Activation::none) {
    return refused(
        fmt::format("epilogue.activation = {}: the formula takes its place; {}(x) in the formula does the same.",
                    name(e.activation), name(e.activation)));
  }
  const bool column = formula->uses(Name::bias), row = formula->uses(Name::row_bias);
  if (column && row) return refused("epilogue: the formula names bias and row_bias; a product has one of them.");
  const Bias wanted = column ? Bias::per_column : row ? Bias::per_row : Bias::none;
  if (e.bias != wanted) {
    if (e.bias == Bias::none)
      return refused(fmt::format("bias: the formula names {}, and none is given.", name(wanted)));
    if (wanted == Bias::none) return refused("bias: it is given, and the formula does not name it.");
    return refused(fmt::format("bias: the formula names {}, and {} is given.", name(wanted), name(e.bias)));
  }
  if (formula->uses(Name::residual) && !e.residual) {
    return refused("residual: the formula names it, and none is given.");
  }
  if (e.residual && !formula->uses(Name::residual)) {
    return refused("residual: it is given, and the formula does not name it.");
  }
  if (p.beta != 0 && !formula->uses(Name::beta)) {
    return refused(fmt::format("beta = {}: the formula does not name it; C is read where it names c.", p.beta));
  }
  return {};
}

}  // namespace warpwright::problem

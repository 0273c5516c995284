#include "problem/check_formula.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "formula/formula.h"
#include "problem/refused.h"

namespace warpwright::problem {

namespace {

using formula::Name;

// A bias is the one that is named.
Status check_bias(const formula::Formula& formula, Bias given) {
  const bool column = formula.uses(Name::bias), row = formula.uses(Name::row_bias);
  if (column && row) return refused("epilogue: the formula names bias and row_bias; a product has one of them.");
  const Bias wanted = column ? Bias::per_column : row ? Bias::per_row : Bias::none;
  if (given == wanted) return {};
  if (given == Bias::none) return refused(fmt::format("bias: the formula names {}, and none is given.", name(wanted)));
  if (wanted == Bias::none) return refused("bias: it is given, and the formula does not name it.");
  return refused(fmt::format("bias: the formula names {}, and {} is given.", name(wanted), name(given)));
}

}  // namespace

Status check_formula(const GemmProblem& p) {
  const Epilogue& e = p.epilogue;
  if (e.formula.empty()) return {};
  const auto formula = formula::parse(e.formula);
  if (!formula) return formula.status();
  if (e.activation != Activation::none) {
    return refused(
        fmt::format("epilogue.activation = {}: the formula takes its place; {}(x) in the formula does the same.",
                    name(e.activation), name(e.activation)));
  }
  if (Status s = check_bias(*formula, e.bias); !s) return s;
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

Status check_formula(const GroupedProblem& p) {
  if (p.formula.empty()) {
    if (p.beta == 0) return {};
    return refused(fmt::format("beta = {}: only a formula names it in products by groups.", p.beta));
  }
  const auto formula = formula::parse(p.formula);
  if (!formula) return formula.status();
  for (const Name name : {Name::c, Name::residual}) {
    if (!formula->uses(name)) continue;
    return refused(
        fmt::format("epilogue: the formula names {}, and products with blockwise scales or by groups have "
                    "none; they have x, bias, row_bias, beta, row, column and batch.",
                    formula::word(name)));
  }
  if (p.activation != Activation::none) {
    return refused(fmt::format("activation = {}: the formula takes its place, and is given one sum at a time.",
                               name(p.activation)));
  }
  if (p.out_scaling != BlockScaling::none) {
    return refused(fmt::format("out_scaling = {}: D with block scales is swiglu of the sums, and has no formula.",
                               name(p.out_scaling)));
  }
  if (p.accumulate) return refused("accumulate = true: a formula gives what D is, and D is not added to.");
  if (p.groups == Groups::by_depth && (formula->uses(Name::bias) || formula->uses(Name::row_bias))) {
    return refused("bias: groups along k have none, and the formula names one.");
  }
  if (!std::isfinite(p.beta)) return refused(fmt::format("beta = {}: it must be finite.", p.beta));
  if (p.beta != 0 && !formula->uses(Name::beta)) {
    return refused(fmt::format("beta = {}: the formula does not name it.", p.beta));
  }
  return check_bias(*formula, p.bias);
}

}  // namespace warpwright::problem

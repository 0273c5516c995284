#include "cli/problem/gemm_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/simulation.h"
#include "formula/formula.h"
#include "problem/validate.h"
#include "problem/words.h"

namespace warpwright::cli {
namespace {

constexpr const char* kResidualWord = "residual";
constexpr const char* kQuantizeWord = "quantize";

// The value whose word is this one; `none` is no word of an option that joins them.
template <class E, size_t N>
std::optional<E> value_of(const E (&all)[N], const std::string& word) {
  for (const E value : all)
    if (value != E() && word == name(value)) return value;
  return std::nullopt;
}

// The operands that a formula names are there.
void read_formula(const std::string& text, Epilogue& e) {
  e.formula = formula_of(text);
  e.quantize = e.formula != text;
  const auto formula = formula::parse(e.formula);
  if (!formula) throw UsageError(formula.status().message());
  e.bias = formula->uses(formula::Name::row_bias) ? Bias::per_row
           : formula->uses(formula::Name::bias)   ? Bias::per_column
                                                  : Bias::none;
  e.residual = formula->uses(formula::Name::residual);
}

void read_epilogue(const std::string& text, Epilogue& e) {
  for (const std::string& word : joined_words("--epilogue", text)) {
    if (const auto bias = value_of(kBiases, word)) {
      e.bias = *bias;
    } else if (const auto activation = value_of(kActivations, word); activation) {
      if (e.activation != Activation::none)
        throw UsageError(fmt::format("--epilogue {}: it has two activations", text));
      e.activation = *activation;
    } else if (word == kResidualWord) {
      e.residual = true;
    } else if (word == kQuantizeWord) {
      e.quantize = true;
    } else {
      throw UsageError(
          fmt::format("--epilogue {}: '{}' is not one of {}, joined by '+'", text, word, listed(dense_epilogues())));
    }
  }
}

void read_scaling(const std::string& text, GemmProblem& p) {
  for (const std::string& word : joined_words("--scaling", text)) {
    if (const auto scaling = value_of(kScalings, word)) {
      p.scaling = *scaling;
    } else if (const auto accumulation = value_of(kAccumulations, word)) {
      p.accumulation = *accumulation;
    } else if (const auto blocks = value_of(kBlockScalings, word)) {
      p.block_scaling = *blocks;
    } else if (word != name(Scaling::none)) {
      throw UsageError(
          fmt::format("--scaling {}: '{}' is not one of {}, joined by '+'", text, word, listed(dense_scalings())));
    }
  }
}

// The elements that have such factors. Without --dtype the options say bf16.
void set_elements(const ProblemOptions& o, GemmProblem& p) {
  const bool bytes = p.block_scaling == BlockScaling::mxfp8 || p.block_scaling == BlockScaling::w4a8;
  if (p.a.type == DType::bf16) p.a.type = bytes ? DType::e4m3 : DType::e2m1;
  p.b.type = b_dtype(p.block_scaling, p.a.type);
  if (o.alpha != 1 || o.beta != 0) {
    throw UsageError(fmt::format("--alpha, --beta: {} products have neither", name(p.block_scaling)));
  }
}

}  // namespace

std::vector<std::string> dense_epilogues() {
  std::vector<std::string> words = {name(Bias::per_column), name(Bias::per_row)};
  for (const Activation a : kActivations)
    if (a != Activation::none) words.emplace_back(name(a));
  words.insert(words.end(), {kResidualWord, kQuantizeWord});
  return words;
}
std::vector<std::string> dense_scalings() {
  std::vector<std::string> words;
  for (const Scaling s : kScalings) words.emplace_back(name(s));
  words.emplace_back(name(Accumulation::promoted));
  for (const BlockScaling s : kBlockScalings)
    if (s != BlockScaling::none) words.emplace_back(name(s));
  return words;
}

// Words joined by '+' have no other sign, and none of them is x.
bool is_formula(const std::string& epilogue) {
  if (epilogue.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_+") != std::string::npos) return true;
  const auto words = epilogue.empty() ? std::vector<std::string>() : split(epilogue, '+');
  return std::find(words.begin(), words.end(), "x") != words.end();
}

std::string formula_of(const std::string& epilogue) {
  const std::string behind = fmt::format("+{}", kQuantizeWord);
  return epilogue.ends_with(behind) ? epilogue.substr(0, epilogue.size() - behind.size()) : epilogue;
}

GemmProblem gemm_problem_of(const ProblemOptions& o) {
  if (o.op != "dense") throw UsageError(fmt::format("op = {}: only dense has a kernel", o.op));
  if (o.a_rows != 0) throw UsageError("--a-rows: only --op grouped_contiguous gathers its rows");
  if (o.groups != 1) throw UsageError(fmt::format("groups = {}: a dense product has exactly 1 group", o.groups));
  GemmProblem p;
  p.m = o.m;
  p.n = o.n;
  p.k = o.k;
  p.batch = o.batch;
  p.a.type = p.b.type = dtype_of(o.dtype);
  if (!o.scaling.empty()) read_scaling(o.scaling, p);
  if (p.block_scaling != BlockScaling::none) set_elements(o, p);
  p.d.type = o.out_dtype.empty() ? usual_result(p.a.type) : dtype_of(o.out_dtype);
  p.c.type = p.epilogue.residual_layout.type = bits(p.d.type) == 8 ? DType::bf16 : p.d.type;
  // The first letter is A: n is [m, k]. The second is B: n is [k, n].
  p.a.major = o.layout[0] == 'n' ? Major::K : Major::MN;
  p.b.major = o.layout[1] == 't' ? Major::K : Major::MN;
  p.alpha = float(o.alpha);
  p.beta = float(o.beta);
  if (is_formula(o.epilogue)) {
    read_formula(o.epilogue, p.epilogue);
  } else if (!o.epilogue.empty()) {
    read_epilogue(o.epilogue, p.epilogue);
  }
  p.plan = o.plan;
  if (const Status s = problem::validate(p, arch_of(o)); !s) throw UsageError(s.message());
  return p;
}

std::string problem_text(const GemmProblem& p) {
  const std::string shape = fmt::format("{}x{}x{} {}", p.m, p.n, p.k,
                                        p.block_scaling == BlockScaling::none ? name(p.a.type) : name(p.block_scaling));
  return p.batch == 1 ? shape : fmt::format("{} x {}", p.batch, shape);
}

}  // namespace warpwright::cli

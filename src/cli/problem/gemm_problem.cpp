#include "cli/problem/gemm_problem.h"

#include <fmt/format.h>

#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/simulation.h"
#include "problem/validate.h"
#include "problem/words.h"

namespace warpwright::cli {
namespace {

DType dtype_of(const std::string& word) {
  DType type = DType::bf16;
  if (!parse_dtype(word.c_str(), type)) throw UsageError(fmt::format("'{}' is not a type", word));
  return type;
}

void read_epilogue(const std::string& text, Epilogue& e) {
  const std::vector<std::string> known = {"bias", "row_bias", "relu",     "gelu",    "gelu_erf",
                                          "silu", "swiglu",   "residual", "quantize"};
  for (const std::string& word : joined_words("--epilogue", text)) {
    const auto activation = [&](Activation a) {
      if (e.activation != Activation::none)
        throw UsageError(fmt::format("--epilogue {}: it has two activations", text));
      e.activation = a;
    };
    if (word == "bias") {
      e.bias = Bias::per_column;
    } else if (word == "row_bias") {
      e.bias = Bias::per_row;
    } else if (word == "relu") {
      activation(Activation::relu);
    } else if (word == "gelu") {
      activation(Activation::gelu_tanh);
    } else if (word == "gelu_erf") {
      activation(Activation::gelu_erf);
    } else if (word == "silu") {
      activation(Activation::silu);
    } else if (word == "swiglu") {
      activation(Activation::swiglu);
    } else if (word == "residual") {
      e.residual = true;
    } else if (word == "quantize") {
      e.quantize = true;
    } else {
      throw UsageError(fmt::format("--epilogue {}: '{}' is not one of {}, joined by '+'", text, word, listed(known)));
    }
  }
}

void read_scaling(const std::string& text, GemmProblem& p) {
  for (const std::string& word : joined_words("--scaling", text)) {
    if (word == "tensor") {
      p.scaling = Scaling::tensor;
    } else if (word == "row_column") {
      p.scaling = Scaling::row_column;
    } else if (word == "promoted") {
      p.accumulation = Accumulation::promoted;
    } else if (const auto blocks = problem::parse_block_scaling(word)) {
      p.block_scaling = *blocks;
    } else {
      throw UsageError(fmt::format(
          "--scaling {}: '{}' is not one of none, tensor, row_column, promoted, joined by '+', or for sm100 mxfp8, "
          "mxfp4, nvfp4, w4a8, blockwise",
          text, word));
    }
  }
}

// The elements that have such factors. bf16 is what --dtype says when nobody said anything.
void set_elements(const ProblemOptions& o, GemmProblem& p) {
  const bool bytes = p.block_scaling == BlockScaling::mxfp8 || p.block_scaling == BlockScaling::w4a8;
  if (p.a.type == DType::bf16) p.a.type = bytes ? DType::e4m3 : DType::e2m1;
  p.b.type = b_dtype(p.block_scaling, p.a.type);
  if (o.alpha != 1 || o.beta != 0) {
    throw UsageError(fmt::format("--alpha, --beta: {} products have neither", problem::name(p.block_scaling)));
  }
}

}  // namespace

GemmProblem gemm_problem_of(const ProblemOptions& o) {
  if (o.op != "dense") throw UsageError(fmt::format("op = {}: only dense has a kernel", o.op));
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
  if (!o.epilogue.empty()) read_epilogue(o.epilogue, p.epilogue);
  p.plan = o.plan;
  if (const Status s = problem::validate(p, arch_of(o)); !s) throw UsageError(s.message());
  return p;
}

std::string problem_text(const GemmProblem& p) {
  const std::string shape =
      fmt::format("{}x{}x{} {}", p.m, p.n, p.k,
                  p.block_scaling == BlockScaling::none ? name(p.a.type) : problem::name(p.block_scaling));
  return p.batch == 1 ? shape : fmt::format("{} x {}", p.batch, shape);
}

}  // namespace warpwright::cli

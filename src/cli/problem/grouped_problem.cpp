#include "cli/problem/grouped_problem.h"

#include <fmt/format.h>

#include <string>

#include "catalog/instance.h"
#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/problem/gemm_problem.h"
#include "cli/simulation.h"
#include "formula/formula.h"
#include "problem/validate.h"
#include "problem/words.h"

namespace warpwright::cli {
namespace {

// The bias that a formula names is there.
void read_formula(const std::string& text, GroupedProblem& p) {
  p.formula = formula_of(text);
  if (p.formula != text) {
    throw UsageError(
        fmt::format("--epilogue {}: a result of these products has the factors that the kernel finds; "
                    "leave out +quantize",
                    text));
  }
  const auto formula = formula::parse(p.formula);
  if (!formula) throw UsageError(formula.status().message());
  p.bias = formula->uses(formula::Name::row_bias) ? Bias::per_row
           : formula->uses(formula::Name::bias)   ? Bias::per_column
                                                  : Bias::none;
}

void read_epilogue(const std::string& text, GroupedProblem& p) {
  for (const std::string& word : joined_words("--epilogue", text)) {
    if (word == "swiglu") {
      p.activation = Activation::swiglu;
    } else if (word == "bias") {
      p.bias = Bias::per_column;
    } else {
      throw UsageError(fmt::format(
          "--epilogue {}: '{}' is not one of swiglu, bias, joined by '+', and it is no formula", text, word));
    }
  }
}

// On Blackwell: blockwise scales, or factors of blocks that the tensor core applies.
void set_blackwell(const ProblemOptions& o, GroupedProblem& p) {
  const std::string scaling = o.scaling.empty() ? "blockwise" : o.scaling;
  const auto blocks = problem::parse_block_scaling(scaling);
  if (scaling != "blockwise" && (!blocks || *blocks == BlockScaling::none)) {
    throw UsageError(fmt::format("--scaling {}: for sm100 it is one of mxfp8, mxfp4, nvfp4, w4a8, blockwise", scaling));
  }
  if (p.groups == Groups::none && blocks) {
    throw UsageError(fmt::format("--scaling {}: op = blockwise has blockwise scales", scaling));
  }
  p.scaling = blocks.value_or(BlockScaling::none);
  // For groups along k, --dtype is the type of the operands: they have no block scales.
  if (p.groups == Groups::by_depth && !blocks) return;
  const bool four = p.scaling == BlockScaling::mxfp4 || p.scaling == BlockScaling::nvfp4;
  // Without --dtype the options say bf16.
  p.type = o.dtype == "bf16" ? (four ? DType::e2m1 : DType::e4m3) : dtype_of(o.dtype);
  if (p.activation != Activation::swiglu) return;
  if (!blocks) throw UsageError(fmt::format("--epilogue swiglu: {} {} products do not have it", scaling, o.op));
  // The next product takes D as it took A.
  p.out_scaling = p.scaling == BlockScaling::w4a8 ? BlockScaling::mxfp8 : p.scaling;
  if (o.out_dtype.empty()) p.out = four ? DType::e2m1 : DType::e4m3;
  // An instance fixes what the options have no word for.
  const auto named = catalog::parse_instance(o.plan);
  const auto* c = named ? named->as<GroupedGemmSm100Config>() : nullptr;
  p.clamped_swiglu = c != nullptr && c->clamped_swiglu;
}

}  // namespace

bool is_grouped(const ProblemOptions& o) {
  return o.op != "dense" || (arch_of(o) == Arch::sm100 && o.scaling == "blockwise");
}

GroupedProblem grouped_problem_of(const ProblemOptions& o) {
  const auto refuse_unless = [&](bool usual, const char* option) {
    if (!usual) throw UsageError(fmt::format("{}: only --op dense has it, and op = {}", option, o.op));
  };
  const bool own = is_formula(o.epilogue);
  const bool adds = !own && o.op == "blockwise" && o.beta == 1;
  refuse_unless(o.alpha == 1 && (o.beta == 0 || adds || own), "--alpha, --beta");
  refuse_unless(o.batch == 1, "--batch");
  GroupedProblem p;
  const Arch arch = arch_of(o);
  if (arch != Arch::sm90 && arch != Arch::sm100) {
    throw UsageError(
        fmt::format("target = {}: op = {} has kernels for sm90 and sm100, and sim:sm90 and sim:sm100", o.target, o.op));
  }
  p.groups = problem::parse_operation(o.op).value_or(Groups::none);
  p.m = o.m;
  p.n = o.n;
  p.k = o.k;
  p.group_count = o.groups;
  p.gathered = o.a_rows != 0;
  p.a_rows = o.a_rows;
  p.type = o.op == "blockwise" && o.dtype == "bf16" ? DType::e4m3 : dtype_of(o.dtype);
  if (p.groups == Groups::by_depth) {
    p.out = DType::fp32;  // what a gradient is kept in
    if (p.type == DType::e4m3) p.b_scale_rows = 1;
  }
  if (!o.out_dtype.empty()) p.out = dtype_of(o.out_dtype);
  if (own) {
    read_formula(o.epilogue, p);
    p.beta = float(o.beta);
  } else if (!o.epilogue.empty()) {
    read_epilogue(o.epilogue, p);
  }
  p.accumulate = adds || (!own && p.groups == Groups::by_depth && p.out == DType::fp32);
  p.a_major = o.layout[0] == 'n' ? Major::K : Major::MN;
  p.b_major = o.layout[1] == 't' ? Major::K : Major::MN;
  p.plan = o.plan;
  if (arch == Arch::sm100) {
    set_blackwell(o, p);
    if (const Status s = problem::validate(p, arch); !s) throw UsageError(s.message());
    return p;
  }
  if (o.scaling == "blockwise_rows") {
    p.b_scale_rows = 1;
  } else if (!o.scaling.empty() && (o.scaling != "blockwise" || p.b_scale_rows == 1)) {
    throw UsageError(
        fmt::format("--scaling {}: for sm90 and op = {} it is blockwise or blockwise_rows", o.scaling, o.op));
  }
  if (!o.scaling.empty() && p.type != DType::e4m3) {
    throw UsageError(fmt::format("--scaling {}: {} operands have no scale factors", o.scaling, name(p.type)));
  }
  if (const Status s = validate(p); !s) throw UsageError(s.message());
  return p;
}

std::string problem_text(const ProblemOptions& o, const GroupedProblem& p) {
  const std::string shape =
      fmt::format("{}x{}x{} {}{}{}", p.m, p.n, p.k, p.scaling == BlockScaling::none ? name(p.type) : name(p.scaling),
                  o.layout == "nt" ? "" : " ", o.layout == "nt" ? "" : o.layout);
  if (p.groups == Groups::none) return fmt::format("{} ({})", shape, o.op);
  const std::string gathered = p.gathered ? fmt::format(", gathered from {} rows", p.a_rows) : "";
  return fmt::format("{}, {} groups ({}){}", shape, p.group_count, o.op, gathered);
}

}  // namespace warpwright::cli

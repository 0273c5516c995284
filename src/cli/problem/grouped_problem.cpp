#include "cli/problem/grouped_problem.h"

#include <fmt/format.h>

#include <string>

#include "choice/tuned_grouped.h"
#include "cli/commands.h"
#include "cli/line/arguments.h"

namespace warpwright::cli {
namespace {

DType dtype_of(const std::string& word) {
  DType type = DType::bf16;
  if (!parse_dtype(word.c_str(), type)) throw UsageError(fmt::format("'{}' is not a type", word));
  return type;
}

void read_epilogue(const std::string& text, GroupedProblem& p) {
  for (const std::string& word : joined_words("--epilogue", text)) {
    if (word == "swiglu") {
      p.activation = Activation::swiglu;
    } else if (word == "bias") {
      p.bias = Bias::per_column;
    } else {
      throw UsageError(fmt::format("--epilogue {}: '{}' is not one of swiglu, bias, joined by '+'", text, word));
    }
  }
}

}  // namespace

GroupedProblem grouped_problem_of(const ProblemOptions& o) {
  const auto refuse_unless = [&](bool usual, const char* option) {
    if (!usual) throw UsageError(fmt::format("{}: only --op dense has it, and op = {}", option, o.op));
  };
  refuse_unless(o.layout == "nt", "--layout");
  refuse_unless(o.alpha == 1 && o.beta == 0, "--alpha, --beta");
  refuse_unless(o.batch == 1, "--batch");
  GroupedProblem p;
  p.groups = choice::groups_of(*problem::parse_operation(o.op));
  p.m = o.m;
  p.n = o.n;
  p.k = o.k;
  p.group_count = o.groups;
  p.type = o.op == "blockwise" && o.dtype == "bf16" ? DType::e4m3 : dtype_of(o.dtype);
  if (p.groups == Groups::by_depth) {
    p.out = DType::fp32;  // what a gradient is kept in
    if (p.type == DType::e4m3) p.b_scale_rows = 1;
  }
  if (!o.out_dtype.empty()) p.out = dtype_of(o.out_dtype);
  if (!o.epilogue.empty()) read_epilogue(o.epilogue, p);
  p.accumulate = p.groups == Groups::by_depth && p.out == DType::fp32;
  if (o.scaling == "blockwise_rows") {
    p.b_scale_rows = 1;
  } else if (!o.scaling.empty() && (o.scaling != "blockwise" || p.b_scale_rows == 1)) {
    throw UsageError(
        fmt::format("--scaling {}: for sm90 and op = {} it is blockwise or blockwise_rows", o.scaling, o.op));
  }
  if (!o.scaling.empty() && p.type != DType::e4m3) {
    throw UsageError(fmt::format("--scaling {}: {} operands have no scale factors", o.scaling, name(p.type)));
  }
  p.plan = o.plan;
  if (const Status s = validate(p); !s) throw UsageError(s.message());
  return p;
}

std::string problem_text(const ProblemOptions& o, const GroupedProblem& p) {
  const std::string shape = fmt::format("{}x{}x{} {}", p.m, p.n, p.k, name(p.type));
  return p.groups == Groups::none ? fmt::format("{} ({})", shape, o.op)
                                  : fmt::format("{}, {} groups ({})", shape, p.group_count, o.op);
}

}  // namespace warpwright::cli

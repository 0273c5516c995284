#include "cli/gemm_grouped.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/simulation.h"
#include "runtime/grouped_check.h"

namespace warpwright::cli {
namespace {

DType dtype_of(const std::string& word) {
  DType type = DType::bf16;
  if (!parse_dtype(word.c_str(), type)) throw UsageError(fmt::format("'{}' is not a type", word));
  return type;
}

GroupedProblem problem_of(const ProblemOptions& o) {
  const auto refuse_unless = [&](bool usual, const char* option) {
    if (!usual) throw UsageError(fmt::format("{}: only --op dense has it, and op = {}", option, o.op));
  };
  refuse_unless(o.layout == "nt", "--layout");
  refuse_unless(o.alpha == 1 && o.beta == 0, "--alpha, --beta");
  refuse_unless(o.epilogue.empty(), "--epilogue");
  refuse_unless(o.scaling.empty(), "--scaling");
  refuse_unless(o.batch == 1, "--batch");
  GroupedProblem p;
  if (o.op == "grouped_contiguous") {
    p.groups = Groups::contiguous;
  } else if (o.op == "grouped_masked") {
    p.groups = Groups::masked;
  } else if (o.op != "blockwise") {
    throw UsageError(fmt::format("op = {}: it has no kernel", o.op));
  }
  p.m = o.m;
  p.n = o.n;
  p.k = o.k;
  p.group_count = o.groups;
  p.type = o.op == "blockwise" && o.dtype == "bf16" ? DType::e4m3 : dtype_of(o.dtype);
  if (!o.out_dtype.empty()) p.out = dtype_of(o.out_dtype);
  p.plan = o.plan;
  if (const Status s = validate(p); !s) throw UsageError(s.message());
  return p;
}

// The kernel that stands for the problem in the simulator.
const runtime::Example& example_for(const GroupedProblem& p) {
  std::string name = p.groups == Groups::none         ? p.m <= 8 ? "blockwise_skinny" : "blockwise_gemm"
                     : p.groups == Groups::contiguous ? "grouped_contiguous"
                                                      : "grouped_masked";
  if (p.type == DType::bf16) name += "_bf16";
  if (!p.plan.empty() && p.plan != name) {
    throw UsageError(fmt::format("plan = {}: in the simulator {} serves this problem.", p.plan, name));
  }
  if (p.out != DType::bf16)
    throw UsageError(fmt::format("out-dtype = {}: {} writes bf16.", warpwright::name(p.out), name));
  const runtime::Example* example = runtime::find_example(name);
  if (example == nullptr) throw UsageError(fmt::format("{} is not in this build", name));
  return *example;
}

std::string problem_text(const ProblemOptions& o, const GroupedProblem& p) {
  const std::string shape = fmt::format("{}x{}x{} {}", p.m, p.n, p.k, name(p.type));
  return p.groups == Groups::none ? shape : fmt::format("{}, {} groups ({})", shape, p.group_count, o.op);
}

int simulate(const ProblemOptions& options, const GroupedProblem& p, Output& out) {
  const runtime::Example& example = example_for(p);
  runtime::Problem size;
  size.m = p.m;
  size.n = p.n;
  size.k = p.k;
  check_simulated_size(size, out);
  const auto begin = std::chrono::steady_clock::now();
  const auto workload =
      grouped_product_workload(runtime::sample_product(p, options.seed), runtime::Data::normal, options.seed);
  const Swept swept = sweep(example, workload, modes_of(options, *example.plan), 0, example.name);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json document = {{"ok", swept.ok()},      {"target", "sim:sm90"},         {"kernel", example.plan->kernel},
                   {"plan", example.name},  {"instance", example.instance}, {"max_rel_error", swept.max_rel_error},
                   {"wall_s", wall},        {"predicted_us", nullptr},      {"runs", swept.runs},
                   {"checks", swept.checks}};
  if (swept.ok()) document["predicted_us"] = swept.predicted_us;
  if (!swept.ok()) document["report"] = swept.report;
  Table table;
  table.row({"kernel", fmt::format("{} ({})", example.name, example.instance)});
  table.row({"target", "sim:sm90"});
  table.row({"problem", problem_text(options, p)});
  table.row({"result", swept.ok() ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", swept.max_rel_error)});
  table.row({"runs", fmt::format("{} ({:.1f} s)", swept.runs, wall)});
  out.document(document);
  out.table(table);
  if (swept.ok()) return exit_ok;
  out.line(swept.report);
  return exit_wrong;
}

[[noreturn]] void fail(const Status& status) {
  if (status.code() == Code::missing) throw MissingError(status.message());
  if (status.code() == Code::failed) throw std::runtime_error(status.message());
  throw UsageError(status.message());
}

int run_on_gpu(const ProblemOptions& options, const GroupedProblem& p, Output& out) {
  if (!options.landing.empty() || !options.schedule.empty() || options.seeds != 0) {
    throw UsageError("--landing, --schedule and --seeds are for a simulator; use --target sim:sm90");
  }
  if (cuda_switched_off()) throw MissingError("--target sm90 needs CUDA, and WARPWRIGHT_CUDA=off switches it off");
  runtime::GemmOutcome outcome;
  const auto product = runtime::sample_product(p, options.seed);
  if (const Status s = runtime::check_grouped(p, product, {.seed = options.seed, .timed = true}, outcome); !s) fail(s);
  const runtime::Verdict& verdict = outcome.verdict;
  const char* const kernel = outcome.plan.starts_with("skinny") ? "skinny_blockwise" : "grouped_gemm";
  Json document = {{"ok", verdict.ok},
                   {"target", "sm90"},
                   {"kernel", kernel},
                   {"plan", outcome.plan},
                   {"reason", outcome.explanation},
                   {"max_rel_error", verdict.max_rel_error},
                   {"predicted_us", nullptr},
                   {"measured_us", outcome.measured_us},
                   {"device", outcome.device}};
  Table table;
  table.row({"kernel", fmt::format("{} ({})", kernel, outcome.plan)});
  table.row({"target", fmt::format("sm90 ({})", outcome.device)});
  table.row({"problem", problem_text(options, p)});
  table.row({"result", verdict.ok ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", verdict.max_rel_error)});
  table.row({"measured", fmt::format("{:.1f} us", outcome.measured_us)});
  out.document(document);
  out.table(table);
  return verdict.ok ? exit_ok : exit_wrong;
}

}  // namespace

int run_grouped_gemm(const ProblemOptions& options, Output& out) {
  const GroupedProblem problem = problem_of(options);
  if (options.target == "sm90" || (options.target == "auto" && can_use_gpu())) {
    return run_on_gpu(options, problem, out);
  }
  if (options.target != "auto" && options.target != "sim:sm90") {
    throw UsageError(
        fmt::format("target = {}: op = {} has kernels for sm90 and sim:sm90.", options.target, options.op));
  }
  return simulate(options, problem, out);
}

}  // namespace warpwright::cli

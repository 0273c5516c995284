#include "cli/gemm_grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/blackwell_problem.h"
#include "cli/commands.h"
#include "cli/grouped_problem.h"
#include "cli/simulation.h"
#include "runtime/grouped_check.h"
#include "sim/timing.h"

namespace warpwright::cli {
namespace {

// The kernel that stands for the problem in the simulator, and the type of its result.
struct StandIn {
  std::string name;
  DType out = DType::bf16;
};
StandIn stand_in(const GroupedProblem& p) {
  const std::string bf16 = p.type == DType::bf16 ? "_bf16" : "";
  if (p.activation != Activation::none || p.bias != Bias::none) {
    if (p.groups == Groups::contiguous && p.activation == Activation::swiglu && p.bias != Bias::none && bf16.empty())
      return {"grouped_swiglu", DType::e4m3};
    throw UsageError(
        "--epilogue: in the simulator only grouped_contiguous of e4m3 has one, swiglu+bias; use --target sm90");
  }
  if (p.groups == Groups::by_depth) return {"grouped_k" + bf16, DType::fp32};
  if (p.type == DType::e4m3 && p.b_scale_rows == 1) {
    if (p.groups == Groups::contiguous) return {"grouped_rows"};
    throw UsageError("--scaling blockwise_rows: in the simulator only grouped_contiguous has it; use --target sm90");
  }
  if (p.groups == Groups::none) return {p.m <= 8 ? "blockwise_skinny" : "blockwise_gemm"};
  return {(p.groups == Groups::contiguous ? "grouped_contiguous" : "grouped_masked") + bf16};
}

const runtime::Example& example_for(const GroupedProblem& p) {
  const auto [name, out] = stand_in(p);
  if (!p.plan.empty() && p.plan != name) {
    throw UsageError(fmt::format("plan = {}: in the simulator {} serves this problem.", p.plan, name));
  }
  if (p.out != out) {
    throw UsageError(
        fmt::format("out-dtype = {}: {} writes {}.", warpwright::name(p.out), name, warpwright::name(out)));
  }
  const runtime::Example* example = runtime::find_example(name);
  if (example == nullptr) throw UsageError(fmt::format("{} is not in this build", name));
  return *example;
}

struct Simulated {
  const runtime::Example& example;
  const runtime::Workload& workload;
  const char* target;
  std::string problem;  // for people
  int ctas = 0;         // of the timed run; 0: a few
};

int simulate(const ProblemOptions& options, const Simulated& s, Output& out) {
  const runtime::Example& example = s.example;
  const auto begin = std::chrono::steady_clock::now();
  const Swept swept = sweep(example, s.workload, modes_of(options, *example.plan), s.ctas, example.name);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json document = {{"ok", swept.ok()},      {"target", s.target},           {"kernel", example.plan->kernel},
                   {"plan", example.name},  {"instance", example.instance}, {"max_rel_error", swept.max_rel_error},
                   {"wall_s", wall},        {"predicted_us", nullptr},      {"runs", swept.runs},
                   {"checks", swept.checks}};
  Table table;
  table.row({"kernel", fmt::format("{} ({})", example.name, example.instance)});
  table.row({"target", s.target});
  table.row({"problem", s.problem});
  table.row({"result", swept.ok() ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", swept.max_rel_error)});
  table.row({"runs", fmt::format("{} ({:.1f} s)", swept.runs, wall)});
  if (swept.ok()) {
    document["predicted_us"] = swept.predicted_us;
    table.row({"predicted", fmt::format("{:.1f} us{}", swept.predicted_us,
                                        s.ctas == 0 ? " on a few SMs" : fmt::format(" on {} SMs", s.ctas))});
  } else {
    document["report"] = swept.report;
  }
  out.document(document);
  out.table(table);
  if (!swept.ok()) {
    out.line(swept.report);
    return exit_wrong;
  }
  out.line(prediction_note({s.target, example.arch}));
  return exit_ok;
}

runtime::Problem extents_of(const ProblemOptions& o) {
  runtime::Problem size;
  size.m = o.m;
  size.n = o.n;
  size.k = o.k;
  return size;
}

int simulate_hopper(const ProblemOptions& options, const GroupedProblem& p, Output& out) {
  const runtime::Example& example = example_for(p);
  check_simulated_size(extents_of(options), out);
  const auto workload =
      grouped_product_workload(runtime::sample_product(p, options.seed), runtime::Data::normal, options.seed);
  return simulate(options, {example, workload, "sim:sm90", problem_text(options, p)}, out);
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
  const auto begin = std::chrono::steady_clock::now();
  runtime::GemmOutcome outcome;
  const auto product = runtime::sample_product(p, options.seed);
  if (const Status s = runtime::check_grouped(p, product, {.seed = options.seed, .timed = true}, outcome); !s) fail(s);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const runtime::Verdict& verdict = outcome.verdict;
  const char* const kernel = outcome.plan.starts_with("skinny") ? "skinny_blockwise" : "grouped_gemm";
  Json document = {{"ok", verdict.ok},
                   {"target", "sm90"},
                   {"kernel", kernel},
                   {"plan", outcome.plan},
                   {"reason", outcome.explanation},
                   {"max_rel_error", verdict.max_rel_error},
                   {"wall_s", wall},
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
  std::string report;
  if (!verdict.ok) {
    report =
        fmt::format("result: {} of {} elements are wrong, {} of them were never written; {} bytes outside it changed",
                    verdict.wrong, outcome.elements, verdict.unwritten, outcome.stray_bytes);
    document["report"] = report;
  }
  out.document(document);
  out.table(table);
  if (!report.empty()) out.line(report);
  return verdict.ok ? exit_ok : exit_wrong;
}

}  // namespace

int run_grouped_gemm(const ProblemOptions& options, Output& out) {
  const GroupedProblem problem = grouped_problem_of(options);
  if (options.target == "sm90" || (options.target == "auto" && can_use_gpu())) {
    return run_on_gpu(options, problem, out);
  }
  if (options.target != "auto" && options.target != "sim:sm90") {
    throw UsageError(
        fmt::format("target = {}: op = {} has kernels for sm90, sim:sm90 and sim:sm100.", options.target, options.op));
  }
  return simulate_hopper(options, problem, out);
}

int run_block_scaled_gemm(const ProblemOptions& options, Output& out) {
  const BlackwellProblem problem = blackwell_problem_of(options);
  check_simulated_size(extents_of(options), out);
  const int cluster = problem.example->plan->cluster;
  const int clusters =
      int(std::min<std::int64_t>(problem.waves.tiles, simulator::ChipTiming::of(Arch::sm100).sms / cluster));
  const auto workload = problem.workload(options.seed);
  return simulate(
      options, {*problem.example, workload, "sim:sm100", problem.text(options), std::max(clusters, 1) * cluster}, out);
}

}  // namespace warpwright::cli

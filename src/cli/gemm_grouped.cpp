#include "cli/gemm_grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

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

int simulate(const ProblemOptions& options, const OwnOperands& own, Output& out) {
  std::optional<runtime::WholeFile> result;
  if (own.any()) result.emplace(result_file(own));
  const SimulatedProduct s = simulated_product(options, own, out);
  const runtime::Example& example = *s.example;
  const auto begin = std::chrono::steady_clock::now();
  const Swept swept = sweep(example, s.workload, modes_of(options, *example.plan), s.ctas, example.name);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result && swept.ok()) write_result(*result, swept.output);
  const std::string where = s.ctas == 0 ? "a few SMs" : fmt::format("{} SMs", s.ctas);
  return show_swept(swept, {example, {s.target, example.arch}, s.problem, s.workload.output().type, where, wall}, out);
}

runtime::Problem extents_of(const ProblemOptions& o) {
  runtime::Problem size;
  size.op = *runtime::parse_operation(o.op);
  size.groups = o.groups;
  size.m = o.m;
  size.n = o.n;
  size.k = o.k;
  return size;
}

SimulatedProduct hopper_product(const ProblemOptions& options, const OwnOperands& own, Output& out) {
  const GroupedProblem p = grouped_problem_of(options);
  const runtime::Example& example = example_for(p);
  // The host API takes an empty product; a simulator would have nothing to show.
  for (const auto& [what, extent] : {std::pair{"m", p.m}, std::pair{"n", p.n}, std::pair{"groups", p.group_count}}) {
    if (extent < 1) throw UsageError(fmt::format("{} = {}: it must be at least 1.", what, extent));
  }
  check_simulated_size(extents_of(options), out);
  const runtime::GroupedProduct product = runtime::sample_product(p, options.seed);
  return {&example,
          own.any() ? own_grouped_workload(own, product)
                    : grouped_product_workload(product, runtime::Data::normal, options.seed),
          "sim:sm90", problem_text(options, p)};
}

SimulatedProduct blackwell_product(const ProblemOptions& options, Output& out) {
  const BlackwellProblem problem = blackwell_problem_of(options);
  check_simulated_size(extents_of(options), out);
  const int cluster = problem.example->plan->cluster;
  const int clusters =
      int(std::min<std::int64_t>(problem.waves.tiles, simulator::ChipTiming::of(Arch::sm100).sms / cluster));
  return {problem.example, problem.workload(options.seed), "sim:sm100", problem.text(options),
          std::max(clusters, 1) * cluster};
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

SimulatedProduct simulated_product(const ProblemOptions& options, const OwnOperands& own, Output& out) {
  if (wants_block_scaling(options)) return blackwell_product(options, out);
  if (options.target != "auto" && options.target != "sim:sm90") {
    (void)grouped_problem_of(options);  // a bad problem is a bad problem before it is a wrong target
    throw UsageError(
        fmt::format("target = {}: op = {} has kernels for sm90, sim:sm90 and sim:sm100.", options.target, options.op));
  }
  return hopper_product(options, own, out);
}

int run_grouped_gemm(const ProblemOptions& options, const OwnOperands& own, Output& out) {
  if (options.target == "sm90" || (options.target == "auto" && can_use_gpu())) {
    return run_on_gpu(options, grouped_problem_of(options), out);
  }
  return simulate(options, own, out);
}

int run_block_scaled_gemm(const ProblemOptions& options, Output& out) { return simulate(options, {}, out); }

}  // namespace warpwright::cli

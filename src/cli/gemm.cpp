// `gemm`: one matrix product on random operands, compared with a float64 reference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/simulation.h"
#include "runtime/gpu_run.h"

namespace warpwright::cli {
namespace {

int run_simulated(const ProblemOptions& options, const ChosenProblem& chosen, Output& out) {
  const runtime::Example& example = *chosen.selection.example;
  check_simulated_size(chosen.problem, out);
  const auto modes = modes_of(options, *example.plan);
  const auto begin = std::chrono::steady_clock::now();
  const auto workload = runtime::workload_of(example, chosen.problem, options.seed);
  const Swept swept = sweep(example, workload, modes, chosen.selection.ctas, example.name);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  Json document = {{"ok", swept.ok()},      {"target", chosen.target.word}, {"kernel", example.plan->kernel},
                   {"plan", example.name},  {"instance", example.instance}, {"max_rel_error", swept.max_rel_error},
                   {"wall_s", wall},        {"predicted_us", nullptr},      {"runs", swept.runs},
                   {"checks", swept.checks}};
  Table table;
  table.row({"kernel", fmt::format("{} ({})", example.name, example.instance)});
  table.row({"target", chosen.target.word});
  table.row({"problem", fmt::format("{} {}", chosen.shape(), name(chosen.problem.dtype))});
  table.row({"result", swept.ok() ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", swept.max_rel_error)});
  table.row({"runs", fmt::format("{} ({:.1f} s)", swept.runs, wall)});
  if (swept.ok()) {
    document["predicted_us"] = swept.predicted_us;
    table.row({"predicted", fmt::format("{:.1f} us on {} SM{}", swept.predicted_us, chosen.selection.ctas,
                                        chosen.selection.ctas == 1 ? "" : "s")});
  } else {
    document["report"] = swept.report;
  }
  out.document(document);
  out.table(table);
  if (!swept.ok()) {
    out.line(swept.report);
    return exit_wrong;
  }
  out.line(prediction_note(chosen.target));
  return exit_ok;
}

int run_on_gpu(const ProblemOptions& options, const ChosenProblem& chosen, Output& out) {
  if (!options.landing.empty() || !options.schedule.empty() || options.seeds != 0) {
    throw UsageError("--landing, --schedule and --seeds are for a simulator; use --target sim:sm90");
  }
  const runtime::Example& example = *chosen.selection.example;
  const auto begin = std::chrono::steady_clock::now();
  const auto workload = runtime::workload_of(example, chosen.problem, options.seed);
  runtime::GpuOutcome outcome;
  if (auto why = runtime::run_on_gpu(example, workload, outcome)) throw MissingError(*why);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const runtime::Verdict& verdict = outcome.verdict;

  Json document = {{"ok", verdict.ok},
                   {"target", chosen.target.word},
                   {"kernel", example.plan->kernel},
                   {"plan", example.name},
                   {"instance", example.instance},
                   {"max_rel_error", verdict.max_rel_error},
                   {"wall_s", wall},
                   {"predicted_us", nullptr},  // the simulator predicts, and it did not run
                   {"measured_us", outcome.measured_us},
                   {"device", outcome.device}};
  Table table;
  table.row({"kernel", fmt::format("{} ({})", example.name, example.instance)});
  table.row({"target", fmt::format("{} ({})", chosen.target.word, outcome.device)});
  table.row({"problem", fmt::format("{} {}", chosen.shape(), name(chosen.problem.dtype))});
  table.row({"result", verdict.ok ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", verdict.max_rel_error)});
  table.row({"measured", fmt::format("{:.1f} us", outcome.measured_us)});
  std::string report;
  if (!verdict.ok) {
    report =
        fmt::format("result: {} of {} elements are wrong, {} of them were never written; {} bytes outside it changed",
                    verdict.wrong, workload.expected.size(), verdict.unwritten, outcome.stray_bytes);
    document["report"] = report;
  }
  out.document(document);
  out.table(table);
  if (!report.empty()) out.line(report);
  return verdict.ok ? exit_ok : exit_wrong;
}

int run_gemm(const ProblemOptions& options, Output& out) {
  const ChosenProblem chosen = choose(options, true);
  return chosen.target.simulated ? run_simulated(options, chosen, out) : run_on_gpu(options, chosen, out);
}

}  // namespace

void configure_gemm(CLI::App& app, Context& context) {
  auto options = std::make_shared<ProblemOptions>();
  add_problem_options(app, *options);
  context.runs(app, "./warpwright gemm --m 512 --n 512 --k 256 --target sim:sm90",
               [options](Output& out) { return run_gemm(*options, out); });
}

}  // namespace warpwright::cli

#include "cli/gemm_grouped.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/here.h"
#include "cli/problem/grouped_problem.h"
#include "cli/simulation.h"
#include "measure/grouped_check.h"
#include "simulate/product.h"

namespace warpwright::cli {
namespace {

int run_simulated(const ProblemOptions& options, const OwnOperands& own, Output& out) {
  std::optional<system::WholeFile> result, factors;
  if (own.any()) result.emplace(result_file(own));
  if (!own.d_scales.empty()) factors.emplace(factors_file(own));
  const auto begin = std::chrono::steady_clock::now();
  const SimulatedProduct s = simulated_product(options, own, out);
  const Swept swept = sweep(s.example, s.workload, modes_of(options, *s.example.plan), s.ctas, s.example.name);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result && swept.ok()) write_result(*result, swept.output);
  if (factors && swept.ok()) {
    // A run has one output that is judged, and written; that of these is the factors.
    OwnOperands judged = own;
    judged.judge_scales = true;
    const SimulatedProduct again = simulated_product(options, judged, out);
    const Swept by_factors =
        sweep(again.example, again.workload, modes_of(options, *again.example.plan), again.ctas, again.example.name);
    if (!by_factors.ok()) return show_swept(by_factors, again, options, wall, out);
    write_result(*factors, by_factors.output);
  }
  return show_swept(swept, s, options, wall, out);
}

SimulatedProduct grouped_product(const ProblemOptions& options, const OwnOperands& own, Output& out) {
  const Arch arch = arch_of(options);
  GroupedProblem p = grouped_problem_of(options);
  check_simulated_size(extents_of(options), out);
  reference::GroupedProduct product = measure::sample_product(p, options.seed);
  product.judge_scales = own.judge_scales;
  reference::Workload workload = own.any()
                                     ? own_grouped_workload(own, product)
                                     : simulate::workload_of(p, product, arch, reference::Data::normal, options.seed);
  p.matrix_count = product.matrix_count;
  // The chip that the simulator represents, so that the choice is the one a GPU of that name would get.
  const auto run = simulate::grouped_run(p, product, choice::simulated_chip(arch));
  if (!run) fail(run.status());
  auto example = simulate::example_of(*run);
  if (!example) fail(example.status());
  return {std::move(*example),
          std::move(workload),
          {fmt::format("sim:{}", name(arch)), arch, true},
          problem_text(options, p),
          simulate::ctas_on_chip(*run)};
}

int run_on_gpu(const ProblemOptions& options, const GroupedProblem& p, Output& out) {
  if (!options.landing.empty() || !options.schedule.empty() || options.seeds != 0) {
    throw UsageError("--landing, --schedule and --seeds are for a simulator; use --target sim:sm90");
  }
  require_here(Arch::sm90, "sm90");
  const auto begin = std::chrono::steady_clock::now();
  measure::GemmOutcome outcome;
  const auto product = measure::sample_product(p, options.seed);
  if (const Status s = measure::check_grouped(p, product, {.seed = options.seed, .timed = true}, outcome); !s) fail(s);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const reference::Verdict& verdict = outcome.verdict;
  const std::string kernel = outcome.plan.starts_with("blockwise") ? "skinny_blockwise" : "grouped_gemm";
  Json document = {{"ok", verdict.ok},
                   {"target", "sm90"},
                   {"kernel", kernel},
                   {"plan", outcome.plan},
                   {"instance", outcome.instance},
                   {"reason", outcome.explanation},
                   {"max_rel_error", verdict.max_rel_error},
                   {"wall_s", wall},
                   {"predicted_us", nullptr},
                   {"measured_us", outcome.measured_us},
                   {"device", outcome.device}};
  if (!p.formula.empty()) document["epilogue"] = p.formula;
  Table table;
  table.row({"kernel", kernel});
  table.row({"instance", outcome.instance});
  table.row({"target", fmt::format("sm90 ({})", outcome.device)});
  table.row({"problem", problem_text(options, p)});
  if (!p.formula.empty()) table.row({"epilogue", p.formula});
  table.row({"result", verdict.ok ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", verdict.max_rel_error)});
  if (const std::string empty = empty_text(options); !empty.empty()) table.row({"empty", empty});
  if (outcome.elements > 0) table.row({"measured", fmt::format("{:.1f} us", outcome.measured_us)});
  std::string report;
  if (!verdict.ok) {
    report =
        fmt::format("result: {} of {} elements are wrong, {} of them were never written; {} bytes outside it changed",
                    verdict.wrong, outcome.elements, verdict.unwritten, outcome.stray_bytes);
    document["report"] = report;
  }
  const std::string note = note_here();
  document["note"] = note;
  out.document(document);
  out.table(table);
  if (!note.empty()) out.note(fmt::format("{}: {}.", outcome.device, note));
  if (!report.empty()) out.line(report);
  return verdict.ok ? exit_ok : exit_wrong;
}

}  // namespace

SimulatedProduct simulated_product(const ProblemOptions& options, const OwnOperands& own, Output& out) {
  return is_grouped(options) ? grouped_product(options, own, out) : simulated_dense(options, out);
}

int run_grouped_gemm(const ProblemOptions& options, const OwnOperands& own, Output& out) {
  if (options.target == "sm90" ||
      (options.target == "auto" && arch_of(options) == Arch::sm90 && runs_here(Arch::sm90))) {
    return run_on_gpu(options, grouped_problem_of(options), out);
  }
  return run_simulated(options, own, out);
}

}  // namespace warpwright::cli

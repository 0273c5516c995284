// `gemm`: one matrix product on random operands, compared with a float64 reference.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/gemm_gpu.h"
#include "cli/gemm_grouped.h"
#include "cli/here.h"
#include "cli/problem/gemm_problem.h"
#include "cli/problem/grouped_problem.h"
#include "cli/problem/own_operands.h"
#include "cli/simulation.h"
#include "measure/gemm_check.h"
#include "problem/words.h"
#include "reference/problem_workload.h"
#include "simulate/product.h"

namespace warpwright::cli {
namespace {

struct GemmOptions {
  ProblemOptions problem;
  OwnOperands own;
  bool verify = false;
};

int run_simulated(const GemmOptions& all, Output& out) {
  const ProblemOptions& options = all.problem;
  std::optional<system::WholeFile> result;
  if (all.own.any()) {
    if (all.own.any_grouped())
      throw UsageError("--table, --experts, --index and --d-scales: a dense product has no groups");
    if (all.own.any_addend() && arch_of(options) != Arch::sm90) {
      throw UsageError("--a-scales, --b-scales, --c, --bias, --residual and --out-scale: only sim:sm90 takes them");
    }
    result.emplace(result_file(all.own));
  }
  const auto begin = std::chrono::steady_clock::now();
  std::function<void(reference::Workload&)> take;
  if (all.own.any()) {
    take = [&](reference::Workload& workload) {
      take_dense_operands(all.own, reference::with_packed_addends(gemm_problem_of(options)), workload);
    };
  }
  const SimulatedProduct product = simulated_dense(options, out, take);
  const auto modes = modes_of(options, *product.example.plan);
  const Swept swept = sweep(product.example, product.workload, modes, product.ctas, product.example.name);
  if (result && swept.ok()) write_result(*result, swept.output);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return show_swept(swept, product, options, wall, out);
}

int run_on_gpu(const ProblemOptions& options, Output& out) {
  if (!options.landing.empty() || !options.schedule.empty() || options.seeds != 0) {
    throw UsageError("--landing, --schedule and --seeds are for a simulator; use --target sim:sm90");
  }
  const GemmProblem problem = gemm_problem_of(options);
  require_here(Arch::sm90, "sm90");
  const auto begin = std::chrono::steady_clock::now();
  measure::GemmOutcome outcome;
  if (const Status s = measure::check_gemm(problem, {.seed = options.seed, .timed = true}, outcome); !s) fail(s);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const reference::Verdict& verdict = outcome.verdict;
  const std::string kernel = outcome.plan.starts_with("skinny") ? "skinny_gemm" : "dense_gemm";

  Json document = {{"ok", verdict.ok},
                   {"target", "sm90"},
                   {"kernel", kernel},
                   {"plan", outcome.plan},
                   {"instance", outcome.instance},
                   {"reason", outcome.explanation},
                   {"max_rel_error", verdict.max_rel_error},
                   {"wall_s", wall},
                   {"predicted_us", nullptr},  // the simulator predicts, and it did not run
                   {"measured_us", outcome.measured_us},
                   {"device", outcome.device}};
  if (!problem.epilogue.formula.empty()) document["epilogue"] = problem.epilogue.formula;
  Table table;
  table.row({"kernel", kernel});
  table.row({"instance", outcome.instance});
  table.row({"target", fmt::format("sm90 ({})", outcome.device)});
  table.row({"problem", problem_text(problem)});
  if (!problem.epilogue.formula.empty()) table.row({"epilogue", problem.epilogue.formula});
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

// Lets the library compare the first product as well: on the device or, for AMD, on the host.
void ask_for_comparison(const ProblemOptions& options, bool on_gpu) {
  if (!on_gpu) throw UsageError("--verify: it is for a GPU; what a simulator computes is always compared");
  const bool plain = !is_grouped(options) && options.epilogue.find("swiglu") == std::string::npos &&
                     !is_formula(options.epilogue) &&
                     problem::parse_block_scaling(options.scaling).value_or(BlockScaling::none) == BlockScaling::none;
  if (!plain)
    throw UsageError(
        "--verify: there is no plain product by groups, with block scales, with swiglu or with an "
        "epilogue of your own");
  setenv("WARPWRIGHT_VERIFY", "1", 1);
}

bool wants_gpu(const ProblemOptions& options) {
  if (options.target == "auto") return runs_here(arch_of(options));
  return !options.target.starts_with("sim:");
}

int run_gemm(GemmOptions all, Output& out) {
  ProblemOptions& options = all.problem;
  if (all.own.any() && !options.target.starts_with("sim:")) {
    throw UsageError("--a, --b and --d: operands of your own are for a simulator; use --target sim:sm90");
  }
  resolve_target(options);
  const bool blackwell = arch_of(options) == Arch::sm100;
  if (all.own.any() && blackwell && (is_grouped(options) || !options.scaling.empty())) {
    throw UsageError("--a, --b and --d: block-scaled products and sim:sm100 by groups take random operands only");
  }
  const bool on_gpu = wants_gpu(options);
  if (all.verify) ask_for_comparison(options, on_gpu);
  if (on_gpu && arch_of(options) != Arch::sm90) return run_elsewhere(options, out);
  if (is_grouped(options)) return run_grouped_gemm(options, all.own, out);
  if (on_gpu) {
    return run_on_gpu(options, out);
  }
  return run_simulated(all, out);
}

}  // namespace

void configure_gemm(CommandLine& line, Context& context) {
  auto options = std::make_shared<GemmOptions>();
  add_problem_options(line, options->problem);
  add_own_operands(line, options->own);
  line.flag("--verify", options->verify,
            "on a GPU: also compare with a plain product computed on the device (AMD: on the host)");
  context.runs(line, "./warpwright gemm --m 512 --n 512 --k 256 --target sim:sm90",
               [options](Output& out) { return run_gemm(*options, out); });
}

}  // namespace warpwright::cli

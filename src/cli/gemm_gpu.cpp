#include "cli/gemm_gpu.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/here.h"
#include "cli/problem/gemm_problem.h"
#include "cli/problem/grouped_problem.h"
#include "cli/simulation.h"
#include "measure/grouped_check.h"
#include "reference/problem_workload.h"
#include "simulate/gpu_run.h"
#include "simulate/product.h"

namespace warpwright::cli {
namespace {

// What is run, and on what.
struct Launched {
  simulate::Example example;
  reference::Workload workload;
  std::string problem;  // for people
  std::string reason;
};

// A bad problem is a bad problem before it is a missing machine: without a GPU the choice is made for the simulator's.
choice::Chip chip_of(const std::optional<gpu::Device>& device, Arch arch) {
  return device ? choice::Chip{device->name, device->multiprocessors, arch, device->driver}
                : choice::simulated_chip(arch);
}

Launched dense(const ProblemOptions& options, const std::optional<gpu::Device>& device, Arch arch) {
  const choice::ChipLimits limits =
      device ? choice::limits_of(device->major, device->minor, device->shared_bytes) : choice::ChipLimits{};
  const auto product = simulate::dense_product(gemm_problem_of(options), chip_of(device, arch), 0, limits);
  if (!product) fail(product.status());
  require_here(arch, options.target);
  return {simulate::gpu_example_of(*product),
          reference::workload_of(product->problem, 0, reference::Data::normal, options.seed),
          problem_text(product->problem), product->decision.choice.reason};
}

Launched grouped(const ProblemOptions& options, const std::optional<gpu::Device>& device, Arch arch) {
  const GroupedProblem problem = grouped_problem_of(options);
  const auto sample = measure::sample_product(problem, options.seed);
  const auto product = simulate::grouped_run(problem, sample, chip_of(device, arch));
  if (!product) fail(product.status());
  require_here(arch, options.target);
  return {simulate::gpu_example_of(*product),
          simulate::workload_of(problem, sample, arch, reference::Data::normal, options.seed),
          problem_text(options, problem), product->choice.reason};
}

}  // namespace

int run_elsewhere(const ProblemOptions& options, Output& out) {
  const Arch arch = arch_of(options);
  if (!options.landing.empty() || !options.schedule.empty() || options.seeds != 0) {
    throw UsageError(
        fmt::format("--landing, --schedule and --seeds are for a simulator; use --target sim:{}", name(arch)));
  }
  const auto device = gpu_here();
  const auto begin = std::chrono::steady_clock::now();
  const Launched run = is_grouped(options) ? grouped(options, device, arch) : dense(options, device, arch);
  simulate::GpuOutcome outcome;
  if (const Status s = simulate::run_on_gpu(run.example, run.workload, outcome); !s) fail(s);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const reference::Verdict& verdict = outcome.verdict;
  const std::string kernel = catalog::kernel_of(*catalog::parse_instance(run.example.instance));
  const std::string note = note_here();
  Json document = {{"ok", verdict.ok},
                   {"target", name(arch)},
                   {"kernel", kernel},
                   {"plan", run.example.plan_name},
                   {"instance", run.example.instance},
                   {"reason", run.reason},
                   {"max_rel_error", verdict.max_rel_error},
                   {"wall_s", wall},
                   {"predicted_us", nullptr},
                   {"measured_us", outcome.measured_us},
                   {"device", device->name},
                   {"note", note}};
  const std::string formula = is_formula(options.epilogue) ? formula_of(options.epilogue) : "";
  if (!formula.empty()) document["epilogue"] = formula;
  Table table;
  table.row({"kernel", kernel});
  table.row({"instance", run.example.instance});
  table.row({"target", fmt::format("{} ({})", name(arch), device->name)});
  table.row({"problem", run.problem});
  if (!formula.empty()) table.row({"epilogue", formula});
  table.row({"result", verdict.ok ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", verdict.max_rel_error)});
  table.row({"measured", fmt::format("{:.1f} us", outcome.measured_us)});
  std::string report;
  if (!verdict.ok) {
    report = fmt::format("result: {} of {} elements are wrong, {} of them were never written", verdict.wrong,
                         run.workload.expected.size(), verdict.unwritten);
    document["report"] = report;
  }
  out.document(document);
  out.table(table);
  if (!note.empty()) out.note(fmt::format("{}: {}.", device->name, note));
  if (!report.empty()) out.line(report);
  return verdict.ok ? exit_ok : exit_wrong;
}

}  // namespace warpwright::cli

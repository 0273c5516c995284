// `demo`: real warp-specialized kernels in the simulator, checked, with a timeline to look at; on a machine with a GPU
// the measured one stands above it.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/here.h"
#include "cli/line/arguments.h"
#include "cli/problem/gemm_problem.h"
#include "cli/simulation.h"
#include "measure/gemm_check.h"
#include "measure/record_gpu.h"
#include "system/whole_file.h"
#include "timeline/timeline.h"

namespace warpwright::cli {
namespace {

constexpr std::int64_t kSeeds = 2;

struct DemoOptions {
  std::string timeline = "warpwright-demo.html";
};

// The first one gives the timeline.
std::vector<ProblemOptions> shows() {
  ProblemOptions hopper, blackwell;
  hopper.m = hopper.n = hopper.k = 512;
  hopper.target = "sim:sm90";
  hopper.plan = "sm90/dense-128x256-c2-s4/bf16-nt";
  blackwell.m = blackwell.n = blackwell.k = 384;
  blackwell.target = "sim:sm100";
  blackwell.plan = "sm100/dense-128x256-c2x1-s6-pair/bf16";
  hopper.seeds = blackwell.seeds = kSeeds;
  hopper.seed = blackwell.seed = 1;
  return {hopper, blackwell};
}

struct Shown {
  ProblemOptions options;
  SimulatedProduct product;
  Swept swept;
};

Shown run_show(const ProblemOptions& options, Output& out) {
  Shown shown{options, simulated_dense(options, out), {}};
  const simulate::Example& example = shown.product.example;
  std::vector<Mode> modes = modes_of(options, *example.plan);
  modes.back().timeline = true;
  shown.swept = sweep(example, shown.product.workload, modes, shown.product.ctas, example.name);
  return shown;
}

std::string count_text(std::uint64_t n) {
  return n >= 10'000'000  ? fmt::format("{:.0f} million", double(n) / 1e6)
         : n >= 1'000'000 ? fmt::format("{:.1f} million", double(n) / 1e6)
                          : fmt::format("{}", n);
}

std::string shape_text(const ProblemOptions& p) { return fmt::format("{}x{}x{}", p.m, p.n, p.k); }

int run_demo(const DemoOptions& options, Output& out) {
  const system::WholeFile file(options.timeline);
  if (const Status s = file.check_writable(); !s) throw UsageError("--timeline: " + s.message());
  const auto begin = std::chrono::steady_clock::now();

  std::vector<Shown> shown;
  for (const ProblemOptions& show : shows()) shown.push_back(run_show(show, out));
  const Shown& first = shown.front();
  const simulate::Example& example = first.product.example;

  std::optional<measure::GemmOutcome> gpu;
  if (runs_here(Arch::sm90)) {
    const measure::GemmTrial trial{.seed = 1, .timed = true};
    if (const Status s = measure::check_gemm(gemm_problem_of(first.options), trial, gpu.emplace()); !s) {
      out.note("The GPU was left out: " + s.message());
      gpu.reset();
    }
  }

  timeline::TimelineRun timeline{timeline::model_of(first.swept.timed),
                                 {example.name, first.product.target.word, shape_text(first.options)}};
  timeline.info.time = fmt::format("{:.1f} us predicted", first.swept.predicted_us);
  std::vector<timeline::TimelineRun> drawn;
  if (gpu) {
    const ProblemOptions& p = first.options;
    timeline::GpuRecording recording;
    const auto instance = catalog::parse_instance(example.instance);
    if (const Status s = measure::record_on_gpu(*instance, {p.m, p.n, p.k}, 1, recording); !s) {
      out.note("The timeline of the GPU was left out: " + s.message());
    } else {
      if (!recording.same) gpu->verdict.ok = false;  // timestamps must not change a result
      drawn.push_back(timeline::timeline_run(recording, example.name, shape_text(p)));
      timeline::leave_out_launch(timeline.model, first.swept.timed.stats, example.arch);
    }
  }
  drawn.push_back(timeline);
  const bool perfetto = file.path().ends_with(".json");
  if (const Status s = file.write(perfetto ? timeline::perfetto_of(drawn) : timeline::page_of(drawn)); !s)
    throw UsageError("--timeline: " + s.message());
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  bool ok = true;
  Table table({"instance", "m x n x k", "result", "relative error", "runs", "checks", "time"});
  Json runs = Json::array();
  for (const Shown& s : shown) {
    const Swept& swept = s.swept;
    ok = ok && swept.ok();
    table.row({s.product.example.instance, shape_text(s.options), swept.ok() ? "right" : "WRONG",
               fmt::format("{:.2e}", swept.max_rel_error), fmt::format("{}", swept.runs), count_text(swept.checks),
               fmt::format("{:.1f} us (predicted)", swept.predicted_us)});
    runs.push_back({{"target", s.product.target.word},
                    {"kernel", s.product.example.plan->kernel},
                    {"plan", s.product.example.plan_name},
                    {"instance", s.product.example.instance},
                    {"m", s.options.m},
                    {"n", s.options.n},
                    {"k", s.options.k},
                    {"ok", swept.ok()},
                    {"max_rel_error", swept.max_rel_error},
                    {"runs", swept.runs},
                    {"checks", swept.checks},
                    {"predicted_us", swept.predicted_us}});
    if (!swept.ok()) runs.back()["report"] = swept.report;
  }
  if (gpu) {
    ok = ok && gpu->verdict.ok;
    table.row({fmt::format("the same on {}", gpu->device), shape_text(first.options),
               gpu->verdict.ok ? "right" : "WRONG", fmt::format("{:.2e}", gpu->verdict.max_rel_error), "", "",
               fmt::format("{:.1f} us (measured)", gpu->measured_us)});
    runs.push_back({{"target", "sm90"},
                    {"device", gpu->device},
                    {"kernel", example.plan->kernel},
                    {"plan", gpu->plan},
                    {"instance", gpu->instance},
                    {"ok", gpu->verdict.ok},
                    {"max_rel_error", gpu->verdict.max_rel_error},
                    {"measured_us", gpu->measured_us}});
  }
  out.document({{"target", gpu ? "sm90" : first.product.target.word},
                {"kernel", example.plan->kernel},
                {"plan", example.plan_name},
                {"instance", example.instance},
                {"ok", ok},
                {"max_rel_error", gpu ? gpu->verdict.max_rel_error : first.swept.max_rel_error},
                {"checks", first.swept.checks},
                {"predicted_us", first.swept.predicted_us},
                {"timeline", file.path()},
                {"spans", timeline.model.recorded()},
                {"edges", timeline.model.arrows.size()},
                {"wall_s", wall},
                {"runs", runs}});

  out.table(table);
  out.line("");
  for (const Shown& s : shown) {
    if (!s.swept.ok()) out.line(s.swept.report);
  }
  out.line(fmt::format(
      "Each kernel ran with copies landing at once, as late as allowed, at random times ({} seeds), and by the\nclock; "
      "every result was compared with a float64 reference, and accesses to the same bytes were checked for order.",
      kSeeds));
  out.line("Simulated times are predictions, and this project has never run Blackwell code on hardware.");
  out.line(fmt::format("Timeline of {}{}: {} ({} bars, {} arrows; open it {})", example.name,
                       drawn.size() > 1 ? ", measured above and predicted below" : "", file.path(),
                       timeline.model.recorded(), timeline.model.arrows.size(),
                       perfetto ? "at https://ui.perfetto.dev" : "in a browser"));
  out.line(ok ? out.paint(Mark::good, fmt::format("All right, in {:.1f} s.", wall))
              : out.paint(Mark::bad, "Something is wrong; the report is above."));
  return ok ? exit_ok : exit_wrong;
}

}  // namespace

void configure_demo(CommandLine& line, Context& context) {
  auto options = std::make_shared<DemoOptions>();
  line.file("--timeline", options->timeline,
            "write the timeline to this file: a page, or .json for Perfetto (default warpwright-demo.html)");
  context.runs(line, "./warpwright demo --timeline demo.html",
               [options](Output& out) { return run_demo(*options, out); });
}

}  // namespace warpwright::cli

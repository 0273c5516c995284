// `demo`: real warp-specialized kernels in the simulator, checked, with a timeline to look at; on a machine with a GPU
// the measured timeline is drawn above it.
#include "cli/demo/demo.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/line/arguments.h"
#include "cli/sweep.h"
#include "simulate/dense/shown.h"
#include "system/whole_file.h"
#include "timeline/timeline.h"

namespace warpwright::cli {
namespace {

constexpr std::int64_t kSeeds = 2;
constexpr std::uint64_t kSeed = 1;

struct DemoOptions {
  std::string timeline = "warpwright-demo.html";
};

struct Shown {
  simulate::Shown kernel;
  GemmProblem problem;
  simulate::ShownProduct product;
  std::string target;
  Swept swept;
};

Shown run_show(const simulate::Shown& kernel, std::int64_t extent) {
  const GemmProblem problem{.m = extent, .n = extent, .k = extent};
  Shown shown{kernel, problem, simulate::shown_product(kernel, problem, kSeed), {}, {}};
  const simulate::Example& example = shown.product.example;
  shown.target = fmt::format("sim:{}", name(example.arch));
  std::vector<Mode> modes = landing_modes(kSeeds, kSeed);
  modes.back().timeline = true;
  shown.swept = sweep(example, shown.product.workload, modes, shown.product.ctas, example.name);
  return shown;
}

std::string count_text(std::uint64_t n) {
  return n >= 10'000'000  ? fmt::format("{:.0f} million", double(n) / 1e6)
         : n >= 1'000'000 ? fmt::format("{:.1f} million", double(n) / 1e6)
                          : fmt::format("{}", n);
}

std::string shape_text(const GemmProblem& p) { return fmt::format("{}x{}x{}", p.m, p.n, p.k); }

int run_demo(const DemoOptions& options, Measure measure, Output& out) {
  const system::WholeFile file(options.timeline);
  if (const Status s = file.check_writable(); !s) throw UsageError("--timeline: " + s.message());
  const auto begin = std::chrono::steady_clock::now();

  std::vector<Shown> shown;
  // The first one gives the timeline.
  for (const simulate::Shown& kernel : simulate::shown()) shown.push_back(run_show(kernel, shown.empty() ? 512 : 384));
  const Shown& first = shown.front();
  const simulate::Example& example = first.product.example;

  std::optional<Measured> gpu;
  if (measure != nullptr) gpu = measure(first.kernel, first.problem, out);

  timeline::TimelineRun timeline{timeline::model_of(first.swept.timed),
                                 {example.name, first.target, shape_text(first.problem)}};
  timeline.info.time = fmt::format("{:.1f} us predicted", first.swept.predicted_us);
  std::vector<timeline::TimelineRun> drawn;
  if (gpu && gpu->timeline) {
    drawn.push_back(*gpu->timeline);
    timeline::leave_out_launch(timeline.model, first.swept.timed.stats, example.arch);
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
    table.row({s.product.example.instance, shape_text(s.problem), swept.ok() ? "right" : "WRONG",
               fmt::format("{:.2e}", swept.max_rel_error), fmt::format("{}", swept.runs), count_text(swept.checks),
               fmt::format("{:.1f} us (predicted)", swept.predicted_us)});
    runs.push_back({{"target", s.target},
                    {"kernel", s.product.example.plan->kernel},
                    {"plan", s.product.example.plan_name},
                    {"instance", s.product.example.instance},
                    {"m", s.problem.m},
                    {"n", s.problem.n},
                    {"k", s.problem.k},
                    {"ok", swept.ok()},
                    {"max_rel_error", swept.max_rel_error},
                    {"runs", swept.runs},
                    {"checks", swept.checks},
                    {"predicted_us", swept.predicted_us}});
    if (!swept.ok()) runs.back()["report"] = swept.report;
  }
  if (gpu) {
    ok = ok && gpu->ok;
    table.row({fmt::format("the same on {}", gpu->device), shape_text(first.problem), gpu->ok ? "right" : "WRONG",
               fmt::format("{:.2e}", gpu->max_rel_error), "", "",
               fmt::format("{:.1f} us (measured)", gpu->measured_us)});
    runs.push_back({{"target", "sm90"},
                    {"device", gpu->device},
                    {"kernel", example.plan->kernel},
                    {"plan", gpu->plan},
                    {"instance", gpu->instance},
                    {"ok", gpu->ok},
                    {"max_rel_error", gpu->max_rel_error},
                    {"measured_us", gpu->measured_us}});
  }
  out.document({{"target", gpu ? "sm90" : first.target},
                {"kernel", example.plan->kernel},
                {"plan", example.plan_name},
                {"instance", example.instance},
                {"ok", ok},
                {"max_rel_error", gpu ? gpu->max_rel_error : first.swept.max_rel_error},
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

void configure_demo(CommandLine& line, Context& context, Measure measure) {
  auto options = std::make_shared<DemoOptions>();
  line.file("--timeline", options->timeline,
            "write the timeline to this file: a page, or .json for Perfetto (default warpwright-demo.html)");
  context.runs(line, "./warpwright demo --timeline demo.html",
               [options, measure](Output& out) { return run_demo(*options, measure, out); });
}

}  // namespace warpwright::cli

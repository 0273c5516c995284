// `demo`: real warp-specialized kernels in the simulator, checked, with a timeline to look at; on a machine with a GPU
// the measured one stands above it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/simulation.h"
#include "runtime/gpu_run.h"
#include "runtime/record_gpu.h"
#include "runtime/timeline.h"
#include "runtime/whole_file.h"

namespace warpwright::cli {
namespace {

constexpr std::int64_t kSeeds = 2;

struct DemoOptions {
  std::string timeline = "warpwright-demo.html";
};

struct Show {
  const char* kernel;
  Target target;
  runtime::Problem problem;
};

// The first one gives the timeline.
std::vector<Show> shows() {
  runtime::Problem hopper, blackwell;
  hopper.m = hopper.n = hopper.k = 512;
  blackwell.m = blackwell.n = blackwell.k = 384;
  return {{"gemm_sm90", {"sim:sm90", Arch::sm90, true}, hopper},
          {"gemm_sm100_pair", {"sim:sm100", Arch::sm100, true}, blackwell}};
}

struct Shown {
  const Show* show = nullptr;
  const runtime::Example* example = nullptr;
  Swept swept;
};

Shown run_show(const Show& show) {
  runtime::Selection selection;
  if (auto why = runtime::select(show.problem, {}, show.target.arch, show.kernel, selection))
    throw std::runtime_error(*why);
  ProblemOptions options;
  options.seeds = kSeeds;
  options.seed = 1;
  std::vector<Mode> modes = modes_of(options, *selection.example->plan);
  modes.back().timeline = true;
  const runtime::Workload workload = runtime::workload_of(*selection.example, show.problem, 1);
  return {&show, selection.example, sweep(*selection.example, workload, modes, selection.ctas, show.kernel)};
}

std::string count_text(std::uint64_t n) {
  return n >= 10'000'000  ? fmt::format("{:.0f} million", double(n) / 1e6)
         : n >= 1'000'000 ? fmt::format("{:.1f} million", double(n) / 1e6)
                          : fmt::format("{}", n);
}

std::string shape_text(const runtime::Problem& p) { return fmt::format("{}x{}x{}", p.m, p.n, p.k); }

int run_demo(const DemoOptions& options, Output& out) {
  const runtime::WholeFile file(options.timeline);
  if (auto why = file.refuse()) throw UsageError("--timeline: " + *why);
  const auto begin = std::chrono::steady_clock::now();

  const std::vector<Show> list = shows();
  std::vector<Shown> shown;
  for (const Show& show : list) shown.push_back(run_show(show));

  std::optional<runtime::GpuOutcome> gpu;
  if (can_use_gpu()) {
    const runtime::Workload workload = runtime::workload_of(*shown.front().example, list.front().problem, 1);
    if (auto why = runtime::run_on_gpu(*shown.front().example, workload, gpu.emplace())) {
      out.note("The GPU was left out: " + *why);
      gpu.reset();
    }
  }

  const Shown& first = shown.front();
  runtime::TimelineRun timeline{runtime::model_of(first.swept.timed),
                                {first.example->name, first.show->target.word, shape_text(first.show->problem)}};
  std::vector<runtime::TimelineRun> drawn;
  if (gpu) {
    const runtime::Problem& p = first.show->problem;
    runtime::GpuRecording recording;
    const auto kernel = runtime::kernel_of_example(first.example->name);
    if (const Status s = runtime::record_on_gpu(*kernel, {p.m, p.n, p.k}, 1, recording); !s) {
      out.note("The timeline of the GPU was left out: " + s.message());
    } else {
      if (!recording.same) gpu->verdict.ok = false;  // timestamps must not change a result
      drawn.push_back(runtime::timeline_run(recording, first.example->name, shape_text(p)));
      runtime::leave_out_launch(timeline.model, first.swept.timed.stats, first.example->arch);
    }
  }
  drawn.push_back(timeline);
  const bool perfetto = file.path().ends_with(".json");
  if (auto why = file.write(perfetto ? runtime::perfetto_of(drawn) : runtime::page_of(drawn)))
    throw UsageError("--timeline: " + *why);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  bool ok = true;
  Table table({"kernel", "target", "m x n x k", "result", "relative error", "runs", "checks", "time"});
  Json runs = Json::array();
  for (const Shown& s : shown) {
    const Swept& swept = s.swept;
    ok = ok && swept.ok();
    table.row({s.example->name, s.show->target.word, shape_text(s.show->problem), swept.ok() ? "right" : "WRONG",
               fmt::format("{:.2e}", swept.max_rel_error), fmt::format("{}", swept.runs), count_text(swept.checks),
               fmt::format("{:.1f} us (predicted)", swept.predicted_us)});
    runs.push_back({{"target", s.show->target.word},
                    {"kernel", s.example->name},
                    {"instance", s.example->instance},
                    {"m", s.show->problem.m},
                    {"n", s.show->problem.n},
                    {"k", s.show->problem.k},
                    {"ok", swept.ok()},
                    {"max_rel_error", swept.max_rel_error},
                    {"runs", swept.runs},
                    {"checks", swept.checks},
                    {"predicted_us", swept.predicted_us}});
    if (!swept.ok()) runs.back()["report"] = swept.report;
  }
  if (gpu) {
    ok = ok && gpu->verdict.ok;
    table.row({first.example->name, fmt::format("sm90 ({})", gpu->device), shape_text(first.show->problem),
               gpu->verdict.ok ? "right" : "WRONG", fmt::format("{:.2e}", gpu->verdict.max_rel_error), "", "",
               fmt::format("{:.1f} us (measured)", gpu->measured_us)});
    runs.push_back({{"target", "sm90"},
                    {"device", gpu->device},
                    {"kernel", first.example->name},
                    {"ok", gpu->verdict.ok},
                    {"max_rel_error", gpu->verdict.max_rel_error},
                    {"measured_us", gpu->measured_us}});
  }
  out.document({{"target", gpu ? "sm90" : first.show->target.word},
                {"kernel", first.example->name},
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
    out.line(fmt::format("{}: {}.", s.example->name, s.example->summary));
    if (!s.swept.ok()) out.line(s.swept.report);
  }
  out.line(fmt::format(
      "Each kernel ran with copies landing at once, as late as allowed, at random times ({} seeds), and by the\nclock; "
      "every result was compared with a float64 reference, and accesses to the same bytes were checked for order.",
      kSeeds));
  out.line("Simulated times are predictions, and this project has never run Blackwell code on hardware.");
  out.line(fmt::format("Timeline of {}{}: {} ({} bars, {} arrows; open it {})", first.example->name,
                       drawn.size() > 1 ? ", measured above and predicted below" : "", file.path(),
                       timeline.model.recorded(), timeline.model.arrows.size(),
                       perfetto ? "at https://ui.perfetto.dev" : "in a browser"));
  out.line(ok ? out.paint(Mark::good, fmt::format("All right, in {:.1f} s.", wall))
              : out.paint(Mark::bad, "Something is wrong; the report is above."));
  return ok ? exit_ok : exit_wrong;
}

}  // namespace

void configure_demo(CLI::App& app, Context& context) {
  auto options = std::make_shared<DemoOptions>();
  app.add_option("--timeline", options->timeline,
                 "file of the timeline: a page, or .json for Perfetto (default warpwright-demo.html)")
      ->check(not_empty())
      ->type_name("FILE");
  context.runs(app, "./warpwright demo --timeline demo.html",
               [options](Output& out) { return run_demo(*options, out); });
}

}  // namespace warpwright::cli

// `trace`: the timeline of one problem, by the simulator's clock.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/simulation.h"
#include "runtime/timeline.h"

namespace warpwright::cli {
namespace {

struct TraceOptions {
  ProblemOptions problem;
  std::string html;
  std::string perfetto = "warpwright-trace.json";
};

int run_trace(const TraceOptions& options, Output& out) {
  if (!options.html.empty()) throw UsageError("--html: HTML timelines are not written by this version; use --perfetto");
  if (!options.problem.landing.empty() || !options.problem.schedule.empty()) {
    throw UsageError("--landing and --schedule: a timeline follows the clock, which decides both; leave them out");
  }
  const ChosenProblem chosen = choose(options.problem, false);
  const runtime::Example& example = *chosen.selection.example;
  check_simulated_size(chosen.problem, out);
  const runtime::WholeFile file(options.perfetto);
  if (auto why = file.refuse()) throw UsageError("--perfetto: " + *why);

  Mode mode;
  mode.landing = simulator::Landing::timed;
  mode.timeline = true;
  const auto workload = runtime::workload_of(example, chosen.problem, options.problem.seed);
  const Swept swept = sweep(example, workload, {mode}, chosen.selection.ctas, example.name);
  const runtime::Timeline timeline =
      runtime::make_timeline(swept.timed, {example.name, chosen.target.word, chosen.shape()});
  if (auto why = file.write(timeline.json)) throw UsageError("--perfetto: " + *why);

  Json document = {{"html", nullptr},         {"perfetto", file.path()},
                   {"spans", timeline.spans}, {"edges", timeline.edges},
                   {"ok", swept.ok()},        {"target", chosen.target.word},
                   {"plan", example.name},    {"predicted_us", swept.predicted_us}};
  if (!swept.ok()) document["report"] = swept.report;
  out.document(document);
  out.line(fmt::format("{}: {} bars, {} arrows, {:.1f} us predicted for {} on {}; open it at https://ui.perfetto.dev",
                       file.path(), timeline.spans, timeline.edges, swept.predicted_us, example.name,
                       chosen.target.word));
  if (!swept.ok()) {
    out.line(swept.report);
    return exit_wrong;
  }
  out.line(prediction_note(chosen.target));
  return exit_ok;
}

}  // namespace

void configure_trace(CLI::App& app, Context& context) {
  auto options = std::make_shared<TraceOptions>();
  add_problem_options(app, options->problem);
  app.add_option("--perfetto", options->perfetto, "file of the timeline (default warpwright-trace.json)");
  app.add_option("--html", options->html, "file of the timeline as a page; not written by this version");
  context.runs(app, "./warpwright trace --m 512 --n 512 --k 256 --perfetto gemm.json",
               [options](Output& out) { return run_trace(*options, out); });
}

}  // namespace warpwright::cli

// `trace`: the timeline of one problem, by the simulator's clock.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/simulation.h"
#include "runtime/timeline.h"
#include "runtime/whole_file.h"

namespace warpwright::cli {
namespace {

struct TraceOptions {
  ProblemOptions problem;
  std::string html;
  std::string perfetto;
};

int run_trace(const TraceOptions& options, Output& out) {
  if (!options.problem.landing.empty() || !options.problem.schedule.empty()) {
    throw UsageError("--landing and --schedule: a timeline follows the clock, which decides both; leave them out");
  }
  const ChosenProblem chosen = choose(options.problem, false);
  const runtime::Example& example = *chosen.selection.example;
  check_simulated_size(chosen.problem, out);
  const bool both = options.html.empty() && options.perfetto.empty();
  const auto file = [&](const std::string& path, const char* usual) -> std::optional<runtime::WholeFile> {
    if (path.empty() && !both) return {};
    return runtime::WholeFile(path.empty() ? usual : path);
  };
  const std::optional<runtime::WholeFile> html = file(options.html, "warpwright-trace.html");
  const std::optional<runtime::WholeFile> perfetto = file(options.perfetto, "warpwright-trace.json");
  for (const auto& [option, f] : {std::pair("--html", &html), std::pair("--perfetto", &perfetto)}) {
    if (!*f) continue;
    if (auto why = (*f)->refuse()) throw UsageError(fmt::format("{}: {}", option, *why));
  }

  Mode mode;
  mode.landing = simulator::Landing::timed;
  mode.timeline = true;
  const auto workload = runtime::workload_of(example, chosen.problem, options.problem.seed);
  const Swept swept = sweep(example, workload, {mode}, chosen.selection.ctas, example.name);
  const runtime::TimelineRun run{runtime::model_of(swept.timed), {example.name, chosen.target.word, chosen.shape()}};
  if (html) {
    if (auto why = html->write(runtime::page_of({run}))) throw UsageError("--html: " + *why);
  }
  if (perfetto) {
    if (auto why = perfetto->write(runtime::perfetto_of(run))) throw UsageError("--perfetto: " + *why);
  }

  Json document = {{"html", html ? Json(html->path()) : Json()},
                   {"perfetto", perfetto ? Json(perfetto->path()) : Json()},
                   {"spans", run.model.recorded()},
                   {"edges", run.model.arrows.size()},
                   {"ok", swept.ok()},
                   {"target", chosen.target.word},
                   {"plan", example.name},
                   {"predicted_us", swept.predicted_us}};
  if (!swept.ok()) document["report"] = swept.report;
  out.document(document);
  out.line(fmt::format("{} on {}: {} bars, {} arrows, {:.1f} us predicted", example.name, chosen.target.word,
                       run.model.recorded(), run.model.arrows.size(), swept.predicted_us));
  if (html) out.line(fmt::format("{}: open it in a browser", html->path()));
  if (perfetto) out.line(fmt::format("{}: open it at https://ui.perfetto.dev", perfetto->path()));
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
  app.add_option("--perfetto", options->perfetto, "file of the timeline for Perfetto");
  app.add_option("--html", options->html,
                 "file of the timeline as a page (default: both, as warpwright-trace.html and .json)");
  context.runs(app, "./warpwright trace --m 512 --n 512 --k 256 --html gemm.html",
               [options](Output& out) { return run_trace(*options, out); });
}

}  // namespace warpwright::cli

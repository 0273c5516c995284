// `trace`: the timeline of one problem, by the simulator's clock, by timestamps in a kernel on the GPU, or both.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "api/launcher.h"
#include "cli/arguments.h"
#include "cli/blackwell_problem.h"
#include "cli/commands.h"
#include "cli/gemm_grouped.h"
#include "cli/simulation.h"
#include "runtime/record_gpu.h"
#include "runtime/recording_file.h"
#include "runtime/timeline.h"
#include "runtime/whole_file.h"
#include "sim/timing.h"

namespace warpwright::cli {
namespace {

struct TraceOptions {
  ProblemOptions problem;
  std::string html;
  std::string perfetto;
  std::string recording;
};

// What is written: what was asked for, or both.
struct Files {
  std::optional<runtime::WholeFile> html, perfetto;

  explicit Files(const TraceOptions& options) {
    const bool both = options.html.empty() && options.perfetto.empty();
    const auto open = [&](const char* option, const std::string& path, const char* usual,
                          std::optional<runtime::WholeFile>& file) {
      if (path.empty() && !both) return;
      file.emplace(path.empty() ? usual : path);
      if (auto why = file->refuse()) throw UsageError(fmt::format("{}: {}", option, *why));
    };
    open("--html", options.html, "warpwright-trace.html", html);
    open("--perfetto", options.perfetto, "warpwright-trace.json", perfetto);
    const auto place = [](const runtime::WholeFile& file) {
      std::error_code ignored;
      return std::filesystem::weakly_canonical(std::filesystem::absolute(file.path(), ignored), ignored);
    };
    if (html && perfetto && place(*html) == place(*perfetto)) {
      throw UsageError(fmt::format("--html and --perfetto: both name {}; each needs a file of its own", html->path()));
    }
  }
  void write(const std::vector<runtime::TimelineRun>& runs) const {
    if (html) {
      if (auto why = html->write(runtime::page_of(runs))) throw UsageError("--html: " + *why);
    }
    if (perfetto) {
      if (auto why = perfetto->write(runtime::perfetto_of(runs))) throw UsageError("--perfetto: " + *why);
    }
  }
  Json document() const {
    return {{"html", html ? Json(html->path()) : Json()}, {"perfetto", perfetto ? Json(perfetto->path()) : Json()}};
  }
  void tell(Output& out) const {
    if (html) out.line(fmt::format("{}: open it in a browser", html->path()));
    if (perfetto) out.line(fmt::format("{}: open it at https://ui.perfetto.dev", perfetto->path()));
  }
};

struct Traced {
  runtime::TimelineRun run;
  bool ok = true;
  std::string report;
  Json facts;
};

[[noreturn]] void refuse(const Status& status) {
  if (status.code() == Code::missing) throw MissingError(status.message());
  if (status.code() == Code::failed) throw std::runtime_error(status.message());
  throw UsageError(status.message());
}

// What runs on the GPU, and its example in the simulator.
struct Recorded {
  runtime::Kernel kernel;
  const runtime::Example* example = nullptr;
};

Recorded choose_recorded(const ProblemOptions& options, const ChosenProblem& chosen, bool in_both) {
  const runtime::Problem& p = chosen.problem;
  if (p.alpha != 1) throw UsageError(fmt::format("alpha = {}: a kernel with timestamps only multiplies", p.alpha));
  runtime::GemmShape shape;
  shape.m = p.m;
  shape.n = p.n;
  shape.k = p.k;
  shape.dtype = p.dtype;
  shape.epilogue = factor_and_conversion(p.out_dtype);
  const auto device = api::current_device();
  const auto kernel = runtime::recordable(shape, device ? device->chip : runtime::h200(), options.plan);
  if (!kernel) refuse(kernel.status());
  Recorded r{*kernel, runtime::example_of(*kernel)};
  if (!in_both || r.example != nullptr) return r;
  if (!options.plan.empty()) {
    throw UsageError(fmt::format("--plan {}: the simulator has no kernel of this configuration", options.plan));
  }
  const auto simulated = runtime::kernel_of_example(chosen.selection.example->name);
  if (!simulated) {
    throw UsageError(fmt::format("--target both: {} runs in the simulator only", chosen.selection.example->name));
  }
  return {*simulated, chosen.selection.example};
}

Mode timeline_mode() {
  Mode mode;
  mode.landing = simulator::Landing::timed;
  mode.timeline = true;
  return mode;
}

// `stacked`: below a measured run.
Traced simulate(const TraceOptions& options, const ChosenProblem& chosen, const runtime::Example& example, int ctas,
                bool stacked) {
  const auto workload = runtime::workload_of(example, chosen.problem, options.problem.seed);
  const Swept swept = sweep(example, workload, {timeline_mode()}, ctas, example.name);
  Traced t{{runtime::model_of(swept.timed), {example.name, chosen.target.word, chosen.shape()}},
           swept.ok(),
           swept.report,
           {}};
  t.facts = {{"predicted_us", swept.predicted_us}};
  if (stacked) {
    runtime::leave_out_launch(t.run.model, swept.timed.stats, example.arch);
    t.run.info.times += " from the first instruction on";
    t.facts["predicted_kernel_us"] = double(t.run.model.end) / 1e3;
  }
  return t;
}

Traced measure(const TraceOptions& options, const ChosenProblem& chosen, const Recorded& what) {
  const runtime::Problem& p = chosen.problem;
  runtime::GpuRecording recording;
  if (Status s = runtime::record_on_gpu(what.kernel, {p.m, p.n, p.k}, options.problem.seed, recording); !s) refuse(s);
  const std::string name = what.example != nullptr ? what.example->name : runtime::plan_name(what.kernel);
  Traced t;
  t.run = runtime::timeline_run(recording, name, chosen.shape());
  t.ok = recording.same;
  if (!t.ok) t.report = "The kernel with timestamps has written another result than the one without.";
  t.facts = {{"device", recording.device},
             {"measured_us", recording.plain_us},
             {"recorded_us", recording.recorded_us},
             {"kernel_us", double(t.run.model.end) / 1e3}};
  return t;
}

// A launch that was recorded elsewhere.
int run_recording(const TraceOptions& options, Output& out) {
  std::error_code ignored;
  if (std::filesystem::is_directory(options.recording, ignored))
    throw UsageError(fmt::format("--recording: {} is a folder, not a file", options.recording));
  runtime::RecordingFile file;
  if (auto why = runtime::read_recording(options.recording, file)) throw UsageError("--recording: " + *why);
  const Files files(options);
  const runtime::TimelineRun run = runtime::timeline_run(file.recorded, file.recorded.plan.kernel, options.recording);
  files.write({run});
  Json document = files.document();
  document.update({{"spans", run.model.recorded()},
                   {"edges", run.model.arrows.size()},
                   {"ok", true},
                   {"target", run.info.target},
                   {"plan", run.info.kernel},
                   {"device", file.recorded.device},
                   {"kernel_us", double(run.model.end) / 1e3}});
  out.document(document);
  out.line(fmt::format("{} on {}: {} bars, {} arrows, {:.1f} us from the first instruction to the last",
                       run.info.kernel, file.recorded.device, run.model.recorded(), run.model.arrows.size(),
                       double(run.model.end) / 1e3));
  files.tell(out);
  return exit_ok;
}

// Writes the files and tells what is in them; `note` is said last.
int finish(std::vector<Traced> traced, const Files& files, const std::string& target, std::string_view note,
           Output& out) {
  std::vector<runtime::TimelineRun> runs;
  bool ok = true;
  size_t spans = 0, edges = 0;
  Json list = Json::array();
  for (Traced& t : traced) {
    ok = ok && t.ok;
    spans += t.run.model.recorded();
    edges += t.run.model.arrows.size();
    list.push_back({{"target", t.run.info.target},
                    {"plan", t.run.info.kernel},
                    {"spans", t.run.model.recorded()},
                    {"edges", t.run.model.arrows.size()},
                    {"times", t.run.info.times}});
    list.back().update(t.facts);
    runs.push_back(std::move(t.run));
  }
  files.write(runs);
  Json document = files.document();
  document.update({{"spans", spans},
                   {"edges", edges},
                   {"ok", ok},
                   {"target", target},
                   {"plan", runs.front().info.kernel},
                   {"runs", list}});
  for (const Traced& t : traced) {
    document.update(t.facts);
    if (!t.ok) document["report"] = t.report;
  }
  out.document(document);
  for (size_t i = 0; i < runs.size(); ++i) {
    const Json& facts = traced[i].facts;
    const std::string time =
        facts.contains("predicted_us")
            ? fmt::format("{:.1f} us predicted", facts["predicted_us"].get<double>())
            : fmt::format(
                  "{:.1f} us from the first instruction to the last on {}; with timestamps the launch takes {:.1f} us "
                  "instead of {:.1f} us",
                  facts["kernel_us"].get<double>(), facts["device"].get<std::string>(),
                  facts["recorded_us"].get<double>(), facts["measured_us"].get<double>());
    out.line(fmt::format("{} on {}: {} bars, {} arrows, {}", runs[i].info.kernel, runs[i].info.target,
                         runs[i].model.recorded(), runs[i].model.arrows.size(), time));
  }
  files.tell(out);
  for (const Traced& t : traced) {
    if (!t.ok) out.line(t.report);
  }
  if (!ok) return exit_wrong;
  if (!note.empty()) out.line(note);
  return exit_ok;
}

// A product with factors or by groups, or one on Blackwell: by the clock of the simulator only.
int trace_product(const TraceOptions& options, Output& out) {
  const std::string& target = options.problem.target;
  if (target == "sm90" || target == "both") {
    throw UsageError(fmt::format(
        "--target {}: only kernels of plain dense products have timestamps; use sim:sm90 or sim:sm100", target));
  }
  const SimulatedProduct product = simulated_product(options.problem, {}, out);
  const Files files(options);
  const runtime::Example& example = *product.example;
  const Swept swept = sweep(example, product.workload, {timeline_mode()}, product.ctas, example.name);
  Traced t{{runtime::model_of(swept.timed), {example.name, product.target, product.problem}},
           swept.ok(),
           swept.report,
           {{"predicted_us", swept.predicted_us}}};
  return finish({std::move(t)}, files, product.target, prediction_note({product.target, example.arch}), out);
}

int run_trace(const TraceOptions& options, Output& out) {
  if (!options.problem.landing.empty() || !options.problem.schedule.empty() || options.problem.seeds != 0) {
    throw UsageError(
        "--landing, --schedule and --seeds: a timeline is one run by the clock, which decides all; leave them out");
  }
  if (options.problem.op != "dense" || wants_block_scaling(options.problem)) return trace_product(options, out);
  const std::string& target = options.problem.target;
  const bool measured = target == "sm90" || target == "both", simulated = target != "sm90";
  ProblemOptions problem = options.problem;
  if (measured) {
    problem.target = "sim:sm90";
    if (!runtime::arch_of_plan(problem.plan)) problem.plan.clear();
  }
  const ChosenProblem chosen = choose(problem, false);
  if (simulated) check_simulated_size(chosen.problem, out);
  const Files files(options);

  const runtime::Example* example = chosen.selection.example;
  int ctas = chosen.selection.ctas;
  std::vector<Traced> traced;
  if (measured) {
    const Recorded what = choose_recorded(options.problem, chosen, simulated);
    if (!can_use_gpu()) {
      throw MissingError(fmt::format(
          "--target {} needs an NVIDIA Hopper GPU, its driver and device code in this build; --target sim:sm90 draws "
          "the timeline that the simulator predicts",
          target));
    }
    if (simulated) {
      example = what.example;
      ctas = runtime::ctas_of(what.kernel, {chosen.problem.m, chosen.problem.n, chosen.problem.k},
                              simulator::ChipTiming::of(Arch::sm90).sms);
    }
    traced.push_back(measure(options, chosen, what));
  }
  if (simulated) traced.push_back(simulate(options, chosen, *example, ctas, measured));

  return finish(std::move(traced), files, measured ? target : chosen.target.word,
                simulated ? prediction_note(chosen.target) : "", out);
}

}  // namespace

void configure_trace(CLI::App& app, Context& context) {
  auto options = std::make_shared<TraceOptions>();
  add_problem_options(app, options->problem, false);
  app.remove_option(app.get_option("--target"));
  app.add_option("--target", options->problem.target,
                 "where it runs: the simulator (default), a GPU (sm90), or both, one above the other")
      ->transform(one_of({"auto", "sm90", "both", "sim:sm80", "sim:sm90", "sim:sm100", "sim:gfx942", "sim:gfx950"}))
      ->group("Problem");
  app.add_option("--perfetto", options->perfetto, "file of the timeline for Perfetto")
      ->check(not_empty())
      ->type_name("FILE");
  app.add_option("--html", options->html,
                 "file of the timeline as a page (default: both, as warpwright-trace.html and .json)")
      ->check(not_empty())
      ->type_name("FILE");
  app.add_option("--recording", options->recording,
                 "draw a launch that a kernel of your own has recorded (check_gpu.h), instead of a problem")
      ->check(not_empty())
      ->type_name("FILE");
  context.runs(app, "./warpwright trace --m 512 --n 512 --k 256 --html gemm.html", [options, &app](Output& out) {
    const auto given = [&](const char* option) { return app.count(option) > 0; };
    if (!options->recording.empty()) {
      for (const char* option : {"--m", "--n", "--k", "--target", "--plan"}) {
        if (given(option)) throw UsageError(fmt::format("--recording and {}: give one of them, not both", option));
      }
      return run_recording(*options, out);
    }
    for (const char* option : {"--m", "--n", "--k"}) {
      if (!given(option)) throw UsageError(fmt::format("{} is required", option));
    }
    return run_trace(*options, out);
  });
}

}  // namespace warpwright::cli

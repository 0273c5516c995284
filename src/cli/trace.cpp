// `trace`: the timeline of one problem, or of a kernel of your own, by the simulator's clock, by timestamps in a
// kernel on the GPU, or both.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/check/runs.h"
#include "cli/commands.h"
#include "cli/gemm_grouped.h"
#include "cli/here.h"
#include "cli/line/arguments.h"
#include "cli/problem/gemm_problem.h"
#include "cli/problem/grouped_problem.h"
#include "cli/simulation.h"
#include "cli/user/user_kernel.h"
#include "gpu/executor.h"
#include "measure/record_gpu.h"
#include "problem/lower.h"
#include "system/whole_file.h"
#include "timeline/recording_file.h"
#include "timeline/stalls.h"
#include "timeline/timeline.h"

namespace warpwright::cli {
namespace {

struct TraceOptions {
  ProblemOptions problem;
  std::string file;    // with user-defined kernels
  std::string kernel;  // one of them
  CompileOptions compile;
  std::string html;
  std::string perfetto;
  std::string recording;
};

// What is written: what was asked for, or both.
struct Files {
  std::optional<system::WholeFile> html, perfetto;

  explicit Files(const TraceOptions& options) {
    const bool both = options.html.empty() && options.perfetto.empty();
    const auto open = [&](const char* option, const std::string& path, const char* usual,
                          std::optional<system::WholeFile>& file) {
      if (path.empty() && !both) return;
      file.emplace(path.empty() ? usual : path);
      if (const Status s = file->check_writable(); !s) throw UsageError(fmt::format("{}: {}", option, s.message()));
    };
    open("--html", options.html, "warpwright-trace.html", html);
    open("--perfetto", options.perfetto, "warpwright-trace.json", perfetto);
    const auto place = [](const system::WholeFile& file) {
      std::error_code ignored;
      return std::filesystem::weakly_canonical(std::filesystem::absolute(file.path(), ignored), ignored);
    };
    if (html && perfetto && place(*html) == place(*perfetto)) {
      throw UsageError(fmt::format("--html and --perfetto: both name {}; each needs a file of its own", html->path()));
    }
  }
  void write(const std::vector<timeline::TimelineRun>& runs) const {
    if (html) {
      if (const Status s = html->write(timeline::page_of(runs)); !s) throw UsageError("--html: " + s.message());
    }
    if (perfetto) {
      if (const Status s = perfetto->write(timeline::perfetto_of(runs)); !s)
        throw UsageError("--perfetto: " + s.message());
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
  timeline::TimelineRun run;
  bool ok = true;
  std::string report;
  Json facts;
  std::string plan, instance;
};

// What runs on the GPU: a plain product by a kernel with timestamps. The simulator then runs the same instance.
catalog::Instance choose_recorded(const ProblemOptions& options) {
  const GemmProblem p = gemm_problem_of(options);
  const problem::GemmShape shape = problem::lower(p).shape;
  if (p.alpha != 1 || p.batch != 1 || shape.epilogue != factor_and_conversion(p.d.type) || p.scaling != Scaling::none ||
      p.a.major != Major::K || p.b.major != Major::K || shape.store != Mover::tma) {
    throw UsageError("--target sm90, both: a kernel with timestamps only multiplies matrices stored along k");
  }
  const auto device = gpu::hopper_device();
  const choice::Chip chip = device ? choice::Chip{device->name, device->multiprocessors} : choice::h200();
  const auto instance = measure::recordable(shape, chip, options.plan);
  if (!instance) fail(instance.status());
  return *instance;
}

Mode timeline_mode() {
  Mode mode;
  mode.landing = simulator::Landing::timed;
  mode.timeline = true;
  return mode;
}

// `stacked`: below a measured run.
Traced simulate(const SimulatedProduct& product, bool stacked) {
  const simulate::Example& example = product.example;
  const Swept swept = sweep(example, product.workload, {timeline_mode()}, product.ctas, example.name);
  Traced t{{timeline::model_of(swept.timed), {example.name, product.target.word, product.problem}},
           swept.ok(),
           swept.report,
           {},
           example.plan_name,
           example.instance};
  t.facts = {{"predicted_us", swept.predicted_us}};
  if (stacked) {
    timeline::leave_out_launch(t.run.model, swept.timed.stats, example.arch);
    t.run.info.times += " from the first instruction on";
    t.facts["predicted_kernel_us"] = double(t.run.model.end) / 1e3;
  }
  return t;
}

Traced measure(const ProblemOptions& options, const catalog::Instance& instance) {
  timeline::GpuRecording recording;
  if (Status s = measure::record_on_gpu(instance, {options.m, options.n, options.k}, options.seed, recording); !s)
    fail(s);
  Traced t;
  t.run = timeline::timeline_run(recording, catalog::name_of(instance), problem_text(gemm_problem_of(options)));
  t.plan = catalog::plan_name(instance);
  t.instance = catalog::name_of(instance);
  t.ok = recording.same;
  if (!t.ok) t.report = "The kernel with timestamps wrote a different result than the one without.";
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
  const auto read = timeline::read_recording(options.recording);
  if (!read) throw UsageError("--recording: " + read.status().message());
  const timeline::GpuRecording& recorded = read->recorded;
  const Files files(options);
  const timeline::TimelineRun run = timeline::timeline_run(recorded, recorded.plan.kernel, options.recording);
  const timeline::Stalls stalls = timeline::stalls_of(run.model);
  files.write({run});
  Json document = files.document();
  document.update({{"spans", run.model.recorded()},
                   {"edges", run.model.arrows.size()},
                   {"ok", true},
                   {"target", run.info.target},
                   {"plan", run.info.kernel},
                   {"device", recorded.device},
                   {"kernel_us", double(run.model.end) / 1e3},
                   {"stalls", timeline::json_of(stalls)}});
  out.document(document);
  out.line(fmt::format("{} on {}: {} bars, {} arrows, {}", run.info.kernel, recorded.device, run.model.recorded(),
                       run.model.arrows.size(), run.info.time));
  if (const std::string idle = stalls.idle.text(); !idle.empty()) out.line(idle);
  files.tell(out);
  return exit_ok;
}

std::string time_text(const Json& facts) {
  if (facts.contains("predicted_us")) return fmt::format("{:.1f} us predicted", facts["predicted_us"].get<double>());
  return fmt::format(
      "{:.1f} us from the first instruction to the last on {}; with timestamps the launch takes {:.1f} us instead of "
      "{:.1f} us",
      facts["kernel_us"].get<double>(), facts["device"].get<std::string>(), facts["recorded_us"].get<double>(),
      facts["measured_us"].get<double>());
}

// Writes the files and says what is in them; `note` comes last.
int finish(std::vector<Traced> traced, const Files& files, const std::string& target, std::string_view note,
           Output& out) {
  std::vector<timeline::TimelineRun> runs;
  bool ok = true;
  size_t spans = 0, edges = 0;
  Json list = Json::array();
  std::vector<timeline::Stalls> stalls;
  for (Traced& t : traced) {
    ok = ok && t.ok;
    t.run.info.time = time_text(t.facts);
    stalls.push_back(timeline::stalls_of(t.run.model));
    spans += t.run.model.recorded();
    edges += t.run.model.arrows.size();
    list.push_back({{"target", t.run.info.target},
                    {"plan", t.plan},
                    {"instance", t.instance},
                    {"spans", t.run.model.recorded()},
                    {"edges", t.run.model.arrows.size()},
                    {"times", t.run.info.times},
                    {"stalls", timeline::json_of(stalls.back())}});
    list.back().update(t.facts);
    runs.push_back(std::move(t.run));
  }
  files.write(runs);
  Json document = files.document();
  document.update({{"spans", spans},
                   {"edges", edges},
                   {"ok", ok},
                   {"target", target},
                   {"plan", traced.front().plan},
                   {"instance", traced.front().instance},
                   {"runs", list}});
  for (const Traced& t : traced) {
    document.update(t.facts);
    if (!t.ok) document["report"] = t.report;
  }
  out.document(document);
  for (size_t i = 0; i < runs.size(); ++i) {
    out.line(fmt::format("{} on {}: {} bars, {} arrows, {}", runs[i].info.kernel, runs[i].info.target,
                         runs[i].model.recorded(), runs[i].model.arrows.size(), runs[i].info.time));
    if (const std::string idle = stalls[i].idle.text(); !idle.empty()) out.line(idle);
  }
  files.tell(out);
  for (const Traced& t : traced) {
    if (!t.ok) out.line(t.report);
  }
  if (!ok) return exit_wrong;
  if (!note.empty()) out.line(note);
  return exit_ok;
}

// A product by groups, or on another architecture than Hopper: by the clock of the simulator only.
int trace_product(const TraceOptions& options, Output& out) {
  const std::string& target = options.problem.target;
  if (target != "auto" && !target.starts_with("sim:")) {
    throw UsageError(
        fmt::format("--target {}: only kernels of plain dense products on Hopper have timestamps; use sim:sm90 or "
                    "sim:sm100",
                    target));
  }
  const SimulatedProduct product = simulated_product(options.problem, {}, out);
  const Files files(options);
  std::vector<Traced> traced;
  traced.push_back(simulate(product, false));
  return finish(std::move(traced), files, product.target.word, prediction_note(product.target), out);
}

const simulate::Example& kernel_of(const TraceOptions& options) {
  const auto kernels = compile_user_kernels(options.file, options.compile);
  if (options.kernel.empty() && kernels.size() == 1) return *kernels.front();
  std::vector<std::string> names;
  for (const simulate::Example* kernel : kernels) {
    if (kernel->name == options.kernel) return *kernel;
    names.push_back(kernel->name);
  }
  if (options.kernel.empty())
    throw UsageError(fmt::format("--kernel: '{}' registers {}; name one of them", options.file, listed(names)));
  throw UsageError(
      fmt::format("--kernel: '{}' does not register '{}'; it has {}", options.file, options.kernel, listed(names)));
}

// A user-defined kernel, at the first of its shapes where the line does not say otherwise.
int trace_user(const TraceOptions& options, const CommandLine& line, Output& out) {
  const std::vector<std::string> taken = {"FILE", "--kernel", "--m",    "--n",        "--k",   "--seed",
                                          "-I",   "-D",       "--html", "--perfetto", "--json"};
  for (const auto& option : line.options()) {
    const std::string& name = option->facts().name;
    if (option->facts().count > 0 && std::find(taken.begin(), taken.end(), name) == taken.end())
      throw UsageError(fmt::format("{}: it is not an option for a kernel of your own ('{}')", name, options.file));
  }
  const simulate::Example& example = kernel_of(options);
  reference::Case shape = example.cases.front();
  if (line.given("--m")) shape.m = options.problem.m;
  if (line.given("--n")) shape.n = options.problem.n;
  if (line.given("--k")) shape.k = options.problem.k;
  check_simulated_size({.m = shape.m, .n = shape.n, .k = shape.k}, out);
  const std::string size = shape_text(shape);
  if (const Status s = example.takes(shape); !s) throw UsageError(fmt::format("{}: {}", size, s.message()));
  const Files files(options);
  const SimulatedProduct product{example,
                                 example.workload(shape, reference::Data::integers, options.problem.seed),
                                 {fmt::format("sim:{}", name(example.arch)), example.arch, true},
                                 size};
  std::vector<Traced> traced;
  traced.push_back(simulate(product, false));
  traced.back().facts["kernel"] = example.name;
  return finish(std::move(traced), files, product.target.word, prediction_note(product.target), out);
}

int run_trace(const TraceOptions& options, Output& out) {
  if (!options.problem.landing.empty() || !options.problem.schedule.empty() || options.problem.seeds != 0) {
    throw UsageError(
        "--landing, --schedule and --seeds: a timeline is one timed run, which fixes all three; leave them out");
  }
  if (options.problem.target == "gpu" || is_grouped(options.problem) || arch_of(options.problem) != Arch::sm90) {
    return trace_product(options, out);
  }
  const std::string& target = options.problem.target;
  const bool measured = target == "sm90" || target == "both", simulated = target != "sm90";
  ProblemOptions problem = options.problem;
  std::vector<Traced> traced;
  std::optional<catalog::Instance> recorded;
  if (measured) {
    recorded = choose_recorded(problem);
    // Before anything is compiled for the simulator.
    if (!runs_here(Arch::sm90)) {
      throw MissingError(fmt::format(
          "--target {} needs an NVIDIA Hopper GPU, its driver and device code in this build; --target sim:sm90 draws "
          "the timeline that the simulator predicts",
          target));
    }
    problem.target = "sim:sm90";
    problem.plan = catalog::name_of(*recorded);
  }
  // A bad problem is refused before anything is written or run.
  std::optional<SimulatedProduct> product;
  if (simulated) product = simulated_dense(problem, out);
  const Files files(options);
  if (measured) traced.push_back(measure(options.problem, *recorded));
  if (simulated) traced.push_back(simulate(*product, measured));
  return finish(std::move(traced), files, measured ? target : product->target.word,
                simulated ? prediction_note(product->target) : "", out);
}

}  // namespace

void configure_trace(CommandLine& line, Context& context) {
  auto options = std::make_shared<TraceOptions>();
  line.file("FILE", options->file,
            "a C++ file that registers kernels of your own (warpwright/check.h), instead of a problem");
  line.text("--kernel", options->kernel,
            "which one, if FILE registers several; --m, --n and --k are those of its first shape unless given")
      .not_empty()
      .group("A kernel of your own");
  add_compile_options(line, options->compile);
  add_problem_options(line, options->problem, false);
  line.remove("--target");
  line.text("--target", options->problem.target,
            "where it runs: the simulator (default), a GPU (sm90), or both, one above the other")
      .one_of({"auto", "sm90", "both", "sim:sm80", "sim:sm90", "sim:sm100", "sim:gfx942", "sim:gfx950"})
      .group("Problem");
  line.file("--perfetto", options->perfetto, "write the timeline to this file for Perfetto");
  line.file("--html", options->html,
            "write the timeline to this file as a page (default: both, as warpwright-trace.html and .json)");
  line.file("--recording", options->recording,
            "draw a launch of your own kernel that was recorded (check_gpu.h), instead of a problem");
  context.runs(line, "./warpwright trace --m 512 --n 512 --k 256 --html gemm.html", [options, &line](Output& out) {
    const auto given = [&](const char* option) { return line.given(option); };
    if (!options->recording.empty()) {
      for (const char* option : {"--m", "--n", "--k", "--target", "--plan", "FILE", "--kernel"}) {
        if (given(option)) throw UsageError(fmt::format("--recording and {}: give one of them, not both", option));
      }
      return run_recording(*options, out);
    }
    if (!options->file.empty()) return trace_user(*options, line, out);
    refuse_compile_options(options->compile, "a problem");
    if (given("--kernel")) throw UsageError("--kernel: it names a kernel of FILE, and no FILE was given");
    for (const char* option : {"--m", "--n", "--k"}) {
      if (!given(option)) throw UsageError(fmt::format("{} is required", option));
    }
    return run_trace(*options, out);
  });
}

}  // namespace warpwright::cli

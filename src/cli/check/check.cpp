// `check`: the checker over sizes, landings and schedules of an instance.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "catalog/instance.h"
#include "cli/check/certificates.h"
#include "cli/check/debugger.h"
#include "cli/check/mutants.h"
#include "cli/check/runs.h"
#include "cli/check/shown.h"
#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/simulation.h"
#include "cli/user/user_kernel.h"
#include "sim/debug/debug.h"
#include "simulate/examples.h"
#include "simulate/product.h"

namespace warpwright::cli {
namespace {

struct CheckOptions {
  std::string kernel;
  std::vector<std::string> sizes;
  std::int64_t seeds = 2;
  std::int64_t max_seconds = 0;  // 0: no limit
  std::uint64_t seed = 1;
  bool all = false;
  bool list = false;
  bool mutate = false;
  bool certify = false;
  bool debug = false;
  CompileOptions compile;  // for a file
  ProblemOptions modes;    // --landing and --schedule; empty: all of them
};

reference::Case parse_size(const std::string& word) {
  std::int64_t extent[3] = {};
  const auto parts = split(word, 'x');
  bool good = parts.size() == 2 || parts.size() == 3;
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const char* end = parts[i].data() + parts[i].size();
    const auto [stop, error] = std::from_chars(parts[i].data(), end, extent[i]);
    good = !parts[i].empty() && stop == end && error == std::errc() && extent[i] >= 0;
  }
  if (!good) throw UsageError(fmt::format("--sizes: '{}' is not MxNxK, or MxN for a copy", word));
  return {extent[0], extent[1], extent[2]};
}

// Whole names also for one that is a plan, or nearly one: a plan has several instances.
std::vector<std::string> nearest_instances(const std::string& name) {
  std::vector<std::string> names;
  for (const std::string& near : catalog::nearest_names(name)) {
    for (const std::string& known : catalog::ahead_names()) {
      const bool same = near == known || known.find("/" + near + "/") != std::string::npos;
      if (same && names.size() < 3) names.push_back(known);
    }
  }
  return names;
}

// An instance, or the kernels of a source file.
std::vector<const simulate::Example*> examples_named(const CheckOptions& options) {
  const std::string& name = options.kernel;
  if (is_source_file(name)) return compile_user_kernels(name, options.compile);
  refuse_compile_options(options.compile, name);
  if (const simulate::Example* e = simulate::find_example(name)) return {e};
  // Not in the catalogue: any instance that can be compiled.
  const auto instance = catalog::parse_instance(name);
  if (!instance) {
    throw UsageError(fmt::format("'{}' is neither an instance nor a source file; the nearest instances are {}", name,
                                 listed(nearest_instances(name))));
  }
  auto example = simulate::example_of(*instance);
  if (!example) fail(example.status());
  static std::deque<simulate::Example> kept;
  return {&kept.emplace_back(std::move(*example))};
}

std::vector<reference::Case> cases_of(const simulate::Example& example, const CheckOptions& options, Output& out) {
  if (options.sizes.empty()) return example.cases;
  std::vector<reference::Case> cases;
  for (const auto& word : options.sizes) {
    const reference::Case c = parse_size(word);
    const bool has_k = std::count(word.begin(), word.end(), 'x') == 2;
    if (!has_k && example.cases.front().k != 0)
      throw UsageError(fmt::format("--sizes: '{}': a size of {} is MxNxK, such as {}", word, example.name,
                                   shape_text(example.cases.front())));
    // Before the kernel itself is asked, for which a user's kernel has its arrays arranged.
    check_simulated_size({.m = c.m, .n = c.n, .k = c.k}, out);
    if (const Status s = example.takes(c); !s) throw UsageError(fmt::format("--sizes: {}: {}", word, s.message()));
    cases.push_back(c);
  }
  return cases;
}

// The landings and schedules that are asked for, of each case, unless the kernel's own sizes were not replaced: then
// all of those that turn its rings, which come first, and the plainest of the others. With all kernels at once, what
// finds nearly all: of 303 planted bugs 299 were found by the plainest run, three with a role frozen and one by a
// random schedule; so every case gets the plainest, and the one that turns the rings the others.
std::vector<CheckWork::Run> runs_of(const BlockPlan& plan, const std::vector<reference::Case>& cases,
                                    const CheckOptions& options) {
  std::size_t turning = 2;
  std::vector<Mode> modes, plain;
  const bool named = !options.modes.landing.empty() || !options.modes.schedule.empty();
  if (!named && options.all) {
    turning = 1;
    modes = few_modes(options.seed);
    plain = {modes.front()};
    const std::vector<Mode> frozen = frozen_modes(plan);
    modes.insert(modes.end(), frozen.begin(), frozen.end());
  } else if (!named) {
    modes = all_modes(plan, options.seeds, options.seed);
    plain = plain_modes(options.seed);
  } else {
    ProblemOptions one = options.modes;
    one.seeds = options.seeds;
    one.seed = options.seed;
    modes = plain = modes_of(one, plan);
  }
  std::vector<CheckWork::Run> runs;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const Mode& mode : options.sizes.empty() && i >= turning ? plain : modes) runs.push_back({i, mode});
  }
  return runs;
}

// Verdicts of several kernels are shown as they come, so that whoever interrupts the command has seen them.
class Rows {
 public:
  Rows(const std::vector<CheckWork>& work, Output& out) : out_(out), at_once_(work.size() == 1) {
    for (const CheckWork& one : work) width_ = std::max(width_, one.example->name.size());
    if (!at_once_) show({"kernel", "verdict", "sizes", "runs", "checks"});
  }
  void add(const CheckWork& work, const Checked& c) {
    const std::vector<std::string> row = {work.example->name, c.verdict, fmt::format("{}", work.cases.size()),
                                          fmt::format("{}", c.runs), fmt::format("{}", c.checks)};
    if (at_once_) {
      out_.table(Table({"kernel", "verdict", "sizes", "runs", "checks"}).row(row));
    } else {
      show(row);
    }
  }

 private:
  void show(const std::vector<std::string>& cells) {
    out_.line(
        fmt::format("{:<{}}  {:<10}  {:>5}  {:>4}  {:>10}", cells[0], width_, cells[1], cells[2], cells[3], cells[4]));
  }

  Output& out_;
  bool at_once_;
  std::size_t width_ = 6;
};

int show(const std::vector<CheckWork>& work, const std::vector<Checked>& results, const CheckOptions& options,
         double wall, Output& out) {
  std::string verdict = "clean", reports, first;
  Json finding = nullptr;
  std::uint64_t runs = 0, checks = 0;
  Json kernels = Json::array();
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Checked& c = results[i];
    runs += std::uint64_t(c.runs);
    checks += c.checks;
    if (verdict != "failed" && c.verdict != "clean") {
      if (first.empty() || c.verdict == "failed") {
        first = c.report;
        finding = finding_document(c);
      }
      verdict = c.verdict;
    }
    if (!c.report.empty()) reports += "\n" + c.report + "\n";
    kernels.push_back({{"name", work[i].example->name},
                       {"verdict", c.verdict},
                       {"sizes", work[i].cases.size()},
                       {"runs", c.runs},
                       {"checks", c.checks},
                       {"processor_s", c.processor_s},
                       {"report", c.report.empty() ? Json(nullptr) : Json(c.report)},
                       {"finding", finding_document(c)},
                       {"predicted", predicted_document(work[i], c)},
                       {"too_few_phases", c.unturned},
                       {"gaps", c.gaps},
                       {"never_called", c.unreached}});
  }
  out.document({{"verdict", verdict},
                {"runs", runs},
                {"seeds", options.seeds},
                {"report", first.empty() ? Json(nullptr) : Json(first)},
                {"finding", finding},
                {"checks", checks},
                {"wall_s", wall},
                {"kernels", kernels}});
  show_predicted(work, results, out);
  if (!reports.empty()) out.line(reports.substr(0, reports.size() - 1));
  out.line(fmt::format("{}: {} run{}, {} seed{}, {:.1f} s",
                       out.paint(verdict == "clean" ? Mark::good : Mark::bad, verdict), runs, runs == 1 ? "" : "s",
                       options.seeds, options.seeds == 1 ? "" : "s", wall));
  return verdict == "clean" ? exit_ok : exit_wrong;
}

int run_list(Output& out) {
  Table table({"instance", "what it does"});
  Json list = Json::array();
  for (const auto& e : simulate::examples()) {
    const std::string target = fmt::format("sim:{}", name(e.arch));
    Json sizes = Json::array();
    for (const auto& c : e.cases) sizes.push_back(shape_text(c));
    list.push_back(
        {{"name", e.name}, {"target", target}, {"instance", e.instance}, {"summary", e.summary}, {"sizes", sizes}});
    table.row({e.name, e.summary});
  }
  out.document({{"kernels", list}});
  out.table(table);
  return exit_ok;
}

// One run of a file's first kernel and size, in the plainest mode unless another is named. Outside of gdb it starts
// gdb, which calls it again.
int run_in_debugger(CheckOptions options, Output& out) {
  if (!is_source_file(options.kernel))
    throw UsageError(fmt::format("--debug: it is for a source file, and '{}' is not one", options.kernel));
  if (options.mutate || options.certify)
    throw UsageError("--debug: it makes one plain run; leave --mutate and --certify out");
  if (!is_debugged()) start_debugger();
  simulator::follow_threads();
  options.compile.for_debugger = true;
  const simulate::Example& e = *examples_named(options).front();
  const reference::Case size = cases_of(e, options, out).front();
  if (options.modes.landing.empty()) options.modes.landing = "eager";
  if (options.modes.schedule.empty()) options.modes.schedule = "fifo";
  options.modes.seed = options.seed;
  Mode mode = modes_of(options.modes, *e.plan).front();
  mode.hang_seconds = 3600;  // a person who steps through a loop may take long
  Swept swept;
  run_mode(e, e.workload(size, reference::Data::integers, options.seed), mode, 0, swept);
  const std::string what = fmt::format("{} on {}: ", e.name, shape_text(size));
  out.document({{"verdict", swept.ok() ? "clean" : "failed"}, {"runs", swept.runs}, {"report", swept.report}});
  out.line(what + (swept.ok() ? "nothing was found in this run" : swept.report));
  return swept.ok() ? exit_ok : exit_wrong;
}

int run_check(const CheckOptions& options, Output& out) {
  if (options.list) {
    refuse_compile_options(options.compile, "--list");
    if (options.all || !options.kernel.empty() || !options.sizes.empty())
      throw UsageError("--list: it shows every kernel and checks none; leave KERNEL, --all and --sizes out");
    return run_list(out);
  }
  if (options.all == !options.kernel.empty()) {
    throw UsageError("one kernel or --all is needed; 'check --list' names the kernels");
  }
  if (options.debug) return run_in_debugger(options, out);
  if (options.mutate && options.certify)
    throw UsageError(
        "--certify: it is about the kernel as it is, --mutate about the kernel with a fault; give one of them, not "
        "both");
  if (options.certify) {
    if (!options.sizes.empty()) throw UsageError("--certify: it takes the kernel's own sizes; leave --sizes out");
    if (!options.all) return check_certificates(examples_named(options), out);
    std::vector<const simulate::Example*> all;
    for (const auto& e : simulate::examples()) all.push_back(&e);
    return check_certificates(all, out);
  }
  if (options.mutate) {
    if (!options.sizes.empty() || options.all)
      throw UsageError("--mutate: it takes one kernel at that kernel's own sizes; leave --sizes and --all out");
    return check_mutants(examples_named(options), out);
  }
  std::vector<CheckWork> work;
  const auto add = [&](const simulate::Example& e, std::vector<reference::Case> cases) {
    auto runs = runs_of(*e.plan, cases, options);
    work.push_back({&e, std::move(cases), std::move(runs)});
  };
  if (options.all) {
    refuse_compile_options(options.compile, "--all");
    if (!options.sizes.empty()) throw UsageError("--sizes: a size fits one kernel; name it instead of --all");
    for (const auto& e : simulate::examples()) add(e, e.cases);
  } else {
    for (const simulate::Example* e : examples_named(options)) add(*e, cases_of(*e, options, out));
  }
  CheckLimits limits{options.seed, options.max_seconds};
  if (is_source_file(options.kernel)) {
    limits.threads = 1;  // what they share belongs to the user
    for (std::size_t i = 0; i < work.size(); ++i) {
      work[i].begins_calls = i == 0;
      work[i].judges_calls = i + 1 == work.size();
    }
  }

  const auto begin = std::chrono::steady_clock::now();
  std::vector<Checked> results(work.size());
  Rows rows(work, out);
  check_all(work, limits, [&](std::size_t index, const Checked& checked) {
    results[index] = checked;
    rows.add(work[index], checked);
  });
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return show(work, results, options, wall, out);
}

}  // namespace

void configure_check(CommandLine& line, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  line.text("KERNEL", options->kernel,
            "an instance, or a C++ file that registers kernels of your own (warpwright/check.h)")
      .offers(simulate::example_names())
      .type("NAME|FILE");
  line.list("--sizes", options->sizes,
            "MxNxK,... (default: sizes that refill every stage and reach the edges; no seed finds what the sizes do "
            "not exercise)")
      .delimiter(',');
  line.number("--seeds", options->seeds, "seeds of the random landings and schedules (default 2)", 0, 1'000'000);
  line.number("--seed", options->seed, "the first seed (default 1)", 0, INT64_MAX);
  line.number("--max-seconds", options->max_seconds, "stop after this time; the verdict is then incomplete", 1,
              1'000'000);
  add_mode_options(line, options->modes);
  line.flag("--all", options->all,
            "every instance of the catalogue at all its sizes, in few modes; a kernel that is named is run in all");
  line.flag("--mutate", options->mutate,
            "omit, double, move or misdirect each synchronization, call by call, and list what would go unnoticed");
  line.flag("--certify", options->certify,
            "explain for every barrier why the run stands for all interleavings, or why it does not");
  line.flag(
      "--debug", options->debug,
      "run FILE once in gdb, not optimized: break on its lines, step, look at any thread (docs/debug-with-gdb.md)");
  add_compile_options(line, options->compile);
  line.flag("--list", options->list, "show what can be checked");
  context.runs(line, "./warpwright check sm90/dense-128x256-c2-s4/bf16-nt --seeds 8",
               [options](Output& out) { return run_check(*options, out); });
}

}  // namespace warpwright::cli

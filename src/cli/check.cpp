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
#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/simulation.h"
#include "cli/user_kernel.h"
#include "simulate/examples.h"
#include "simulate/product.h"

namespace warpwright::cli {
namespace {

struct CheckOptions {
  std::string kernel;
  std::vector<std::string> sizes;
  std::int64_t seeds = 4;
  std::int64_t max_seconds = 0;  // 0: no limit
  std::uint64_t seed = 1;
  bool all = false;
  bool list = false;
  ProblemOptions modes;  // --landing and --schedule; empty: all of them
};

struct Checked {
  const simulate::Example* example = nullptr;
  std::string verdict;
  int runs = 0;
  std::uint64_t checks = 0;
  std::string report;
};

std::string shape_text(const reference::Case& c) {
  return c.k == 0 ? fmt::format("{}x{}", c.m, c.n) : fmt::format("{}x{}x{}", c.m, c.n, c.k);
}

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
std::vector<const simulate::Example*> examples_named(const std::string& name) {
  if (is_source_file(name)) return compile_user_kernels(name);
  if (const simulate::Example* e = simulate::find_example(name)) return {e};
  // Not in the catalogue: any instance that can be compiled.
  const auto instance = catalog::parse_instance(name);
  if (!instance) {
    throw UsageError(fmt::format("'{}' is no instance and no source file; the nearest instances are {}", name,
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
    // Ahead of the kernel's own opinion, for which one of the user's is given its arrays.
    check_simulated_size({.m = c.m, .n = c.n, .k = c.k}, out);
    if (const Status s = example.takes(c); !s) throw UsageError(fmt::format("--sizes: {}: {}", word, s.message()));
    cases.push_back(c);
  }
  return cases;
}

class Clock {
 public:
  explicit Clock(std::int64_t max_seconds) : limit_(max_seconds) {}
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  bool over() const { return limit_ > 0 && seconds() >= double(limit_); }

 private:
  std::int64_t limit_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::vector<Mode> modes_to_check(const BlockPlan& plan, const CheckOptions& options) {
  if (options.modes.landing.empty() && options.modes.schedule.empty())
    return all_modes(plan, options.seeds, options.seed);
  ProblemOptions one = options.modes;
  one.seeds = options.seeds;
  one.seed = options.seed;
  return modes_of(one, plan);
}

Checked check_one(const simulate::Example& example, const std::vector<reference::Case>& cases,
                  const CheckOptions& options, const Clock& clock) {
  prepare(example);
  const auto modes = modes_to_check(*example.plan, options);
  Checked checked{&example, "clean", 0, 0, ""};
  Progress progress(example.name, cases.size() * modes.size());
  for (const reference::Case& shape : cases) {
    // Whole numbers: every sum is exact, so that a single wrong element is seen.
    const auto workload = example.workload(shape, reference::Data::integers, options.seed);
    for (const Mode& mode : modes) {
      if (clock.over()) {
        checked.verdict = "incomplete";
        checked.report = fmt::format("stopped after {:.0f} s, before {} runs of {}", clock.seconds(),
                                     cases.size() * modes.size() - std::size_t(checked.runs), example.name);
        return checked;
      }
      Swept swept;
      run_mode(example, workload, mode, 0, swept);
      ++checked.runs;
      checked.checks += swept.checks;
      if (!swept.ok()) {
        checked.verdict = swept.unfinished ? "incomplete" : "failed";
        checked.report = fmt::format("{} on {}: {}", example.name, shape_text(shape), swept.report);
        return checked;
      }
      progress.advance();
    }
  }
  return checked;
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

int run_check(const CheckOptions& options, Output& out) {
  if (options.list) {
    if (options.all || !options.kernel.empty() || !options.sizes.empty())
      throw UsageError("--list: it shows every kernel and checks none; leave KERNEL, --all and --sizes out");
    return run_list(out);
  }
  if (options.all == !options.kernel.empty()) {
    throw UsageError("one kernel or --all is needed; 'check --list' names the kernels");
  }
  std::vector<std::pair<const simulate::Example*, std::vector<reference::Case>>> work;
  if (options.all) {
    if (!options.sizes.empty()) throw UsageError("--sizes: a size fits one kernel; name it instead of --all");
    for (const auto& e : simulate::examples()) work.emplace_back(&e, e.cases);
  } else {
    for (const simulate::Example* e : examples_named(options.kernel)) work.emplace_back(e, cases_of(*e, options, out));
  }

  const Clock clock(options.max_seconds);
  std::string verdict = "clean", report;
  std::uint64_t runs = 0, checks = 0;
  Json kernels = Json::array();
  Table table({"kernel", "verdict", "sizes", "runs", "checks"});
  for (const auto& [example, cases] : work) {
    const Checked c = check_one(*example, cases, options, clock);
    runs += std::uint64_t(c.runs);
    checks += c.checks;
    if (verdict != "failed" && c.verdict != "clean") {
      if (report.empty() || c.verdict == "failed") report = c.report;
      verdict = c.verdict;
    }
    kernels.push_back({{"name", example->name},
                       {"verdict", c.verdict},
                       {"sizes", cases.size()},
                       {"runs", c.runs},
                       {"checks", c.checks},
                       {"report", c.report.empty() ? Json(nullptr) : Json(c.report)}});
    table.row({example->name, c.verdict, fmt::format("{}", cases.size()), fmt::format("{}", c.runs),
               fmt::format("{}", c.checks)});
  }
  out.document({{"verdict", verdict},
                {"runs", runs},
                {"seeds", options.seeds},
                {"report", report.empty() ? Json(nullptr) : Json(report)},
                {"checks", checks},
                {"wall_s", clock.seconds()},
                {"kernels", kernels}});
  out.table(table);
  if (!report.empty()) out.line("\n" + report);
  out.line(fmt::format("{}: {} runs, {} seeds, {:.1f} s",
                       out.paint(verdict == "clean" ? Mark::good : Mark::bad, verdict), runs, options.seeds,
                       clock.seconds()));
  return verdict == "clean" ? exit_ok : exit_wrong;
}

}  // namespace

void configure_check(CommandLine& line, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  line.text("KERNEL", options->kernel,
            "an instance, or a C++ file that registers kernels of your own (warpwright/check.h)")
      .offers(kernel_names())
      .type("NAME|FILE");
  line.list("--sizes", options->sizes, "MxNxK,... (default: sizes that reach the kernel's edges)").delimiter(',');
  line.number("--seeds", options->seeds, "seeds of the random landings and schedules (default 4)", 0, 1'000'000);
  line.number("--seed", options->seed, "the first seed (default 1)", 0, INT64_MAX);
  line.number("--max-seconds", options->max_seconds, "stop then; the verdict is incomplete", 1, 1'000'000);
  add_mode_options(line, options->modes);
  line.flag("--all", options->all, "every instance of the catalogue");
  line.flag("--list", options->list, "show what can be checked");
  context.runs(line, "./warpwright check sm90/dense-128x256-c2-s4/bf16-nt --sizes 512x512x256,300x520x200 --seeds 8",
               [options](Output& out) { return run_check(*options, out); });
}

}  // namespace warpwright::cli

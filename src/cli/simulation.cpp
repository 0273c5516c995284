#include "cli/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "catalog/instance.h"
#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/problem/gemm_problem.h"
#include "problem/words.h"
#include "reference/problem_workload.h"
#include "simulate/executor.h"
#include "simulate/product.h"

namespace warpwright::cli {
namespace {

using simulator::Landing;
using simulator::Scheduling;

constexpr std::uint64_t kMostProducts = std::uint64_t(1) << 33;
constexpr std::uint64_t kManyProducts = std::uint64_t(1) << 30;
constexpr std::uint64_t kMostElements = std::uint64_t(1)
                                        << 27;  // elements of an array; in the reference that is a gigabyte

bool draws_numbers(const Mode& m) {
  return m.landing == Landing::seeded || m.scheduling == Scheduling::random || m.scheduling == Scheduling::pct;
}

std::vector<std::string> roles_of(const BlockPlan& plan) {
  std::vector<std::string> names;
  for (int i = 0; i < plan.role_count; ++i) names.emplace_back(plan.roles[i].name);
  return names;
}

std::vector<Mode> schedules_of(const std::string& word, const BlockPlan& plan) {
  const auto roles = roles_of(plan);
  std::vector<Mode> list;
  if (word.empty()) {
    list.push_back(mode(Landing::eager));
    list.push_back(mode(Landing::eager, Scheduling::lanes));
    for (const auto& role : roles) list.push_back(mode(Landing::eager, Scheduling::freeze, role));
    list.push_back(mode(Landing::eager, Scheduling::random));
    list.push_back(mode(Landing::eager, Scheduling::pct));
    return list;
  }
  const ScheduleWord schedule = parse_schedule(word);
  if (schedule.kind == "freeze") {
    if (std::find(roles.begin(), roles.end(), schedule.role) == roles.end()) {
      throw UsageError(fmt::format("--schedule: '{}' is not a role of {}; it has {}{}", schedule.role, plan.kernel,
                                   listed(roles), suggestion(schedule.role, roles)));
    }
    return {mode(Landing::eager, Scheduling::freeze, schedule.role)};
  }
  if (schedule.kind == "lanes") return {mode(Landing::eager, Scheduling::lanes)};
  if (schedule.kind == "random") return {mode(Landing::eager, Scheduling::random)};
  if (schedule.kind == "pct") {
    Mode m = mode(Landing::eager, Scheduling::pct);
    m.pct_depth = schedule.depth;
    return {m};
  }
  return {mode(Landing::eager)};
}

std::vector<Landing> landings_of(const std::string& word) {
  if (word == "eager") return {Landing::eager};
  if (word == "late") return {Landing::late};
  if (word == "seeded") return {Landing::seeded};
  if (word == "timed") return {Landing::timed};
  return {Landing::eager, Landing::late, Landing::seeded};
}

}  // namespace

std::vector<Mode> modes_of(const ProblemOptions& options, const BlockPlan& plan) {
  const bool quick = options.landing.empty() && options.schedule.empty();
  const std::int64_t seeds = std::max<std::int64_t>(1, options.seeds);
  if (quick) return landing_modes(seeds, options.seed);
  std::vector<Mode> list;
  for (const Landing landing : landings_of(options.landing)) {
    for (Mode m : schedules_of(options.schedule, plan)) {
      m.landing = landing;
      for (std::int64_t s = 0; s < (draws_numbers(m) ? seeds : 1); ++s) {
        m.seed = options.seed + std::uint64_t(s);
        list.push_back(m);
      }
    }
  }
  list.push_back(mode(Landing::timed));
  return list;
}

std::vector<Mode> all_modes(const BlockPlan& plan, std::int64_t seeds, std::uint64_t first_seed) {
  std::vector<Mode> list = {mode(Landing::eager), mode(Landing::late), mode(Landing::timed)};
  for (const auto& role : roles_of(plan)) {
    // In a timed run the clock, not the scheduler, decides which thread runs: freezing a role there changes nothing.
    for (const Landing landing : {Landing::eager, Landing::late})
      list.push_back(mode(landing, Scheduling::freeze, role));
  }
  for (std::int64_t s = 0; s < seeds; ++s) {
    for (const Scheduling scheduling : {Scheduling::lanes, Scheduling::random, Scheduling::pct}) {
      Mode m = mode(Landing::seeded, scheduling);
      m.seed = first_seed + std::uint64_t(s);
      list.push_back(m);
    }
  }
  return list;
}

std::vector<Mode> few_modes(std::uint64_t seed) {
  Mode random = mode(Landing::seeded, Scheduling::random);
  random.seed = seed;
  return {mode(Landing::eager), random};
}

std::vector<Mode> plain_modes(std::uint64_t seed) {
  std::vector<Mode> list = few_modes(seed);
  list.insert(list.begin() + 1, {mode(Landing::late), mode(Landing::timed)});
  return list;
}

std::vector<Mode> frozen_modes(const BlockPlan& plan) {
  std::vector<Mode> list;
  for (const auto& role : roles_of(plan)) list.push_back(mode(Landing::eager, Scheduling::freeze, role));
  return list;
}

void prepare(const simulate::Example& example) {
  const auto instance = catalog::parse_instance(example.instance);
  if (!instance) return;  // a kernel of your own
  if (const auto compiled = simulate::ready(*instance); !compiled) fail(compiled.status());
}

Arch arch_of(const ProblemOptions& options) {
  std::string_view word = options.target;
  if (word.starts_with("sim:")) word.remove_prefix(4);
  if (word == "auto" &&
      problem::parse_block_scaling(options.scaling).value_or(BlockScaling::none) != BlockScaling::none) {
    return Arch::sm100;
  }
  if (word == "auto" || word == "both") {
    const size_t slash = options.plan.find('/');
    word = slash == std::string::npos ? std::string_view("sm90") : std::string_view(options.plan).substr(0, slash);
  }
  for (const Arch arch : {Arch::sm80, Arch::sm100, Arch::gfx942, Arch::gfx950})
    if (word == name(arch)) return arch;
  return Arch::sm90;
}

void fail(const Status& status) {
  switch (status.code()) {
    case Code::missing:
      throw MissingError(status.message());
    case Code::invalid_argument:
    case Code::unsupported:
      throw UsageError(status.message());
    default:
      throw std::runtime_error(status.message());
  }
}

SimulatedProduct simulated_dense(const ProblemOptions& options, Output& out,
                                 const std::function<void(reference::Workload&)>& take) {
  const Arch arch = arch_of(options);
  const GemmProblem problem = gemm_problem_of(options);
  check_simulated_size(extents_of(options), out);
  // The chip that the simulator represents, so that the choice is the one a GPU of that name would get.
  const auto product = simulate::dense_product(problem, choice::simulated_chip(arch));
  if (!product) fail(product.status());
  auto workload = reference::workload_of(product->problem, 0, reference::Data::normal, options.seed);
  if (take) take(workload);
  auto example = simulate::example_of(*product);  // compiles what is not ready
  if (!example) fail(example.status());
  return {std::move(*example),
          std::move(workload),
          {fmt::format("sim:{}", name(arch)), arch, true},
          problem_text(problem),
          simulate::ctas_on_chip(*product)};
}

Extents extents_of(const ProblemOptions& o) {
  const bool has_groups = o.op.starts_with("grouped");
  return {o.m, o.n, o.k, o.batch, has_groups ? o.groups : 1, o.op == "grouped_k"};
}

void check_simulated_size(const Extents& p, Output& out) {
  // The extents are below 2^31, so the product of two fits and the third is compared by division.
  const std::uint64_t area = std::uint64_t(p.m) * std::uint64_t(p.n);
  const std::uint64_t k = std::uint64_t(std::max<std::int64_t>(p.k, 1)), batch = std::uint64_t(p.batch);
  if (batch > 0 && area > kMostProducts / k / batch) {
    throw UsageError(
        fmt::format("m = {}, n = {}, k = {}: the simulator takes problems of m*n*k up to 2^33, such as "
                    "2048 x 2048 x 2048",
                    p.m, p.n, p.k));
  }
  const auto groups = std::uint64_t(p.groups);
  const auto refuse = [&](const char* what, std::uint64_t count, std::uint64_t rows, std::uint64_t columns) {
    if (count == 0 || rows * columns <= kMostElements / count) return;
    throw UsageError(fmt::format(
        "{}m = {}, n = {}, k = {}: {} has {} x {} elements, the simulator takes arrays of up to 2^27",
        groups == 1 ? "" : fmt::format("groups = {}, ", groups), p.m, p.n, p.k, what, count * rows, columns));
  };
  refuse("A", 1, std::uint64_t(p.m), k);
  refuse("B", p.along_k ? 1 : groups, std::uint64_t(p.n), k);
  refuse("the result", p.along_k ? groups : 1, std::uint64_t(p.m), std::uint64_t(p.n));
  if (area * k > kManyProducts)
    out.note("A problem of this size can take the simulator a minute; smaller ones take seconds.");
}

const char* prediction_note(const Target& target) {
  if (is_cdna(target.arch))
    return "Times are predictions of the simulator; this project has never run AMD code on hardware.";
  return target.arch == Arch::sm100
             ? "Times are predictions of the simulator; this project has never run Blackwell code on hardware."
             : "Times are predictions of the simulator, not measurements.";
}

int show_swept(const Swept& swept, const SimulatedProduct& product, const ProblemOptions& options, double wall_s,
               Output& out) {
  const simulate::Example& example = product.example;
  const std::string plan = example.plan_name.empty() ? example.name : example.plan_name;
  const std::string where =
      product.ctas == 0
          ? "a few SMs"
          : fmt::format("{} {}{}", product.ctas, is_cdna(example.arch) ? "CU" : "SM", product.ctas == 1 ? "" : "s");
  const std::string empty = empty_text(options);
  const bool launched = !product.workload.output().bytes.empty();
  Json document = {{"ok", swept.ok()},
                   {"target", product.target.word},
                   {"kernel", example.plan->kernel},
                   {"plan", plan},
                   {"instance", example.instance},
                   {"max_rel_error", swept.max_rel_error},
                   {"wall_s", wall_s},
                   {"predicted_us", nullptr},
                   {"runs", swept.runs},
                   {"checks", swept.checks},
                   {"out_dtype", name(product.workload.output().type)}};
  const std::string formula = is_formula(options.epilogue) ? formula_of(options.epilogue) : "";
  if (!formula.empty()) document["epilogue"] = formula;
  Table table;
  table.row({"kernel", example.plan->kernel});
  table.row({"instance", example.instance});
  table.row({"target", product.target.word});
  table.row({"problem", product.problem});
  if (!formula.empty()) table.row({"epilogue", formula});
  table.row({"result", swept.ok() ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", swept.max_rel_error)});
  table.row({"runs", fmt::format("{} ({:.1f} s)", swept.runs, wall_s)});
  if (swept.ok()) {
    document["predicted_us"] = swept.predicted_us;
    if (!empty.empty()) table.row({"empty", empty});
    if (launched) table.row({"predicted", fmt::format("{:.1f} us on {}", swept.predicted_us, where)});
  } else {
    document["report"] = swept.report;
  }
  out.document(document);
  out.table(table);
  if (!swept.ok()) {
    out.line(swept.report);
    return exit_wrong;
  }
  if (launched) out.line(prediction_note(product.target));
  return exit_ok;
}

}  // namespace warpwright::cli

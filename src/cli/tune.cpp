// `tune`: measures plans on this GPU and writes the table that the choice of a plan looks into first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/problem/shapes.h"
#include "cli/simulation.h"
#include "cli/tune_basis.h"
#include "measure/basis.h"
#include "measure/tune_gpu.h"
#include "measure/tune_grouped.h"
#include "problem/words.h"
#include "system/whole_file.h"

namespace warpwright::cli {
namespace {

struct TuneCommand {
  std::string op = "dense";
  std::int64_t groups = 1;
  std::string shapes;
  std::string sizes;
  std::string dtype;  // empty: bf16 for dense products, e4m3 for the others
  std::string out;
  double budget = 0;
  int finalists = measure::TuneOptions{}.finalists;
  int rounds = measure::BenchOptions{}.rounds;
  double burst = 0.25;
  bool ahead_only = false;
  int random = 0;
  std::uint64_t draw = 1;
  bool regret = false, every_plan = false;
};

void write(const std::string& path, const std::string& text) {
  if (const Status s = system::WholeFile(path).write(text); !s) throw UsageError("--out: " + s.message());
}

// What all rows of a report show.
template <class Row>
void add_figures(const Row& row, Json& json) {
  json.update(Json({{"mode", measure::name(row.mode)},
                    {"plan", row.plan},
                    {"us", digits(row.us, 3)},
                    {"current", row.current},
                    {"current_us", digits(row.current_us, 3)},
                    {"ratio", digits(row.ratio, 4)},
                    {"ratio_lo", digits(row.ratio_lo, 4)},
                    {"ratio_hi", digits(row.ratio_hi, 4)},
                    {"candidates", row.candidates}}));
}
template <class Row>
void add_row(const Row& row, std::vector<std::string> shape, Table& table) {
  shape.insert(shape.end(), {measure::name(row.mode), row.plan, fmt::format("{:.2f}", row.us),
                             row.plan == row.current ? "the same" : row.current, fmt::format("{:.2f}", row.current_us),
                             fmt::format("{:.3f}", row.ratio), fmt::format("{:.3f}", row.ratio_lo),
                             fmt::format("{:.3f}", row.ratio_hi)});
  table.row(std::move(shape));
}

template <class Report>
void print(const Report& report, const Json& rows, const Table& table, const std::string& text,
           const TuneCommand& options, Output& out) {
  out.document({{"device", report.table.device},
                {"toolkit", report.table.toolkit},
                {"rows", rows},
                {"left_out", report.left_out},
                {"out", options.out.empty() ? Json() : Json(options.out)}});
  if (options.out.empty() && !out.json()) {
    out.line(text);
  } else {
    out.table(table);
  }
  if (report.left_out > 0) out.note(fmt::format("the time ran out before {} shapes", report.left_out));
}

measure::TuneOptions protocol_of(const TuneCommand& options) {
  measure::TuneOptions how;
  how.budget_s = options.budget;
  how.finalists = options.finalists;
  if (options.ahead_only) how.on_demand = choice::OnDemand::refused;
  how.protocol.rounds = options.rounds + options.rounds % 2;
  how.protocol.burst_s = options.burst;
  return how;
}

// Before minutes of measuring.
void check_machine(const TuneCommand& options) {
  if (!options.out.empty()) {
    if (const Status s = system::WholeFile(options.out).check_writable(); !s) throw UsageError("--out: " + s.message());
  }
  if (cuda_switched_off()) throw MissingError("tune needs CUDA, and WARPWRIGHT_CUDA=off switches it off");
  if (const Status s = measure::bench_ready(false); !s) {
    constexpr std::string_view bench = "bench";
    const std::string& missing = s.message();
    throw MissingError(missing.starts_with(bench) ? "tune" + missing.substr(bench.size()) : missing);
  }
}

DType dtype_of(const TuneCommand& options) {
  DType dtype = options.op == "dense" ? DType::bf16 : DType::e4m3;
  if (!options.dtype.empty()) (void)parse_dtype(options.dtype.c_str(), dtype);
  return dtype;
}

// How far the choice is from the fastest plan.
template <class Report>
std::string regret_text(const Report& report) {
  if (report.rows.empty()) return "nothing was measured";
  std::vector<double> ratios;
  double logarithms = 0;
  for (const auto& row : report.rows) {
    ratios.push_back(row.ratio);
    logarithms += std::log(row.ratio);
  }
  std::sort(ratios.begin(), ratios.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(ratios.size()))) - 1;
  return fmt::format(
      "the choice takes {:.4f} of the time of the fastest plan in geometric mean over {} problems, the "
      "95th percentile is {:.4f}, the most {:.4f}",
      std::exp(logarithms / static_cast<double>(ratios.size())), ratios.size(), ratios[rank], ratios.back());
}

bool makes_basis(const TuneCommand& options) { return options.every_plan || (options.random > 0 && !options.regret); }
BasisRun basis_run(const TuneCommand& options) {
  const bool dense = options.op == "dense" && !options.shapes.empty();
  return {options.out, options.budget, options.ahead_only,
          dense ? plans_of_file(options.shapes) : std::map<std::string, std::vector<std::string>>()};
}

int tune_grouped(const TuneCommand& options, Output& out) {
  const Groups op = *problem::parse_operation(options.op);
  const auto shapes = options.random > 0 ? drawn_grouped_shapes(options.random, options.draw, op, dtype_of(options))
                      : !options.sizes.empty()
                          ? grouped_shapes_of_sizes(options.sizes, op, options.groups, dtype_of(options))
                          : grouped_shapes_of_file(options.shapes, {op}, out);
  check_machine(options);
  if (makes_basis(options)) return tune_basis(shapes, basis_run(options), out);
  measure::GroupedTuneReport report;
  {
    Progress progress("tune", shapes.size());
    const auto advance = [&](const measure::GroupedTuneRow&) { progress.advance(); };
    if (const Status s = measure::tune(shapes, protocol_of(options), report, advance); !s) fail(s);
  }
  const std::string text = choice::write_table(report.table);
  if (!options.out.empty()) write(options.out, text);
  Json rows = Json::array();
  Table table(
      {"op", "dtype", "groups", "m", "n", "k", "mode", "plan", "us", "current", "current us", "ratio", "lo", "hi"});
  for (const measure::GroupedTuneRow& row : report.rows) {
    const measure::GroupedCase& s = row.shape;
    Json json = {{"op", problem::operation_of(s.op)},
                 {"dtype", name(s.type)},
                 {"groups", s.groups},
                 {"m", s.rows},
                 {"n", s.n},
                 {"k", s.k},
                 {"counts", measure::name(s.counts)}};
    add_figures(row, json);
    rows.push_back(json);
    add_row(row,
            {problem::operation_of(s.op), name(s.type), std::to_string(s.groups), std::to_string(s.rows),
             std::to_string(s.n), std::to_string(s.k)},
            table);
  }
  print(report, rows, table, text, options, out);
  if (options.regret) out.note(regret_text(report));
  return exit_ok;
}

int run_tune(const TuneCommand& options, Output& out) {
  if (int(!options.shapes.empty()) + int(!options.sizes.empty()) + int(options.random > 0) != 1)
    throw UsageError("--shapes, --sizes and --random: give exactly one of them");
  if (options.regret && options.random == 0) throw UsageError("--regret: it is for problems that --random draws");
  if (options.random > 0 && options.groups != 1)
    throw UsageError(fmt::format("groups = {}: --random draws them, 1 to 256", options.groups));
  if (options.regret && options.every_plan) throw UsageError("--regret and --every-plan: give one of them");
  if (options.op != "dense") return tune_grouped(options, out);
  const DType dtype = dtype_of(options);
  const auto shapes = options.random > 0       ? measure::draw_shapes(options.random, options.draw, dtype)
                      : !options.sizes.empty() ? shapes_of_sizes(options.sizes, dtype, "")
                                               : shapes_of_file(options.shapes, "", out);
  if (options.groups != 1) throw UsageError(fmt::format("groups = {}: a dense product has 1 group", options.groups));
  const BasisRun basis = basis_run(options);
  check_machine(options);
  if (makes_basis(options)) return tune_basis(shapes, basis, out);
  measure::TuneReport report;
  {
    Progress progress("tune", shapes.size());
    const auto advance = [&](const measure::TuneRow&) { progress.advance(); };
    if (const Status s = measure::tune(shapes, protocol_of(options), report, advance); !s) fail(s);
  }
  const std::string text = choice::write_table(report.table);
  if (!options.out.empty()) write(options.out, text);

  Json rows = Json::array();
  Table table({"m", "n", "k", "mode", "plan", "us", "current", "current us", "ratio", "lo", "hi"});
  for (const measure::TuneRow& row : report.rows) {
    Json json = {
        {"op", "dense"}, {"dtype", name(row.shape.dtype)}, {"m", row.shape.m}, {"n", row.shape.n}, {"k", row.shape.k}};
    add_figures(row, json);
    rows.push_back(json);
    add_row(row, {std::to_string(row.shape.m), std::to_string(row.shape.n), std::to_string(row.shape.k)}, table);
  }
  print(report, rows, table, text, options, out);
  if (options.regret) out.note(regret_text(report));
  return exit_ok;
}

}  // namespace

void configure_tune(CommandLine& line, Context& context) {
  auto options = std::make_shared<TuneCommand>();
  line.text("--op", options->op, "operation (default dense)")
      .one_of({"dense", "blockwise", "grouped_contiguous", "grouped_masked", "grouped_k"});
  line.number("--groups", options->groups, "groups of --sizes, which has the rows of one (default 1)", 1, 65535);
  line.file("--shapes", options->shapes, "tab-separated file with the columns op, dtype, groups, m, n, k");
  line.text("--sizes", options->sizes, "MxNxK,...").not_empty();
  line.number("--random", options->random,
              "this many problems drawn at random: times of every plan, from which the choice is made", 1, 100'000);
  line.flag("--regret", options->regret,
            "with --random: the choice beside the fastest plans, pairwise, instead of every plan briefly");
  line.flag("--every-plan", options->every_plan,
            "times of every plan for --shapes or --sizes too, as for --random, instead of the fastest");
  line.number("--draw", options->draw, "the seed of --random (default 1)", 0, 1'000'000'000);
  line.text("--dtype", options->dtype,
            "operands of --sizes and --random (default bf16 for dense products, e4m3 for the others)")
      .one_of({"bf16", "fp16", "e4m3", "e5m2", "fp8"});
  line.file("--out", options->out, "where the table goes (default: printed)");
  line.real("--max-seconds", options->budget, "seconds after which no new shape is begun (default: none)", 0,
            1'000'000);
  line.number("--finalists", options->finalists,
              fmt::format("plans measured pairwise, after a brief test of all (default {})", options->finalists), 1,
              64);
  line.number("--rounds", options->rounds, fmt::format("rounds of a pair (default {})", options->rounds), 1, 1000);
  line.real("--burst", options->burst, fmt::format("seconds of a sustained burst (default {})", options->burst), 0.01,
            10);
  line.flag("--ahead-only", options->ahead_only, "only kernels that were compiled ahead: nothing is compiled here");
  context.runs(line, "./warpwright tune --shapes bench/shapes.tsv --out tuned.tsv",
               [options](Output& out) { return run_tune(*options, out); });
}

}  // namespace warpwright::cli

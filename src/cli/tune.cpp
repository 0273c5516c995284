// `tune`: measures plans on this GPU and writes the table that the choice of a plan looks into first.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/shapes.h"
#include "runtime/tune_gpu.h"

namespace warpwright::cli {
namespace {

struct Options {
  std::string shapes;
  std::string sizes;
  std::string dtype = "bf16";
  std::string out;
  double budget = 0;
  int finalists = runtime::TuneOptions{}.finalists;
  int rounds = runtime::BenchOptions{}.rounds;
  double burst = 0.25;
  bool ahead_only = false;
};

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text) || !file.flush()) throw UsageError(fmt::format("--out {}: the file cannot be written", path));
}

int run_tune(const Options& options, Output& out) {
  if (options.shapes.empty() == options.sizes.empty())
    throw UsageError("--shapes and --sizes: one of them, and not both, says what to tune");
  DType dtype = DType::bf16;
  (void)parse_dtype(options.dtype.c_str(), dtype);
  const auto shapes =
      options.sizes.empty() ? shapes_of_file(options.shapes, "", out) : shapes_of_sizes(options.sizes, dtype, "");
  if (cuda_switched_off()) throw MissingError("tune needs CUDA, and WARPWRIGHT_CUDA=off switches it off");
  if (const auto missing = runtime::bench_missing(false)) throw MissingError(*missing);
  // Before minutes of measuring.
  if (!options.out.empty()) write(options.out, "");

  runtime::TuneOptions how;
  how.budget_s = options.budget;
  how.finalists = options.finalists;
  if (options.ahead_only) how.on_demand = runtime::OnDemand::refused;
  how.protocol.rounds = options.rounds + options.rounds % 2;
  how.protocol.burst_s = options.burst;
  runtime::TuneReport report;
  {
    Progress progress("tune", shapes.size());
    if (const auto failure = runtime::tune(shapes, how, report, [&](const runtime::TuneRow&) { progress.advance(); })) {
      throw std::runtime_error(*failure);
    }
  }
  const std::string text = runtime::write_table(report.table);
  if (!options.out.empty()) write(options.out, text);

  Json rows = Json::array();
  Table table({"m", "n", "k", "mode", "plan", "us", "current", "current us", "ratio", "lo", "hi"});
  for (const runtime::TuneRow& row : report.rows) {
    rows.push_back({{"op", "dense"},
                    {"dtype", name(row.shape.dtype)},
                    {"m", row.shape.m},
                    {"n", row.shape.n},
                    {"k", row.shape.k},
                    {"mode", runtime::name(row.mode)},
                    {"plan", row.plan},
                    {"us", digits(row.us, 3)},
                    {"current", row.current},
                    {"current_us", digits(row.current_us, 3)},
                    {"ratio", digits(row.ratio, 4)},
                    {"ratio_lo", digits(row.ratio_lo, 4)},
                    {"ratio_hi", digits(row.ratio_hi, 4)},
                    {"candidates", row.candidates}});
    const bool kept = row.plan == row.current;
    table.row({std::to_string(row.shape.m), std::to_string(row.shape.n), std::to_string(row.shape.k),
               runtime::name(row.mode), row.plan, fmt::format("{:.2f}", row.us), kept ? "the same" : row.current,
               fmt::format("{:.2f}", row.current_us), fmt::format("{:.3f}", row.ratio),
               fmt::format("{:.3f}", row.ratio_lo), fmt::format("{:.3f}", row.ratio_hi)});
  }
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
  if (report.left_out > 0) out.note(fmt::format("the budget ended before {} shapes", report.left_out));
  return exit_ok;
}

}  // namespace

void configure_tune(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  app.add_option("--shapes", options->shapes, "tab-separated file with the columns op, dtype, groups, m, n, k");
  app.add_option("--sizes", options->sizes, "MxNxK,...");
  app.add_option("--dtype", options->dtype, "of --sizes (default bf16)")
      ->transform(one_of({"bf16", "fp16", "e4m3", "e5m2", "fp8"}));
  app.add_option("--out", options->out, "where the table goes (default: printed)");
  app.add_option("--budget", options->budget, "seconds after which no new shape is begun (default: none)")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--finalists", options->finalists,
                 fmt::format("plans measured pairwise, after a brief test of all (default {})", options->finalists))
      ->transform(whole_number(1, 64));
  app.add_option("--rounds", options->rounds, fmt::format("rounds of a pair (default {})", options->rounds))
      ->transform(whole_number(1, 1000));
  app.add_option("--burst", options->burst, fmt::format("seconds of a sustained burst (default {})", options->burst))
      ->check(CLI::Range(0.01, 10.0));
  app.add_flag("--ahead-only", options->ahead_only, "only kernels that were compiled ahead: nothing is compiled here");
  context.runs(app, "./warpwright tune --shapes bench/shapes.tsv --out data/tuned/h200.tsv",
               [options](Output& out) { return run_tune(*options, out); });
}

}  // namespace warpwright::cli

// `bench`: our kernels against cuBLASLt, pairwise, in one process.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "runtime/bench_gpu.h"
#include "runtime/peer_cublas.h"

namespace warpwright::cli {
namespace {

using runtime::BenchMode;
using runtime::BenchOptions;
using runtime::BenchReport;
using runtime::BenchRow;
using runtime::BenchShape;

struct Options {
  std::string suite = "dense";
  std::string against = "cublaslt";
  std::string shapes;
  std::string sizes;
  std::string mode = "both";
  int plan = -1;
  int rounds = BenchOptions{}.rounds;
  bool profile = false;
  bool every_plan = false;
  bool dependent = false;
  double burst = BenchOptions{}.burst_s;
  int peer_choice = 0;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::int64_t extent(const std::string& text, const std::string& where) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc())
    throw UsageError(fmt::format("{}: '{}' is not a whole number", where, text));
  return value;
}

void add_shape(std::vector<BenchShape>& shapes, const BenchShape& shape, int plan, const std::string& where) {
  if (const auto why = runtime::refuse_bench(shape, plan)) throw UsageError(fmt::format("{}: {}", where, *why));
  shapes.push_back(shape);
}

std::vector<BenchShape> shapes_of_sizes(const std::string& sizes, int plan) {
  std::vector<BenchShape> shapes;
  for (const std::string& size : split(sizes, ',')) {
    const std::string where = fmt::format("--sizes {}", size);
    const auto parts = split(size, 'x');
    if (parts.size() != 3) throw UsageError(fmt::format("{}: a size is written MxNxK", where));
    add_shape(shapes, {extent(parts[0], where), extent(parts[1], where), extent(parts[2], where), DType::bf16}, plan,
              where);
  }
  return shapes;
}

// Tab-separated with a header that names at least op, dtype, groups, m, n and k; the rows no kernel serves are skipped.
std::vector<BenchShape> shapes_of_file(const std::string& path, int plan, Output& out) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) throw UsageError(fmt::format("--shapes {}: the file cannot be read", path));
  const auto header = split(line, '\t');
  const auto column = [&](const char* wanted) {
    for (std::size_t i = 0; i < header.size(); ++i)
      if (header[i] == wanted) return i;
    throw UsageError(fmt::format("--shapes {}: the first line names no column '{}'", path, wanted));
  };
  const std::size_t op = column("op"), dtype = column("dtype"), groups = column("groups");
  const std::size_t m = column("m"), n = column("n"), k = column("k");
  std::vector<BenchShape> shapes;
  int skipped = 0;
  for (int number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const std::string where = fmt::format("--shapes {}, line {}", path, number);
    const auto cells = split(line, '\t');
    if (cells.size() <= std::max({op, dtype, groups, m, n, k}))
      throw UsageError(fmt::format("{}: there are only {} columns", where, cells.size()));
    BenchShape shape{extent(cells[m], where), extent(cells[n], where), extent(cells[k], where), DType::bf16};
    const bool known_type = parse_dtype(cells[dtype].c_str(), shape.dtype);
    if (cells[op] != "dense" || cells[groups] != "1" || !known_type || runtime::choose_plan(shape, 1) < 0) {
      ++skipped;
      continue;
    }
    add_shape(shapes, shape, plan, where);
  }
  if (skipped > 0) out.note(fmt::format("skipped {} rows that no kernel of this version serves", skipped));
  if (shapes.empty()) throw UsageError(fmt::format("--shapes {}: no row can be served", path));
  return shapes;
}

std::vector<BenchShape> squares(int plan) {
  std::vector<BenchShape> shapes;
  for (const std::int64_t side : {1024, 2048, 4096, 8192})
    add_shape(shapes, {side, side, side, DType::bf16}, plan, fmt::format("side {}", side));
  return shapes;
}

double digits(double value, int places) {
  const double scale = std::pow(10.0, places);
  return std::round(value * scale) / scale;
}

Json protocol(const BenchReport& report, const BenchOptions& options) {
  return {
      {"against", report.peer},
      {"peer_choice",
       fmt::format("fastest in each mode of its first {} heuristics: all timed briefly, the closest three in the mode",
                   runtime::kPeerChoices)},
      {"peer_workspace_bytes", runtime::kPeerWorkspace},
      {"data", "standard normal"},
      {"layout", "nt"},
      {"accumulate", "fp32"},
      {"operand_bytes_at_least",
       static_cast<std::uint64_t>(options.cache_multiple * static_cast<double>(report.l2_bytes))},
      {"l2_bytes", report.l2_bytes},
      {"rounds", options.rounds},
      {"order", "swapped every round; one more round first, not counted"},
      {"sustained", fmt::format("graph replay in bursts of {} s, back to back", options.burst_s)},
      {"cool", fmt::format("median of {} single graph replays a round, {} ms idle before each", options.cool_launches,
                           options.cool_gap_s * 1e3)},
      {"us", "median over the rounds; ratio = peer_us / us, lo and hi over the rounds"},
      {"geomean_of", "sustained for products over 50 us, cool below"}};
}

Json row_json(const BenchRow& row) {
  Json json = {{"op", "dense"},
               {"dtype", name(row.shape.dtype)},
               {"groups", 1},
               {"m", row.shape.m},
               {"n", row.shape.n},
               {"k", row.shape.k},
               {"mode", runtime::name(row.mode)},
               {"us", digits(row.us, 3)},
               {"peer_us", digits(row.peer_us, 3)},
               {"ratio", digits(row.ratio, 4)},
               {"ratio_lo", digits(row.ratio_lo, 4)},
               {"ratio_hi", digits(row.ratio_hi, 4)},
               {"tflops", digits(row.tflops, 1)},
               {"gbps", digits(row.gbps, 1)},
               {"plan", row.plan},
               {"counts", row.counts},
               {"peer_heuristic", row.peer_choice},
               {"operand_sets", row.operand_sets},
               {"difference", digits(row.difference, 6)}};
  if (row.wrong) json["wrong"] = true;
  return json;
}

void print(const BenchReport& report, const BenchOptions& options, Output& out) {
  Json rows = Json::array();
  Table table({"m", "n", "k", "mode", "us", "peer us", "ratio", "lo", "hi", "TFLOP/s", "plan"});
  for (const BenchRow& row : report.rows) {
    rows.push_back(row_json(row));
    const auto size = [](std::int64_t value) { return std::to_string(value); };
    if (row.wrong) {
      table.row({size(row.shape.m), size(row.shape.n), size(row.shape.k), "wrong", "", "", "", "", "", "", row.plan});
      continue;
    }
    table.row({size(row.shape.m), size(row.shape.n), size(row.shape.k), runtime::name(row.mode),
               fmt::format("{:.2f}", row.us), fmt::format("{:.2f}", row.peer_us), fmt::format("{:.3f}", row.ratio),
               fmt::format("{:.3f}", row.ratio_lo), fmt::format("{:.3f}", row.ratio_hi),
               fmt::format("{:.0f}", row.tflops), row.plan});
  }
  out.document({{"device", report.device},
                {"protocol", protocol(report, options)},
                {"rows", rows},
                {"geomean", digits(report.geomean, 4)},
                {"min", digits(report.min, 4)}});
  out.table(table);
  out.line(fmt::format("{} against {}: geometric mean {:.3f}, least {:.3f} (above 1 we are faster)", report.device,
                       report.peer, report.geomean, report.min));
}

// Every plan on every shape: the table behind the model of plan_choice.h.
int run_every_plan(const std::vector<BenchShape>& shapes, Output& out) {
  Json rows = Json::array();
  Table table({"m", "n", "k", "plan", "sustained us", "cool us", "model us", "instance"});
  Progress progress("bench", shapes.size());
  for (const BenchShape& s : shapes) {
    std::vector<runtime::PlanTime> times;
    if (const auto failure = runtime::time_plans(s, times)) throw std::runtime_error(*failure);
    for (const runtime::PlanTime& t : times) {
      const bool peer = t.plan < 0;
      const double model = peer ? 0 : runtime::estimate(t.plan, s, 132).us;
      const std::string text = peer ? "cuBLASLt" : runtime::plan_text(t.plan);
      rows.push_back({{"m", s.m},
                      {"n", s.n},
                      {"k", s.k},
                      {"plan", t.plan},
                      {"instance", text},
                      {"sustained_us", digits(t.sustained_us, 3)},
                      {"cool_us", digits(t.cool_us, 3)},
                      {"model_us", digits(model, 3)}});
      table.row({std::to_string(s.m), std::to_string(s.n), std::to_string(s.k), std::to_string(t.plan),
                 fmt::format("{:.2f}", t.sustained_us), fmt::format("{:.2f}", t.cool_us), fmt::format("{:.2f}", model),
                 text});
    }
    progress.advance();
  }
  out.document({{"rows", rows}});
  out.table(table);
  return exit_ok;
}

int run_bench(const Options& options, Output& out) {
  if (options.suite != "dense" && options.suite != "all")
    throw UsageError(fmt::format("--suite {}: only dense has kernels in this version", options.suite));
  if (options.against != "cublaslt")
    throw UsageError(fmt::format("--against {}: only cublaslt is a peer in this version", options.against));
  if (!options.shapes.empty() && !options.sizes.empty())
    throw UsageError("--sizes and --shapes: give one of them, not both");
  const std::vector<BenchShape> shapes = !options.sizes.empty()    ? shapes_of_sizes(options.sizes, options.plan)
                                         : !options.shapes.empty() ? shapes_of_file(options.shapes, options.plan, out)
                                                                   : squares(options.plan);
  if (cuda_switched_off()) throw MissingError("bench needs CUDA, and WARPWRIGHT_CUDA=off switches it off");
  if (const auto missing = runtime::bench_missing()) throw MissingError(*missing);
  if (options.every_plan) return run_every_plan(shapes, out);
  if (options.profile) {
    for (const BenchShape& shape : shapes) {
      if (const auto failure = runtime::profile_dense(shape, options.plan, options.peer_choice))
        throw std::runtime_error(*failure);
    }
    return exit_ok;
  }

  BenchOptions how;
  how.plan = options.plan;
  how.dependent = options.dependent;
  how.burst_s = options.burst;
  how.rounds = options.rounds + options.rounds % 2;
  if (options.mode == "sustained") how.modes = {BenchMode::sustained};
  if (options.mode == "cool") how.modes = {BenchMode::cool};
  BenchReport report;
  {
    Progress progress("bench", shapes.size() * how.modes.size());
    if (const auto failure = runtime::bench_dense(shapes, how, report, [&](const BenchRow&) { progress.advance(); }))
      throw std::runtime_error(*failure);
  }
  print(report, how, out);
  return report.ok() ? exit_ok : exit_wrong;
}

}  // namespace

void configure_bench(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  app.add_option("--suite", options->suite, "which kernels (default dense)")
      ->transform(one_of({"dense", "blockwise", "grouped", "all"}));
  app.add_option("--against", options->against, "the peer (default cublaslt)")
      ->transform(one_of({"cublaslt", "torch", "deepgemm"}));
  app.add_option("--shapes", options->shapes, "tab-separated file with the columns op, dtype, groups, m, n, k");
  app.add_option("--sizes", options->sizes, "MxNxK,... in bf16 (default: squares of 1024 to 8192)");
  app.add_option("--mode", options->mode,
                 "sustained: bursts back to back; cool: idle gaps between launches (default both)")
      ->transform(one_of({"sustained", "cool", "both"}));
  app.add_option("--plan", options->plan, "number of a compiled instance (default: chosen for each shape)")
      ->transform(whole_number(0, runtime::plan_count() - 1));
  app.add_option("--rounds", options->rounds,
                 fmt::format("rounds, each competitor first in half of them (rounded up to even, default {})",
                             BenchOptions{}.rounds))
      ->transform(whole_number(1, 1000));
  app.add_option("--burst", options->burst, fmt::format("seconds of a sustained burst (default {})", options->burst))
      ->check(CLI::Range(0.01, 10.0));
  app.add_flag("--dependent", options->dependent,
               "skinny kernels may start, and fetch weights, before the launch ahead of them has ended")
      ->disable_flag_override();
  app.add_flag("--every-plan", options->every_plan, "brief times of every plan that serves each shape, nothing else")
      ->disable_flag_override();
  app.add_flag("--profile", options->profile,
               "only launch each competitor once, between cudaProfilerStart and Stop, for ncu --profile-from-start off")
      ->disable_flag_override();
  app.add_option("--peer-heuristic", options->peer_choice, "with --profile: which of cuBLASLt's heuristics (default 0)")
      ->transform(whole_number(0, runtime::kPeerChoices - 1));
  context.runs(app, "./warpwright bench --sizes 4096x4096x4096 --json",
               [options](Output& out) { return run_bench(*options, out); });
}

}  // namespace warpwright::cli

// `bench`: our kernels against cuBLASLt, or torch, pairwise, in one process.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/shapes.h"
#include "cli/torch_bridge.h"
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
  std::string dtype = "bf16";
  std::string mode = "both";
  std::string plan;
  int rounds = BenchOptions{}.rounds;
  bool profile = false;
  bool every_plan = false;
  bool serial = false;
  bool constant_b = false;
  double burst = BenchOptions{}.burst_s;
  int finalists = BenchOptions{}.finalists;
  int peer_choice = 0;
};

Json protocol(const BenchReport& report, const BenchOptions& options) {
  return {{"against", report.peer},
          {"peer_choice",
           fmt::format(
               "of its first {} heuristics the {} fastest in a brief test of the mode, each in full rounds; the row "
               "is the one against which we are slowest",
               runtime::kPeerChoices, options.finalists)},
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
          {"cool", fmt::format("median of {} single graph replays a round, {} ms idle before each",
                               options.cool_launches, options.cool_gap_s * 1e3)},
          {"early", "share of our launches that may start before the last one has ended; peer_early: the peer's"},
          {"launches", !options.dependent   ? "ours wait for the one ahead"
                       : options.constant_b ? "programmatic dependent; ours may read B before the one ahead has ended"
                                            : "programmatic dependent"},
          {"us", "median over the rounds; ratio = peer_us / us"},
          {"ratio_lo", "with ratio_hi: 95 % interval of the median of the rounds' ratios, by order statistics"},
          {"copy", "device-to-device copy of 1 GiB in this run, bytes read plus written"},
          {"geomean_of", "sustained for products over 50 us, cool below"}};
}

Json row_json(const BenchRow& row, double copy_gbps) {
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
               {"copy_fraction", row.memory_bound && copy_gbps > 0 ? Json(digits(row.gbps / copy_gbps, 3)) : Json()},
               {"plan", row.plan},
               {"counts", row.counts},
               {"peer_heuristic", row.peer_choice},
               {"operand_sets", row.operand_sets},
               {"early", digits(row.early, 2)},
               {"peer_early", digits(row.peer_early, 2)},
               {"difference", digits(row.difference, 6)}};
  if (row.wrong) json["wrong"] = true;
  return json;
}

void print(const BenchReport& report, const BenchOptions& options, Output& out) {
  Json rows = Json::array();
  Table table({"m", "n", "k", "mode", "us", "peer us", "ratio", "lo", "hi", "TFLOP/s", "of copy", "plan"});
  for (const BenchRow& row : report.rows) {
    rows.push_back(row_json(row, report.copy_gbps));
    const auto size = [](std::int64_t value) { return std::to_string(value); };
    if (row.wrong) {
      table.row(
          {size(row.shape.m), size(row.shape.n), size(row.shape.k), "wrong", "", "", "", "", "", "", "", row.plan});
      continue;
    }
    table.row(
        {size(row.shape.m), size(row.shape.n), size(row.shape.k), runtime::name(row.mode),
         fmt::format("{:.2f}", row.us), fmt::format("{:.2f}", row.peer_us), fmt::format("{:.3f}", row.ratio),
         fmt::format("{:.3f}", row.ratio_lo), fmt::format("{:.3f}", row.ratio_hi), fmt::format("{:.0f}", row.tflops),
         row.memory_bound && report.copy_gbps > 0 ? fmt::format("{:.0f} %", 100 * row.gbps / report.copy_gbps) : "",
         row.plan});
  }
  out.document({{"device", report.device},
                {"protocol", protocol(report, options)},
                {"copy_gbps", digits(report.copy_gbps, 1)},
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
      rows.push_back({{"m", s.m},
                      {"n", s.n},
                      {"k", s.k},
                      {"plan", t.plan},
                      {"instance", t.text},
                      {"sustained_us", digits(t.sustained_us, 3)},
                      {"cool_us", digits(t.cool_us, 3)},
                      {"model_us", digits(t.model_us, 3)}});
      table.row({std::to_string(s.m), std::to_string(s.n), std::to_string(s.k), t.plan,
                 fmt::format("{:.2f}", t.sustained_us), fmt::format("{:.2f}", t.cool_us),
                 fmt::format("{:.2f}", t.model_us), t.text});
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
  if (options.against == "deepgemm")
    throw UsageError("--against deepgemm: it has no dense kernel that this version has a counterpart of");
  if (!options.shapes.empty() && !options.sizes.empty())
    throw UsageError("--sizes and --shapes: give one of them, not both");
  DType dtype = DType::bf16;
  (void)parse_dtype(options.dtype.c_str(), dtype);
  const std::vector<BenchShape> shapes = !options.sizes.empty()    ? shapes_of_sizes(options.sizes, dtype, options.plan)
                                         : !options.shapes.empty() ? shapes_of_file(options.shapes, options.plan, out)
                                                                   : square_shapes(dtype, options.plan);
  if (cuda_switched_off()) throw MissingError("bench needs CUDA, and WARPWRIGHT_CUDA=off switches it off");
  if (options.against == "torch") {
    if (options.every_plan || options.profile)
      throw UsageError("--against torch: --every-plan and --profile are for cublaslt");
    if (const auto missing = runtime::bench_missing(false)) throw MissingError(*missing);
    return bench_against_torch({shapes, options.plan, options.mode, options.rounds + options.rounds % 2, options.burst},
                               out);
  }
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
  how.dependent = !options.serial;
  how.constant_b = options.constant_b;
  how.burst_s = options.burst;
  how.rounds = options.rounds + options.rounds % 2;
  how.finalists = options.finalists;
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
  app.add_option("--sizes", options->sizes, "MxNxK,... (default: squares of 1024 to 8192)");
  app.add_option("--dtype", options->dtype, "of --sizes and the squares (default bf16)")
      ->transform(one_of({"bf16", "fp16", "e4m3", "e5m2", "fp8"}));
  app.add_option("--mode", options->mode,
                 "sustained: bursts back to back; cool: idle gaps between launches (default both)")
      ->transform(one_of({"sustained", "cool", "both"}));
  app.add_option("--plan", options->plan, "name or number of a plan (default: chosen for each shape)");
  app.add_option("--rounds", options->rounds,
                 fmt::format("rounds, each competitor first in half of them (rounded up to even, default {})",
                             BenchOptions{}.rounds))
      ->transform(whole_number(1, 1000));
  app.add_option("--burst", options->burst, fmt::format("seconds of a sustained burst (default {})", options->burst))
      ->check(CLI::Range(0.01, 10.0));
  app.add_option("--finalists", options->finalists,
                 fmt::format("of cuBLASLt's heuristics, measured in full rounds (default {})", options->finalists))
      ->transform(whole_number(1, runtime::kPeerChoices));
  app.add_flag("--serial", options->serial, "our kernels start only after the launch ahead of them has ended")
      ->disable_flag_override();
  app.add_flag("--constant-b", options->constant_b,
               "our kernels are told that B is constant: they may fetch it before the launch ahead of them has ended")
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

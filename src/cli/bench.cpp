// `bench`: our kernels against cuBLASLt, torch or DeepGEMM, pairwise, in one process.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/problem/shapes.h"
#include "cli/simulation.h"
#include "cli/torch_bridge.h"
#include "measure/bench_gpu.h"
#include "measure/draw.h"
#include "measure/peer_cublas.h"

namespace warpwright::cli {
namespace {

using measure::BenchMode;
using measure::BenchOptions;
using measure::BenchReport;
using measure::BenchRow;
using measure::BenchShape;
using measure::GroupedCase;

struct BenchCommand {
  std::string suite = "dense";
  std::string against;  // empty: cublaslt for dense products, deepgemm for the others
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
  int random = 0;
  std::uint64_t draw = 1;
  double budget = 0;
};

Json protocol(const BenchReport& report, const BenchOptions& options) {
  return {{"against", report.peer},
          {"peer_choice",
           fmt::format(
               "of its first {} heuristics the {} fastest in a brief test of the mode, each in full rounds; the row "
               "is the one against which we are slowest",
               measure::kPeerChoices, options.finalists)},
          {"peer_workspace_bytes", measure::kPeerWorkspace},
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
               {"mode", measure::name(row.mode)},
               {"us", digits(row.us, 3)},
               {"peer_us", digits(row.peer_us, 3)},
               {"ratio", digits(row.ratio, 4)},
               {"ratio_lo", digits(row.ratio_lo, 4)},
               {"ratio_hi", digits(row.ratio_hi, 4)},
               {"tflops", digits(row.tflops, 1)},
               {"gbps", digits(row.gbps, 1)},
               {"copy_fraction", row.memory_bound && copy_gbps > 0 ? Json(digits(row.gbps / copy_gbps, 3)) : Json()},
               {"plan", row.plan},
               {"plan_from", row.origin},
               {"counts", row.counts},
               {"peer_heuristic", row.peer_choice},
               {"operand_sets", row.operand_sets},
               {"early", digits(row.early, 2)},
               {"peer_early", digits(row.peer_early, 2)},
               {"difference", digits(row.difference, 6)}};
  if (row.wrong) json["wrong"] = true;
  return json;
}

Json document_of(const BenchReport& report, const BenchOptions& options) {
  Json rows = Json::array();
  for (const BenchRow& row : report.rows) rows.push_back(row_json(row, report.copy_gbps));
  return {{"device", report.device},
          {"protocol", protocol(report, options)},
          {"copy_gbps", digits(report.copy_gbps, 1)},
          {"rows", rows},
          {"geomean", digits(report.geomean, 4)},
          {"min", digits(report.min, 4)}};
}

// What a part of the benchmark found, and how the tool ends on it.
struct Part {
  Json document;
  int code = exit_ok;
};

// Several parts as one document, whose rows are those of all of them.
Part together(std::vector<std::pair<const char*, Part>> parts) {
  if (parts.size() == 1) return std::move(parts.front().second);
  Part all{{{"device", parts.front().second.document["device"]}, {"protocol", Json::object()}}, exit_ok};
  Json rows = Json::array();
  double logarithms = 0, least = 0;
  int counted = 0;
  for (auto& [name, part] : parts) {
    all.document["protocol"][name] = part.document["protocol"];
    all.code = std::max(all.code, part.code);
    for (Json& row : part.document["rows"]) {
      if (row.value("counts", false)) {
        const double ratio = row["ratio"].get<double>();
        logarithms += std::log(ratio);
        least = counted++ == 0 ? ratio : std::min(least, ratio);
      }
      rows.push_back(std::move(row));
    }
  }
  all.document["rows"] = rows;
  all.document["geomean"] = digits(counted > 0 ? std::exp(logarithms / counted) : 0, 4);
  all.document["min"] = digits(least, 4);
  return all;
}

void print(const Part& part, Output& out) {
  const Json& document = part.document;
  Table table({"op", "dtype", "groups", "m", "n", "k", "mode", "us", "peer us", "ratio", "lo", "hi", "TFLOP/s",
               "of copy", "plan", "plan from"});
  const auto text = [](const Json& row, const char* field) {
    const Json* found = row.find(field);
    if (found == nullptr || found->is_null()) return std::string();
    return found->is_string() ? found->get<std::string>() : found->dump();
  };
  const auto number = [](const Json& row, const char* field, int places) {
    const Json* found = row.find(field);
    return found == nullptr || !found->is_number() ? "" : fmt::format("{:.{}f}", found->get<double>(), places);
  };
  for (const Json& row : document["rows"]) {
    const bool wrong = row.value("wrong", false);
    const auto figure = [&](const char* field, int places) { return wrong ? "" : number(row, field, places); };
    const bool of_copy = row.contains("copy_fraction") && row["copy_fraction"].is_number();
    table.row({text(row, "op"), text(row, "dtype"), text(row, "groups"), text(row, "m"), text(row, "n"), text(row, "k"),
               wrong ? "wrong" : text(row, "mode"), figure("us", 2), figure("peer_us", 2), figure("ratio", 3),
               figure("ratio_lo", 3), figure("ratio_hi", 3), figure("tflops", 0),
               of_copy ? fmt::format("{:.0f} %", 100 * row["copy_fraction"].get<double>()) : "", text(row, "plan"),
               text(row, "plan_from")});
  }
  out.document(document);
  out.table(table);
  std::string peers;
  const Json& how = document["protocol"];
  if (how.contains("against")) {
    peers = how["against"].get<std::string>();
  } else {
    for (const Json& one : how)
      peers += fmt::format("{}{}", peers.empty() ? "" : " and ", one["against"].get<std::string>());
  }
  out.line(fmt::format("{} against {}: geometric mean {:.3f}, least {:.3f} (above 1 we are faster)",
                       document["device"].get<std::string>(), peers, document["geomean"].get<double>(),
                       document["min"].get<double>()));
  if (document.contains("peer_refused"))
    out.line(fmt::format("left out, since {} has no algorithm for them: {} products", peers,
                         document["peer_refused"].get<size_t>()));
}

// Every plan on every shape: the table behind the model of plan_choice.h.
int run_every_plan(const std::vector<BenchShape>& shapes, Output& out) {
  Json rows = Json::array();
  Table table({"m", "n", "k", "plan", "sustained us", "cool us", "model us", "instance"});
  Progress progress("bench", shapes.size());
  for (const BenchShape& s : shapes) {
    std::vector<measure::PlanTime> times;
    if (const Status timed = measure::time_plans(s, times); !timed) fail(timed);
    for (const measure::PlanTime& t : times) {
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

void need_gpu(bool needs_peer) {
  if (const Status s = measure::bench_ready(needs_peer); !s) throw MissingError(s.message());
}

Part bench_dense(const BenchCommand& options, const std::vector<BenchShape>& shapes) {
  const int rounds = options.rounds + options.rounds % 2;
  if (options.against == "torch") {
    if (!python_was_named()) need_gpu(false);
    PythonResult result = bench_against_torch({shapes, options.plan, options.mode, rounds, options.burst});
    return {std::move(result.document), result.code};
  }
  need_gpu(true);
  BenchOptions how;
  how.plan = options.plan;
  how.dependent = !options.serial;
  how.constant_b = options.constant_b;
  how.burst_s = options.burst;
  how.rounds = rounds;
  how.finalists = options.finalists;
  how.budget_s = options.budget;
  if (options.mode == "sustained") how.modes = {BenchMode::sustained};
  if (options.mode == "cool") how.modes = {BenchMode::cool};
  BenchReport report;
  {
    Progress progress("bench", shapes.size() * how.modes.size());
    const auto advance = [&](const BenchRow&) { progress.advance(); };
    if (const Status s = measure::bench_dense(shapes, how, report, advance); !s) fail(s);
  }
  Part part{document_of(report, how), report.ok() ? exit_ok : exit_wrong};
  if (options.random > 0) part.document["draw"] = options.draw;
  if (report.left_out > 0) part.document["left_out"] = report.left_out;
  if (report.peer_refused > 0) part.document["peer_refused"] = report.peer_refused;
  return part;
}

Part bench_grouped(const BenchCommand& options, const std::vector<GroupedCase>& shapes) {
  if (!python_was_named()) need_gpu(false);
  PythonResult result = bench_against_deepgemm({shapes, options.every_plan ? "every" : options.plan,
                                                options.rounds + options.rounds % 2, options.burst, options.budget});
  if (options.random > 0) result.document["draw"] = options.draw;
  return {std::move(result.document), result.code};
}

std::vector<BenchShape> dense_shapes(const BenchCommand& options, Output& out) {
  DType dtype = DType::bf16;
  (void)parse_dtype(options.dtype.c_str(), dtype);
  if (options.random > 0) return measure::draw_shapes(options.random, options.draw, dtype);
  if (!options.sizes.empty()) return shapes_of_sizes(options.sizes, dtype, options.plan);
  return options.shapes.empty() ? square_shapes(dtype, options.plan)
                                : shapes_of_file(options.shapes, options.plan, out);
}

std::vector<GroupedCase> grouped_shapes(const BenchCommand& options, Output& out) {
  std::vector<Groups> ops;
  if (options.suite != "grouped") ops.push_back(Groups::none);
  if (options.suite != "blockwise") ops.insert(ops.end(), {Groups::contiguous, Groups::masked, Groups::by_depth});
  if (options.random > 0) return drawn_grouped_shapes(options.random, options.draw, ops);
  if (!options.sizes.empty()) return grouped_shapes_of_sizes(options.sizes, Groups::none, 1, DType::e4m3);
  return options.shapes.empty() ? usual_grouped_shapes(ops) : grouped_shapes_of_file(options.shapes, ops, out);
}

// What the options exclude, before anything is measured.
void refuse_contradictions(const BenchCommand& options) {
  const bool dense = options.suite == "dense", all = options.suite == "all";
  if (!options.shapes.empty() && !options.sizes.empty())
    throw UsageError("--sizes and --shapes: give one of them, not both");
  if (options.random > 0 && (!options.shapes.empty() || !options.sizes.empty()))
    throw UsageError("--random: it draws the shapes, give it without --sizes and --shapes");
  if (options.random > 0 && options.against == "torch")
    throw UsageError("--against torch: --random draws products for cublaslt and deepgemm");
  if (dense && options.against == "deepgemm")
    throw UsageError("--against deepgemm: it is the peer of --suite blockwise and --suite grouped, not of dense");
  if (!dense && !all && !options.against.empty() && options.against != "deepgemm") {
    throw UsageError(fmt::format("--against {}: the peer of --suite {} is deepgemm", options.against, options.suite));
  }
  if (!options.sizes.empty() && (options.suite == "grouped" || all))
    throw UsageError(fmt::format("--sizes: --suite {} has operations and groups too; use --shapes", options.suite));
  if (!dense && options.profile) throw UsageError("--profile: only --suite dense against cublaslt has it");
  if (!dense && options.mode == "cool") throw UsageError("--mode cool: against deepgemm only sustained is measured");
  if (options.against == "torch" && (options.every_plan || options.profile))
    throw UsageError("--against torch: --every-plan and --profile are for cublaslt");
  if (all && options.every_plan) throw UsageError("--every-plan: it is for one of --suite dense, blockwise, grouped");
}

int run_bench(const BenchCommand& options, Output& out) {
  refuse_contradictions(options);
  const bool with_dense = options.suite == "dense" || (options.suite == "all" && options.against != "deepgemm");
  const bool with_grouped = options.suite != "dense";
  const auto dense = with_dense ? dense_shapes(options, out) : std::vector<BenchShape>();
  const auto grouped = with_grouped ? grouped_shapes(options, out) : std::vector<GroupedCase>();
  if (cuda_switched_off()) throw MissingError("bench needs CUDA, and WARPWRIGHT_CUDA=off switches it off");
  if (with_dense && options.every_plan) {
    need_gpu(true);
    return run_every_plan(dense, out);
  }
  if (options.profile) {
    need_gpu(true);
    for (const BenchShape& shape : dense) {
      if (const Status s = measure::profile_dense(shape, options.plan, options.peer_choice); !s) fail(s);
    }
    return exit_ok;
  }
  std::vector<std::pair<const char*, Part>> parts;
  if (with_dense) parts.emplace_back("dense", bench_dense(options, dense));
  if (with_grouped) {
    // Without the other peer, a comparison with the first is still an answer.
    try {
      parts.emplace_back("grouped", bench_grouped(options, grouped));
    } catch (const MissingError& missing) {
      if (parts.empty()) throw;
      out.note(fmt::format("blockwise and grouped products were left out: {}", missing.what()));
    }
  }
  const Part part = together(std::move(parts));
  print(part, out);
  return part.code;
}

}  // namespace

void configure_bench(CommandLine& line, Context& context) {
  auto options = std::make_shared<BenchCommand>();
  line.text("--suite", options->suite, "which kernels (default dense)")
      .one_of({"dense", "blockwise", "grouped", "all"});
  line.text("--against", options->against,
            "the peer (default cublaslt for dense products, deepgemm for blockwise and grouped ones)")
      .one_of({"cublaslt", "torch", "deepgemm"});
  line.file("--shapes", options->shapes, "tab-separated file with the columns op, dtype, groups, m, n, k");
  line.text("--sizes", options->sizes, "MxNxK,... for dense and blockwise (default: squares of 1024 to 8192)")
      .not_empty();
  line.number("--random", options->random,
              "this many products of the suite drawn at random, of any extents (--suite all: of each)", 1, 100'000);
  line.number("--draw", options->draw, "the seed of --random (default 1)", 0, 1'000'000'000);
  line.real("--max-seconds", options->budget, "seconds after which no new shape is begun (default: none)", 0,
            1'000'000);
  line.text("--dtype", options->dtype, "operands of --sizes, --random and the squares (default bf16)")
      .one_of({"bf16", "fp16", "e4m3", "e5m2", "fp8"});
  line.text("--mode", options->mode, "sustained: bursts back to back; cool: idle gaps between launches (default both)")
      .one_of({"sustained", "cool", "both"});
  line.text("--plan", options->plan, "name or number of a plan (default: chosen for each shape)").not_empty();
  line.number("--rounds", options->rounds,
              fmt::format("rounds, each competitor first in half of them (rounded up to even, default {})",
                          BenchOptions{}.rounds),
              1, 1000);
  line.real("--burst", options->burst, fmt::format("seconds of a sustained burst (default {})", options->burst), 0.01,
            10);
  line.number(
      "--finalists", options->finalists,
      fmt::format("how many of cuBLASLt's heuristics are measured in full rounds (default {})", options->finalists), 1,
      measure::kPeerChoices);
  line.flag("--serial", options->serial, "our kernels start only after the previous launch has ended");
  line.flag("--constant-b", options->constant_b,
            "our kernels are told that B is constant: they may fetch it before the previous launch has ended");
  line.flag("--every-plan", options->every_plan, "brief times of every plan that serves each shape, nothing else");
  line.flag("--profile", options->profile,
            "only launch each competitor once, between cudaProfilerStart and Stop, for ncu --profile-from-start off");
  line.number("--peer-heuristic", options->peer_choice, "with --profile: which of cuBLASLt's heuristics (default 0)", 0,
              measure::kPeerChoices - 1);
  context.runs(line, "./warpwright bench --sizes 4096x4096x4096 --json",
               [options](Output& out) { return run_bench(*options, out); });
}

}  // namespace warpwright::cli

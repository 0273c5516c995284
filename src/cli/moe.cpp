// `moe`: a mixture of experts on random operands, or on those of a folder, compared with a float64 reference.
#include "simulate/moe.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/here.h"
#include "cli/problem/own_operands.h"
#include "cli/simulation.h"
#include "simulate/gpu_run.h"
#include "system/whole_file.h"

namespace warpwright::cli {
namespace {

using reference::Draw;

struct MoeOptions {
  ProblemOptions problem;  // target, dtype and the modes of the simulator
  MoeProblem layer;
  std::string routing = "uniform";
  std::string operands;  // a folder
};

Draw draw_of(const std::string& word) {
  return word == "skewed" ? Draw::skewed : word == "one" ? Draw::one : word == "bad" ? Draw::bad : Draw::uniform;
}

std::string in_words(const MoeOptions& o) {
  const MoeProblem& p = o.layer;
  const std::string shared = p.shared > 0 ? fmt::format(" and {} for all", p.shared) : "";
  return fmt::format("{} token{} x {} of {} experts{}, {} -> {} -> {} {}", p.tokens, p.tokens == 1 ? "" : "s", p.top_k,
                     p.experts - p.shared, shared, p.hidden, p.intermediate, p.hidden, name(p.type));
}
std::string faults_in_words(uint32_t status) {
  std::string text;
  const auto add = [&](uint32_t fault, const char* words) {
    if ((status & fault) != 0) text += (text.empty() ? "" : ", ") + std::string(words);
  };
  add(kExpertOutOfRange, "experts that do not exist");
  add(kWeightNotANumber, "weights that are not numbers");
  add(kTokensOutOfRange, "more tokens than room");
  return text.empty() ? "nothing wrong" : text;
}

// What a folder has, of an array of this size.
void read_array(const std::filesystem::path& folder, reference::Array& a) {
  auto bytes = read_file("--operands", (folder / a.name).string());
  if (bytes.size() != a.bytes.size()) {
    throw UsageError(fmt::format("--operands: {} has {} bytes, the array has {}", (folder / a.name).string(),
                                 bytes.size(), a.bytes.size()));
  }
  a.bytes = std::move(bytes);
}
template <class T>
std::vector<T> read_numbers(const std::filesystem::path& folder, const char* name, int64_t count) {
  reference::Array a{name, DType::e4m3, 1, count * int64_t(sizeof(T)), false, {}};
  a.bytes.resize(size_t(count) * sizeof(T));
  read_array(folder, a);
  std::vector<T> values(size_t(count), T{});
  if (count > 0) std::memcpy(values.data(), a.bytes.data(), a.bytes.size());
  return values;
}

struct Layer {
  reference::Routing routing;
  reference::Workload workload;
};
Layer random_layer(const MoeOptions& o) {
  const MoeProblem& p = o.layer;
  constexpr auto data = reference::Data::normal;
  Layer l{reference::drawn_routing(p.tokens, p.top_k, p.experts - p.shared, draw_of(o.routing), data, o.problem.seed),
          {}};
  if (p.shared > 0) l.routing = reference::with_shared(std::move(l.routing), p.shared, true, data, o.problem.seed);
  l.workload = reference::moe_workload(p, l.routing, reference::moe_operands(p, data, o.problem.seed));
  return l;
}
Layer own_layer(const MoeOptions& o) {
  const MoeProblem& p = o.layer;
  const std::filesystem::path folder = o.operands;
  Layer l;
  l.routing = {p.tokens, p.top_k, p.experts, {}, {}, -1, p.shared, {}};
  if (p.id_bytes == 8) {
    l.routing.ids = read_numbers<int64_t>(folder, "ids", p.tokens * p.top_k);
  } else {
    for (const int32_t id : read_numbers<int32_t>(folder, "ids", p.tokens * p.top_k)) l.routing.ids.push_back(id);
  }
  l.routing.weights = read_numbers<float>(folder, "weights", p.tokens * p.top_k);
  if (p.shared > 0 && std::filesystem::exists(folder / "shared_weights")) {
    l.routing.shared_weights = read_numbers<float>(folder, "shared_weights", p.tokens * p.shared);
  }
  if (std::filesystem::exists(folder / "token_count")) {
    l.routing.token_count = int64_t(read_numbers<uint32_t>(folder, "token_count", 1).front());
  }
  reference::MoeOperands operands = reference::moe_operands(p, reference::Data::integers, 0);
  for (reference::Array* a : {&operands.x, &operands.w_gate_up, &operands.w_down}) read_array(folder, *a);
  if (p.type == DType::e4m3) {
    for (reference::Array* a : {&operands.x_scales, &operands.w_gate_up_scales, &operands.w_down_scales}) {
      read_array(folder, *a);
    }
  }
  l.workload = reference::moe_workload(p, l.routing, std::move(operands));
  const int64_t live = l.routing.live() * p.hidden;
  for (int64_t i = 0; i < live; ++i) {
    if (std::isfinite(l.workload.expected[size_t(i)])) continue;
    throw UsageError(
        fmt::format("--operands: an element of the result is {}; the simulator compares results, which must be finite",
                    l.workload.expected[size_t(i)]));
  }
  return l;
}
void write_own(const std::string& folder, const char* name, const std::vector<uint8_t>& bytes) {
  const system::WholeFile file((std::filesystem::path(folder) / name).string());
  if (const Status s = file.write({bytes.begin(), bytes.end()}); !s) throw UsageError("--operands: " + s.message());
}

void check_size(const MoeProblem& p, Output& out) {
  const int64_t pairs = p.tokens * (p.top_k + p.shared);
  check_simulated_size({pairs, 2 * p.intermediate, p.hidden}, out);
  check_simulated_size({pairs, p.hidden, p.intermediate}, out);
}

// What both places print.
struct Shown {
  std::string target;
  bool ok = false;
  double max_rel_error = 0;
  std::string report;
};
int show(const MoeOptions& o, const simulate::MoeRun& run, const Layer& layer, const Shown& shown,
         std::vector<std::pair<std::string, std::string>> more, Json document, Output& out) {
  const uint32_t status = reference::tables_of(layer.routing).status;
  std::vector<std::string> launches;
  for (const auto* i : {&run.route, &run.gate_up, &run.down, &run.combine}) launches.push_back(catalog::name_of(*i));
  document["ok"] = shown.ok;
  document["target"] = shown.target;
  document["launches"] = launches;
  document["status"] = status;
  document["max_rel_error"] = shown.max_rel_error;
  Table table;
  table.row({"target", shown.target});
  table.row({"problem", in_words(o)});
  const char* const steps[] = {"route", "gate and up", "down", "sum"};
  for (size_t i = 0; i < launches.size(); ++i) table.row({steps[i], launches[i]});
  table.row({"status", fmt::format("{} ({})", status, faults_in_words(status))});
  table.row({"result", shown.ok ? out.paint(Mark::good, "right") : out.paint(Mark::bad, "wrong")});
  table.row({"relative error", fmt::format("{:.2e}", shown.max_rel_error)});
  for (auto& [key, value] : more) table.row({key, value});
  if (!shown.report.empty()) document["report"] = shown.report;
  out.document(document);
  out.table(table);
  if (!shown.report.empty()) out.line(shown.report);
  return shown.ok ? exit_ok : exit_wrong;
}

int run_layer_simulated(const MoeOptions& o, const simulate::MoeRun& run, Output& out) {
  check_size(o.layer, out);
  const auto begin = std::chrono::steady_clock::now();
  const Layer layer = o.operands.empty() ? random_layer(o) : own_layer(o);
  simulate::Example e;
  e.name = "moe";
  e.instance = catalog::name_of(run.gate_up);
  const BlockPlan plan = catalog::block_plan(run.gate_up);
  e.plan = &plan;
  e.simulate = [&](const reference::Workload& w, const simulator::Options& options, int ctas) {
    return simulate::run(run, w, options, ctas);
  };
  prepare(e);
  const Swept swept = sweep(e, layer.workload, modes_of(o.problem, plan), 0, "moe");
  if (!o.operands.empty() && swept.ok()) {
    const uint32_t status = reference::tables_of(layer.routing).status;
    std::vector<uint8_t> word(sizeof status);
    std::memcpy(word.data(), &status, sizeof status);
    write_own(o.operands, "out", swept.output);
    write_own(o.operands, "status", word);
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return show(o, run, layer, {fmt::format("sim:{}", name(plan.arch)), swept.ok(), swept.max_rel_error, swept.report},
              {{"runs", fmt::format("{} ({:.1f} s)", swept.runs, wall)}},
              {{"runs", swept.runs}, {"checks", swept.checks}, {"wall_s", wall}}, out);
}

int run_layer_on_gpu(const MoeOptions& o, const simulate::MoeRun& run, Output& out) {
  if (!o.problem.landing.empty() || !o.problem.schedule.empty() || o.problem.seeds != 0) {
    throw UsageError("--landing, --schedule and --seeds are for a simulator; use --target sim:sm90 or sim:sm100");
  }
  const Arch arch = catalog::arch_of(run.route);
  require_here(arch, name(arch));
  const Layer layer = random_layer(o);
  simulate::Example e;
  e.name = "moe";
  e.launch = [&](const reference::Workload& w, const std::vector<void*>& arrays, void* stream) {
    return moe(o.layer, reference::moe_pointers(w, arrays), stream);
  };
  simulate::GpuOutcome outcome;
  if (const Status s = simulate::run_on_gpu(e, layer.workload, outcome); !s) fail(s);
  const reference::Verdict& v = outcome.verdict;
  std::string report;
  if (!v.ok) {
    report =
        fmt::format("result: {} of {} elements are wrong, {} of them were never written; {} bytes outside it changed",
                    v.wrong, layer.workload.expected.size(), v.unwritten, outcome.stray_bytes);
  }
  return show(o, run, layer, {fmt::format("{} ({})", name(arch), outcome.device), v.ok, v.max_rel_error, report},
              {{"measured", fmt::format("{:.1f} us", outcome.measured_us)}},
              {{"measured_us", outcome.measured_us}, {"device", outcome.device}}, out);
}

int run_moe(MoeOptions o, Output& out) {
  o.layer.type = dtype_of(o.problem.dtype == "fp8" ? "e4m3" : o.problem.dtype);
  const std::string& target = o.problem.target;
  if (!o.operands.empty() && !target.starts_with("sim:")) {
    throw UsageError(
        "--operands: operands of your own are for a simulator; use --target sim:sm90 or --target sim:sm100");
  }
  const bool blackwell = target == "auto" ? runs_here(Arch::sm100) : target.ends_with("sm100");
  const Arch arch = blackwell ? Arch::sm100 : Arch::sm90;
  const auto run = simulate::moe_run(o.layer, choice::simulated_chip(arch));
  if (!run) fail(run.status());
  const bool on_gpu = target == "auto" ? runs_here(arch) : !target.starts_with("sim:");
  return on_gpu ? run_layer_on_gpu(o, *run, out) : run_layer_simulated(o, *run, out);
}

}  // namespace

void configure_moe(CommandLine& line, Context& context) {
  auto options = std::make_shared<MoeOptions>();
  const std::string group = "Problem";
  constexpr int64_t most = int64_t(1) << 30;
  const auto extent = [&](const char* name, std::int64_t& value, const char* help) {
    line.number(name, value, help, 0, most).required().group(group);
  };
  extent("--tokens", options->layer.tokens, "rows of x");
  extent("--experts", options->layer.experts, "how many there are");
  extent("--top-k", options->layer.top_k, "experts that a token is sent to");
  extent("--hidden", options->layer.hidden, "columns of x and of the result");
  extent("--intermediate", options->layer.intermediate, "columns between the two products");
  line.number("--shared", options->layer.shared, "how many of the experts, the last ones, every token takes", 0, most)
      .group(group);
  line.text("--dtype", options->problem.dtype,
            "type of x and the weights (default bf16; fp8 = e4m3, with blockwise scales)")
      .one_of({"bf16", "e4m3", "fp8"})
      .group(group);
  line.number("--id-bytes", options->layer.id_bytes, "bytes of an expert's number (default 4)", 4, 8).group(group);
  line.text("--routing", options->routing,
            "how tokens find their experts (default uniform); bad: tables that are not legal")
      .one_of({"uniform", "skewed", "one", "bad"})
      .group(group);
  line.text("--target", options->problem.target, "where it runs (default auto)")
      .one_of({"auto", "sm90", "sm100", "sim:sm90", "sim:sm100"})
      .group(group);
  line.text("--gate-up-plan", options->layer.gate_up_plan, "plan of the first product instead of the chosen one")
      .not_empty()
      .group(group);
  line.text("--down-plan", options->layer.down_plan, "plan of the second one").not_empty().group(group);
  line.text("--operands", options->operands,
            "a folder with row-major arrays in files x, w_gate_up, w_down, ids (int32), weights (fp32), for e4m3 "
            "x_scales, "
            "w_gate_up_scales and w_down_scales, and perhaps shared_weights (fp32) and token_count; receives out and "
            "status")
      .not_empty()
      .group("Operands of your own (simulators)");
  add_simulation_options(line, options->problem);
  context.runs(line,
               "./warpwright moe --tokens 64 --experts 8 --top-k 2 --hidden 256 --intermediate 128 --target sim:sm90",
               [options](Output& out) { return run_moe(*options, out); });
}

}  // namespace warpwright::cli

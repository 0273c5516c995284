// `explain`: which kernel would serve a problem, how it is built, and why. Needs no GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/commands.h"
#include "cli/simulation.h"
#include "runtime/plan_choice.h"

namespace warpwright::cli {
namespace {

// The model's chip where no GPU is asked: an H200.
constexpr int kMultiprocessors = 132;

struct Explanation {
  Plan plan;
  std::string instance;
  int tile[3];
  int stages;
  std::int64_t waves;
  std::string reason;
};

// A ring is a pair of barriers NAME.full and NAME.empty; its bytes are those of the regions NAME and NAME.*.
Json rings_of(const Plan& plan) {
  Json rings = Json::array();
  for (int i = 0; i < plan.barrier_count; ++i) {
    const BarrierSpec& full = plan.barriers[i];
    const std::string_view name = full.name;
    if (!name.ends_with(".full")) continue;
    const std::string ring(name.substr(0, name.size() - 5));
    std::uint32_t bytes = 0;
    for (int r = 0; r < plan.region_count; ++r) {
      const std::string_view region = plan.regions[r].name;
      if (region == ring || region.starts_with(ring + ".")) bytes += plan.regions[r].bytes();
    }
    Json json = {{"name", ring},
                 {"stages", full.stages},
                 {"bytes", bytes},
                 {"full_count", full.count},
                 {"filled_by", full.arrivals[0].role},
                 {"read_by", full.waiter}};
    for (int j = 0; j < plan.barrier_count; ++j)
      if (plan.barriers[j].name == ring + ".empty") json["empty_count"] = plan.barriers[j].count;
    rings.push_back(json);
  }
  return rings;
}

Explanation explain_hopper(const runtime::GemmShape& shape) {
  const int number = runtime::choose_plan(shape, kMultiprocessors);
  const runtime::PlanEstimate e = runtime::estimate(number, shape, kMultiprocessors);
  const Plan plan = runtime::plan_of(number);
  return {plan,
          fmt::format("plan {}: {}", number, runtime::plan_text(number)),
          {e.tile_m, e.tile_n, e.tile_k},
          plan.barriers[0].stages,
          e.waves,
          runtime::reason_for(e, shape, kMultiprocessors)};
}

Explanation explain_example(const ChosenProblem& chosen, bool named) {
  const runtime::Example& example = *chosen.selection.example;
  const auto tiles = [](std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; };
  const int cluster = example.plan->cluster;
  const std::int64_t work = tiles(chosen.problem.m, std::int64_t(example.gemm.tile_m) * cluster) *
                            tiles(chosen.problem.n, example.gemm.tile_n);
  const std::int64_t waves = tiles(work, std::max(1, chosen.selection.ctas / cluster));
  return {*example.plan,
          fmt::format("{}: {}", example.name, example.instance),
          {example.gemm.tile_m, example.gemm.tile_n, 0},
          example.plan->barriers[0].stages,
          waves,
          named ? "it was named by --plan" : "the largest tile that the problem fills more than half"};
}

int run_explain(const ProblemOptions& options, Output& out) {
  const ChosenProblem chosen = choose(options, false);
  const runtime::Problem& p = chosen.problem;
  const runtime::GemmShape shape{p.m, p.n, p.k, p.dtype};
  const bool modelled = chosen.target.arch == Arch::sm90 && options.plan.empty();
  const Explanation e = modelled ? explain_hopper(shape) : explain_example(chosen, !options.plan.empty());
  const runtime::Floor floor = runtime::floor_of(shape);

  Json tile = {e.tile[0], e.tile[1]};
  if (e.tile[2] > 0) tile.push_back(e.tile[2]);
  const Json rings = rings_of(e.plan);
  out.document({{"kernel", e.plan.kernel},
                {"instance", e.instance},
                {"target", chosen.target.word},
                {"tile", tile},
                {"cluster", e.plan.cluster},
                {"stages", e.stages},
                {"rings", rings},
                {"threads", e.plan.threads()},
                {"smem_bytes", e.plan.shared_bytes},
                {"tmem_columns", e.plan.tmem_columns},
                {"waves", e.waves},
                {"reason", e.reason},
                {"floor_us", floor.us()},
                {"floor", {{"tensor_us", floor.tensor_us}, {"memory_us", floor.memory_us}}}});
  Table table;
  table.row({"problem", fmt::format("{} {}", chosen.shape(), name(p.dtype))});
  table.row({"kernel", fmt::format("{} ({})", e.plan.kernel, e.instance)});
  table.row({"grid", fmt::format("{} waves, clusters of {}, {} threads", e.waves, e.plan.cluster, e.plan.threads())});
  for (const Json& ring : rings) {
    table.row(
        {fmt::format("ring {}", ring["name"].get<std::string>()),
         fmt::format("{} stages, {} bytes, {} -> {}", ring["stages"].get<int>(), ring["bytes"].get<std::uint32_t>(),
                     ring["filled_by"].get<std::string>(), ring["read_by"].get<std::string>())});
  }
  table.row({"shared memory", fmt::format("{} bytes", e.plan.shared_bytes)});
  if (e.plan.tmem_columns > 0) table.row({"tensor memory", fmt::format("{} columns", e.plan.tmem_columns)});
  table.row({"why", e.reason});
  table.row({"floor on an H200", fmt::format("{:.2f} us: tensor cores {:.2f}, memory {:.2f}", floor.us(),
                                             floor.tensor_us, floor.memory_us)});
  out.table(table);
  return exit_ok;
}

}  // namespace

void configure_explain(CLI::App& app, Context& context) {
  auto options = std::make_shared<ProblemOptions>();
  add_problem_options(app, *options);
  context.runs(app, "./warpwright explain --m 16 --n 4096 --k 4096",
               [options](Output& out) { return run_explain(*options, out); });
}

}  // namespace warpwright::cli

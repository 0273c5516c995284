// `explain`: which kernel would serve a problem, how it is built, and why. Needs no GPU.
#include "cli/explain.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "choice/choose.h"
#include "cli/commands.h"
#include "cli/here.h"
#include "cli/line/arguments.h"
#include "cli/problem/gemm_problem.h"
#include "cli/problem/grouped_problem.h"
#include "cli/simulation.h"
#include "problem/lower.h"

namespace warpwright::cli {
namespace {

std::uint32_t shared_limit(Arch arch) {
  if (is_cdna(arch)) return arch == Arch::gfx942 ? 64 * 1024 : 160 * 1024;
  return kMaxSharedBytes;
}

Json arrivals_of(const BarrierSpec& barrier) {
  Json list = Json::array();
  for (const ArrivalSpec& a : barrier.arrivals)
    if (a.role != nullptr) list.push_back({{"role", a.role}, {"arrivals", a.per_phase}});
  return list;
}

Json barrier_json(const BarrierSpec& barrier) {
  return {
      {"name", barrier.name}, {"count", barrier.count}, {"arrivals", arrivals_of(barrier)}, {"waits", barrier.waiter}};
}

// The LDS slots of a kernel whose waves all fill and all read: barriers of the workgroup separate the two.
Json slots_of(const BlockPlan& plan) {
  Json rings = Json::array();
  for (int i = 0; i < plan.region_count; ++i) {
    const RegionSpec& r = plan.regions[i];
    rings.push_back({{"name", r.name},
                     {"stages", r.stages},
                     {"bytes", r.bytes()},
                     {"filled_by", "every wave"},
                     {"read_by", "every wave"},
                     {"barriers", Json::array()}});
  }
  return rings;
}

// A ring is a pair of barriers NAME.full and NAME.empty; its bytes are those of the regions NAME and NAME.*.
Json rings_of(const BlockPlan& plan) {
  if (is_cdna(plan.arch)) return slots_of(plan);
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
    Json json = {{"name", ring},           {"stages", full.stages},
                 {"bytes", bytes},         {"filled_by", full.arrivals[0].role},
                 {"read_by", full.waiter}, {"barriers", Json::array({barrier_json(full)})}};
    for (int j = 0; j < plan.barrier_count; ++j)
      if (plan.barriers[j].name == ring + ".empty") json["barriers"].push_back(barrier_json(plan.barriers[j]));
    rings.push_back(json);
  }
  return rings;
}

Json roles_json(const BlockPlan& plan) {
  Json roles = Json::array();
  for (int i = 0; i < plan.role_count; ++i) {
    const RoleSpec& role = plan.roles[i];
    roles.push_back({{"name", role.name},
                     {"warps", role.warps},
                     {"registers", role.registers > 0 ? role.registers : plan.launch_registers()}});
  }
  return roles;
}

Explanation explain_dense(const ProblemOptions& options) {
  const Arch arch = arch_of(options);
  const GemmProblem problem = gemm_problem_of(options);
  const choice::Chip chip = chip_for(arch);
  const auto device = gpu_here();
  const auto limits = device && device->arch == arch
                          ? choice::limits_of(device->major, device->minor, device->shared_bytes)
                          : choice::ChipLimits{};
  const auto decision = choice::choose(problem, chip, choice::OnDemand::allowed, limits);
  if (!decision) throw UsageError(decision.status().message());
  const choice::Choice& choice = decision->choice;
  const choice::PlanEstimate& e = choice.estimate;
  const std::string instance = catalog::name_of(choice.instance);
  const problem::GemmShape shape = problem::lower(problem).shape;
  return {catalog::block_plan(choice.instance),
          arch,
          decision->name(),
          instance,
          arch == Arch::sm90 ? choice::plan_text(choice.instance) : instance,
          {e.tile_m, e.tile_n, e.tile_k},
          e.waves,
          e.fill,
          choice.reason,
          chip_text(chip),
          shape.text(),
          choice::floor_of(shape, arch),
          choice.measured_us,
          problem.epilogue.formula,
          choice::word_of(choice.by)};
}

void print(const Explanation& e, const std::string& target, const ProblemOptions& options, Output& out) {
  const choice::Floor& floor = e.floor;
  Json tile = {e.tile[0], e.tile[1]};
  if (e.tile[2] > 0) tile.push_back(e.tile[2]);
  const Json rings = rings_of(e.plan);
  Json document = {{"kernel", e.plan.kernel},
                   {"plan", e.name},
                   {"instance", e.instance},
                   {"target", target},
                   {"chip", e.chip},
                   {"tile", tile},
                   {"cluster", e.plan.cluster},
                   {"stages", is_cdna(e.arch) ? e.plan.regions[0].stages : e.plan.barriers[0].stages},
                   {"rings", rings},
                   {"roles", roles_json(e.plan)},
                   {"threads", e.plan.threads()},
                   {"ctas_per_sm", e.plan.blocks_per_sm},
                   {"smem_bytes", e.plan.shared_bytes},
                   {"tmem_columns", e.plan.tmem_columns},
                   {"waves", e.waves},
                   {"fill", e.fill},
                   {"reason", e.reason},
                   {"chosen_by", e.chosen_by},
                   {"measured_us", e.measured_us > 0 ? Json(e.measured_us) : Json()},
                   {"floor_us", floor.us()},
                   {"floor",
                    {{"tensor_us", floor.tensor_us},
                     {"memory_us", floor.memory_us},
                     {"flops", floor.flops},
                     {"bytes", floor.bytes}}}};
  if (!e.formula.empty()) document["epilogue"] = e.formula;
  out.document(document);
  Table table;
  table.row({"problem", e.problem});
  table.row({"kernel", fmt::format("{} ({})", e.plan.kernel, e.text)});
  table.row({"plan", e.name});
  table.row({"instance", e.instance});
  if (!e.formula.empty()) table.row({"epilogue", e.formula});
  const std::string empty = empty_text(options);
  if (!empty.empty()) table.row({"empty", empty});
  const bool launched = e.waves > 0;
  if (launched)
    table.row({"grid", fmt::format("{} wave{} filled to {:.0f} %, clusters of {}, {} threads, {} {}", e.waves,
                                   e.waves == 1 ? "" : "s", 100 * e.fill, e.plan.cluster, e.plan.threads(),
                                   e.plan.blocks_per_sm, is_cdna(e.arch) ? "workgroup on a CU" : "CTA on an SM")});
  for (const Json& ring : rings) {
    table.row(
        {fmt::format("ring {}", ring["name"].get<std::string>()),
         fmt::format("{} stages, {} bytes, {} -> {}", ring["stages"].get<int>(), ring["bytes"].get<std::uint32_t>(),
                     ring["filled_by"].get<std::string>(), ring["read_by"].get<std::string>())});
    for (const Json& barrier : ring["barriers"]) {
      std::string who;
      for (const Json& a : barrier["arrivals"])
        who +=
            fmt::format("{}{} of {}", who.empty() ? "" : ", ", a["arrivals"].get<int>(), a["role"].get<std::string>());
      table.row({fmt::format("  {}", barrier["name"].get<std::string>()),
                 fmt::format("{} arrival{} ({}), {} waits", barrier["count"].get<int>(),
                             barrier["count"].get<int>() == 1 ? "" : "s", who, barrier["waits"].get<std::string>())});
    }
  }
  for (int i = 0; i < e.plan.role_count; ++i) {
    const RoleSpec& role = e.plan.roles[i];
    table.row(
        {fmt::format("role {}", role.name),
         fmt::format("{} {}{}, {} registers a thread", role.warps, is_cdna(e.arch) ? "wave" : "warp",
                     role.warps == 1 ? "" : "s", role.registers > 0 ? role.registers : e.plan.launch_registers())});
  }
  table.row({"shared memory", fmt::format("{} of {} bytes", e.plan.shared_bytes, shared_limit(e.arch))});
  if (e.plan.tmem_columns > 0) table.row({"tensor memory", fmt::format("{} columns", e.plan.tmem_columns)});
  if (launched) table.row({"why", e.reason});
  table.row({fmt::format("floor on {}{}", e.arch == Arch::sm100 ? "a " : "an ", chip_of(e.arch)),
             fmt::format("{:.2f} us: tensor cores {:.2f} ({:.3g} GFLOP), memory {:.2f} ({:.3g} MB)", floor.us(),
                         floor.tensor_us, floor.flops * 1e-9, floor.memory_us, floor.bytes * 1e-6)});
  out.table(table);
  if (e.arch == Arch::sm100) out.note("This project has never run Blackwell code on hardware.");
  if (is_cdna(e.arch)) out.note("This project has never run AMD code on hardware.");
}

int run_explain(ProblemOptions options, Output& out) {
  const bool given = options.target != "auto";
  resolve_target(options);
  const bool grouped = is_grouped(options);
  const Arch arch = arch_of(options);
  const Explanation e = grouped ? explain_grouped(options) : explain_dense(options);
  const bool simulated = arch != Arch::sm90 && !runs_here(arch);
  print(e, given ? options.target : fmt::format("{}{}", simulated ? "sim:" : "", name(arch)), options, out);
  return exit_ok;
}

}  // namespace

const char* chip_of(Arch arch) {
  if (is_cdna(arch)) return arch == Arch::gfx942 ? "MI300X" : "MI355X";
  return arch == Arch::sm100 ? "B200" : "H200";
}

choice::Chip chip_for(Arch arch) {
  const auto device = gpu_here();
  if (!device || device->arch != arch) return choice::simulated_chip(arch);
  return {device->name, device->multiprocessors, arch, device->driver};
}
std::string chip_text(const choice::Chip& chip) {
  const auto device = gpu_here();
  const bool real = chip.arch == Arch::sm90 || (device && device->name == chip.name);
  return real ? chip.name : fmt::format("the simulator's {}", chip_of(chip.arch));
}

void configure_explain(CommandLine& line, Context& context) {
  auto options = std::make_shared<ProblemOptions>();
  add_problem_options(line, *options);
  // A plan exists for chips that nothing here can run on.
  line.remove("--target");
  line.text("--target", options->target, "for which chip (default that of the GPU here, otherwise sm90)")
      .one_of({"auto", "gpu", "sm80", "sm90", "sm100", "gfx942", "gfx950", "sim:sm80", "sim:sm90", "sim:sm100",
               "sim:gfx942", "sim:gfx950"})
      .group("Problem");
  context.runs(line, "./warpwright explain --m 16 --n 4096 --k 4096",
               [options](Output& out) { return run_explain(*options, out); });
}

}  // namespace warpwright::cli

#include "choice/by_fill.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

using catalog::Instance;
using choice::Chip;
using choice::ChosenBy;

bool fits(const ClusterTile& t, const GemmProblem& p) {
  return 2 * p.m > 2 * t.rows - t.last_rows && 2 * p.n > t.columns;
}

int64_t tiles_of(const ClusterTile& t, const GemmProblem& p) {
  return ceil_div(p.m, t.rows) * ceil_div(p.n, t.columns) * p.batch;
}

PlanEstimate estimate(const Instance& instance, const ClusterTile& t, const GemmProblem& p, const Chip& chip) {
  PlanEstimate e;
  e.tile_m = t.tile_m;
  e.tile_n = t.tile_n;
  e.tile_k = t.tile_k;
  e.split = std::max(1, instance.splits);
  e.tiles = tiles_of(t, p) * e.split;
  e.clusters = std::max(1, chip.multiprocessors / t.cluster);
  e.waves = ceil_div(e.tiles, e.clusters);
  e.fill = e.waves > 0 ? double(e.tiles) / double(e.waves * e.clusters) : 0;
  return e;
}

}  // namespace

Status with_nearest(const Status& status, const std::string& plan, Arch arch) {
  return Status(status.code(), fmt::format("{} The nearest are {}.", status.message(),
                                           fmt::join(catalog::nearest_names(plan, 3, arch), ", ")));
}

Result<Instance> named_for(const std::string& plan, const Instance& like) {
  const Arch arch = catalog::arch_of(like);
  const bool whole = plan.find('/') != std::string::npos;
  auto named = whole ? catalog::parse_instance(plan) : catalog::parse_plan(plan, like);
  if (!named) return with_nearest(named.status(), plan, arch);
  if (catalog::arch_of(*named) != arch) {
    return with_nearest(Status(Code::invalid_argument, fmt::format("plan = {}: it is a kernel for {}, not for {}.",
                                                                   plan, name(catalog::arch_of(*named)), name(arch))),
                        plan, arch);
  }
  if (Status s = catalog::refuse(*named); !s) return s;
  return named;
}

Result<Decision> choose_by_fill(const GemmProblem& p, const problem::Lowered& low, const Chip& chip,
                                const Family& family) {
  const auto decided = [&](Instance instance, ChosenBy by, std::string reason) {
    const bool shares = instance.splits == 0 && family.parts(instance) > 1;
    if (shares) instance.splits = family.parts(instance);
    const PlanEstimate e = estimate(instance, family.tile(instance), p, chip);
    reason += fmt::format("; {} wave{} filled to {:.0f} %", e.waves, e.waves == 1 ? "" : "s", 100 * e.fill);
    return Decision{Choice{instance, e, by, std::move(reason)}, {}, low};
  };
  if (!p.plan.empty()) {
    const auto named = family.named(p.plan);
    if (!named) return named.status();
    if (!family.serves(*named)) {
      return Status(Code::unsupported, fmt::format("plan = {}: it is {}, which cannot serve {}.", p.plan,
                                                   catalog::name_of(*named), low.shape.text()));
    }
    return decided(*named, ChosenBy::name, "it was named");
  }
  if (family.candidates.empty()) {
    return Status(Code::unsupported,
                  fmt::format("{}: no kernel for {} of this version serves it.", low.shape.text(), name(family.arch)));
  }
  const auto size = [&](const Instance& instance) {
    const ClusterTile t = family.tile(instance);
    return t.rows * t.columns;
  };
  const auto filled = std::find_if(family.candidates.begin(), family.candidates.end(),
                                   [&](const Instance& instance) { return fits(family.tile(instance), p); });
  const bool fits_one = filled != family.candidates.end();
  const Instance& best =
      fits_one ? *filled
               : *std::min_element(family.candidates.begin(), family.candidates.end(),
                                   [&](const Instance& x, const Instance& y) { return size(x) < size(y); });
  const ClusterTile t = family.tile(best);
  if (2 * tiles_of(t, p) * t.cluster <= chip.multiprocessors) {
    for (const Instance& instance : family.candidates) {
      const int parts = family.parts(instance);
      if (parts < 2) continue;
      return decided(instance, ChosenBy::model,
                     fmt::format("few tiles, so {} workgroups share the depth of each", parts));
    }
  }
  return decided(
      best, ChosenBy::model,
      fits_one
          ? fmt::format("the largest tile, {} x {}, that the product fills more than half", t.rows, t.columns)
          : fmt::format("the smallest tile, {} x {}, since the product fills none more than half", t.rows, t.columns));
}

}  // namespace warpwright::choice

// Dense and block-scaled products on Blackwell.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "choice/by_fill.h"
#include "choice/sm100_model.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

using Config = DenseGemmSm100Config;
using catalog::Instance;

// What may be compiled for a product in addition to the listed instances. Block-scaled MMAs take 128 rows of each CTA.
const Config kOnDemand[] = {
    {.tile_m = 128, .tile_n = 256, .stages = 6, .cta_group = 2, .cluster_m = 2},
    {.tile_m = 128, .tile_n = 128, .stages = 6},
    {.tile_m = 64, .tile_n = 64, .stages = 8},
};

// The same tile and rings computing what the problem asks for.
Config with_features(Config c, const GemmProblem& p, const problem::Lowered& low) {
  c.type = p.a.type;
  c.out_type = p.d.type;
  c.epilogue = low.shape.epilogue;
  c.scaling = p.block_scaling;
  c.batched = p.batch != 1;
  return c;
}
// Wider results and factors leave room for fewer stages.
Config fitted(Config c) {
  while (c.stages > 2 && !catalog::refuse({c})) --c.stages;
  return c;
}

// Whatever the TMA moves has rows of whole units of 16 bytes.
bool moved(const Config& c, const problem::Lowered& low) {
  const auto whole = [](const problem::StoredMatrix& m) { return m.columns * bits(m.type) % 128 == 0; };
  if (c.store_stages > 0 && !low.d_fits_tma) return false;
  if (c.epilogue_load_stages == 0) return true;
  if (c.loads_bias() && low.d.columns * bits(c.epilogue.bias_type) % 128 != 0) return false;
  return (!c.epilogue.source || (whole(low.c) && low.c.rows_fit_tma())) &&
         (!c.epilogue.residual || (whole(low.residual) && low.residual.rows_fit_tma()));
}
bool serves(const Instance& instance, const GemmProblem& p, const problem::Lowered& low) {
  const auto* c = instance.as<Config>();
  if (c == nullptr || (p.deterministic && c->split == DepthSplit::stream_k)) return false;
  Config same = *c;
  same.epilogue.out = c->out_type;
  if (p.alpha == 1) same.epilogue.alpha = true;  // one without a factor will do
  return same == with_features(*c, p, low) && moved(*c, low);
}

Sm100Work work_of(const Config& c, int splits, const GemmProblem& p, const problem::Lowered& low, const Chip& chip) {
  Sm100Work w;
  w.jobs = c.tiles(int(p.m), int(p.n), int(p.batch));
  w.steps = c.steps(int(p.k));
  if (c.split == DepthSplit::split_k) {
    w.split(splits);
  } else if (c.split == DepthSplit::stream_k && w.jobs > 0 && w.steps > 0) {
    const int64_t all = w.jobs * w.steps, share = ceil_div(all, std::max(1, chip.multiprocessors / c.cluster()));
    w.parts = share % w.steps == 0 ? 1 : int(std::max<int64_t>(2, ceil_div(w.steps, share)));
    // Wherever one's share ends and another one's begins, but at the end.
    if (w.parts > 1) w.left = std::min<int64_t>(all, std::max(1, chip.multiprocessors / c.cluster())) - 1;
    w.jobs = ceil_div(all, share);
    // The part that ends a tile waits for those that began it; with whole tiles between, for as long as one takes.
    w.steps = int(share > w.steps && w.parts > 1 ? share + w.steps : share);
  }
  w.bytes = bytes_of(low);
  return w;
}

struct Timed {
  Instance instance;  // with its parts
  Sm100Time time;
  bool ahead = true;
};

// An instance without a number of parts gets the best one.
Timed timed(const Instance& instance, const GemmProblem& p, const problem::Lowered& low, const Chip& chip, bool ahead) {
  const Config& c = *instance.as<Config>();
  const auto with = [&](int splits) {
    Timed t{instance, sm100_time(c, work_of(c, splits, p, low, chip), chip.multiprocessors), ahead};
    t.instance.splits = splits;
    return t;
  };
  return c.split != DepthSplit::split_k || instance.splits > 0 ? with(instance.splits) : best_parts(2, with);
}

Choice choice_of(const Timed& t, ChosenBy by, const std::string& why) {
  const Config& c = *t.instance.as<Config>();
  const PlanEstimate e = t.time.estimate(c.swap_ab ? c.tile_n : c.mma_m(), c.swap_ab ? c.mma_m() : c.tile_n, c.tile_k(),
                                         t.instance.splits);
  return {t.instance, e, by, fmt::format("{}: {}", why, t.time.text())};
}

Result<Instance> named(const GemmProblem& p, const problem::Lowered& low) {
  auto instance = named_for(p.plan, {with_features({}, p, low)});
  if (!instance) return instance;
  if (instance->as<Config>() == nullptr) {
    return with_nearest(Status(Code::unsupported, "plan = " + p.plan + ": it makes no dense product for sm100."),
                        p.plan, Arch::sm100);
  }
  if (serves(*instance, p, low)) return instance;
  return Status(Code::unsupported, fmt::format("plan = {}: it is {}, which cannot serve {}.", p.plan,
                                               catalog::name_of(*instance), low.shape.text()));
}

}  // namespace

Result<Decision> choose_sm100(const GemmProblem& p, const problem::Lowered& low, const Chip& chip, OnDemand on_demand,
                              std::vector<Decision>* others) {
  if (!p.plan.empty()) {
    const auto instance = named(p, low);
    if (!instance) return instance.status();
    return Decision{choice_of(timed(*instance, p, low, chip, true), ChosenBy::name, kNamed), {}, low};
  }
  std::vector<Timed> list;
  for (const Instance& instance : catalog::ahead())
    if (serves(instance, p, low)) list.push_back(timed(instance, p, low, chip, true));
  const bool any = !list.empty();
  for (const Config& c : kOnDemand) {
    if (on_demand == OnDemand::refused) break;
    const Instance made{fitted(with_features(c, p, low))};
    if (any && catalog::is_ahead(made)) continue;
    if (catalog::refuse(made) && serves(made, p, low)) list.push_back(timed(made, p, low, chip, false));
  }
  if (list.empty()) {
    return Status(Code::unsupported,
                  fmt::format("{}: no kernel for sm100 of this version serves it.", low.shape.text()));
  }
  if (others != nullptr) {
    for (const Timed& t : by_time(list)) others->push_back({choice_of(t, ChosenBy::model, ""), {}, low});
  }
  const Timed& best = least_time(list);
  return Decision{
      choice_of(best, ChosenBy::model,
                fmt::format("the least time of {} by the clock of a B200, {:.1f} us, which nobody has measured",
                            list.size(), best.time.us)),
      {},
      low};
}

}  // namespace warpwright::choice

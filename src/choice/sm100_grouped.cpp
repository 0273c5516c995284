#include "choice/sm100_grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "choice/by_fill.h"
#include "choice/grouped_facts.h"
#include "choice/sm100_model.h"
#include "problem/words.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

using catalog::Instance;
using Grouped = GroupedGemmSm100Config;
using Blockwise = BlockwiseFp8Sm100Config;

// Tiles that may be compiled for a product in addition to the listed instances: from few rows in a group to many.
const Grouped kOnDemand[] = {
    {.tile_n = 8, .stages = 8, .swap_ab = true},
    {.tile_n = 32, .stages = 8, .swap_ab = true},
    {.tile_n = 128, .stages = 6, .cta_group = 2, .swap_ab = true},
};
// Tokens that are columns hand their gates and ups around: a step of its own for 16 of them.
const Grouped kOnDemandQuantized[] = {
    {.tile_n = 16, .stages = 8, .swap_ab = true},
    {.tile_n = 128, .stages = 6, .cta_group = 2},
};

// Plain elements; gates and ups that lie apart are columns of the MMA, which tokens are not then.
const Grouped kOnDemandPlain[] = {
    {.tile_n = 16, .stages = 8, .swap_ab = true},
    {.tile_n = 64, .stages = 8, .swap_ab = true},
    {.tile_n = 128, .stages = 6},
    {.tile_n = 256, .stages = 6, .cta_group = 2},
};

// Groups along k, whose stages one CTA clears.
const Grouped kOnDemandAlongK[] = {
    {.tile_n = 128, .stages = 6},
    {.tile_n = 256, .stages = 4},
};

// With swiglu two warpgroups have a part each; where its results are quantized they share their scales.
const Blockwise kOnDemandBlockwise[] = {
    {.tile_n = 128, .stages = 6},
    {.tile_n = 256, .stages = 4, .epilogue_warps = 2 * kTmemWarps},
    {.tile_n = 256, .stages = 6, .cta_group = 2, .epilogue_warps = 2 * kTmemWarps},
};

// But for a factor, swiglu of a pair of accumulators, what D held, and a function of the user's own with its bias,
// which a problem may ask for.
bool plain(EpilogueConfig e) {
  e.alpha = e.source = false;
  if (e.pair()) e.activation = Activation::none;
  if (e.own != 0) {
    e.own = 0;
    e.bias = Bias::none;
  }
  return e.trivial();
}
void take_own(EpilogueConfig& e, const GroupedProblem& p) {
  e.own = p.formula.empty() ? 0 : own_id(p.formula.c_str());
  e.bias = p.bias;
  e.bias_type = p.bias == Bias::none ? EpilogueConfig{}.bias_type : p.bias_type;
}
// The activation of the epilogue; with quantized results swiglu is a part of that.
Activation activation_of(const GroupedProblem& p) {
  return p.out_scaling == BlockScaling::none ? p.activation : Activation::none;
}

// With a scale for 128 elements along k, which the epilogue applies.
bool blockwise(const GroupedProblem& p) { return p.scaling == BlockScaling::none && p.type == DType::e4m3; }

Grouped with_features(Grouped c, const GroupedProblem& p) {
  c.scaling = p.scaling;
  c.type = p.type;
  c.out_scaling = p.out_scaling;
  c.clamped_swiglu = p.clamped_swiglu;
  c.gathered = p.gathered;
  c.epilogue.activation = activation_of(p);
  c.by_depth = p.groups == Groups::by_depth;
  c.a_major = p.a_major;
  c.b_major = p.b_major;
  c.epilogue.source = p.accumulate;
  if (p.accumulate) c.epilogue.source_type = p.out;
  take_own(c.epilogue, p);
  if (p.out_scaling == BlockScaling::none) c.out_type = c.epilogue.out = p.out;
  return c;
}
Blockwise with_features(Blockwise c, const GroupedProblem& p) {
  c.out_type = c.epilogue.out = p.out;
  c.grouped = p.groups != Groups::none;
  c.gathered = p.gathered;
  c.epilogue.activation = p.activation;
  c.epilogue.alpha = c.grouped;  // a factor for each matrix
  take_own(c.epilogue, p);
  c.by_depth = p.groups == Groups::by_depth;
  c.epilogue.source = p.accumulate;
  if (p.accumulate) c.epilogue.source_type = p.out;
  return c;
}
bool serves(const Grouped& c, const GroupedProblem& p) {
  if (c.pointers || p.groups == Groups::none || blockwise(p) || !plain(c.epilogue)) return false;
  Grouped same = c;
  if (p.out_scaling == BlockScaling::none) same.epilogue.out = c.out_type;
  return same == with_features(c, p);
}
bool serves(const Blockwise& c, const GroupedProblem& p) {
  if (!blockwise(p) || !plain(c.epilogue)) return false;
  Blockwise same = c;
  same.epilogue.out = c.out_type;
  return same == with_features(c, p);
}
bool serves(const Instance& instance, const GroupedProblem& p) {
  if (const auto* c = instance.as<Grouped>()) return serves(*c, p);
  const auto* c = instance.as<Blockwise>();
  return c != nullptr && serves(*c, p);
}

bool early(const Instance& instance) {
  if (const auto* c = instance.as<Grouped>()) return c->dependent;
  return instance.as<Blockwise>()->dependent;
}

// A listed instance compiled with the text.
Instance with_text(Instance instance, const GroupedProblem& p) {
  if (const auto* c = instance.as<Grouped>()) {
    instance.config = with_features(*c, p);
  } else {
    instance.config = with_features(*instance.as<Blockwise>(), p);
  }
  instance.formula = p.formula;
  return instance;
}

template <class Config>
Config fitted(Config c) {
  while (c.stages > 2 && !catalog::refuse({c})) --c.stages;
  return c;
}

std::vector<Instance> candidates(const GroupedProblem& p) {
  std::vector<Instance> list;
  // A launch that begins early is only for those who name it: what it brings has not been measured.
  const GroupedProblem listed = without_own(p);
  for (const Instance& instance : catalog::ahead()) {
    if (!serves(instance, listed) || (p.plan.empty() && early(instance))) continue;
    list.push_back(p.formula.empty() ? instance : with_text(instance, p));
  }
  const auto add = [&](const auto& c) {
    const Instance made{fitted(with_features(c, p))};
    if (!catalog::is_ahead(made) && catalog::refuse(made) && serves(made, p)) list.push_back(made);
  };
  if (p.out_scaling != BlockScaling::none) {
    for (const Grouped& c : kOnDemandQuantized) add(c);
  } else if (p.scaling != BlockScaling::none) {
    for (const Grouped& c : kOnDemand) add(c);
  } else if (p.groups == Groups::by_depth && !blockwise(p)) {
    for (const Grouped& c : kOnDemandAlongK) add(c);
  } else if (!blockwise(p)) {
    for (const Grouped& c : kOnDemandPlain) add(c);
  } else if (p.groups != Groups::none && list.empty()) {
    for (const Blockwise& c : kOnDemandBlockwise) add(c);
  }
  return list;
}

std::string described(const GroupedProblem& p) {
  return fmt::format("{} products of {}{}{}", problem::operation_of(p.groups),
                     p.scaling == BlockScaling::none ? name(p.type) : name(p.scaling),
                     p.activation == Activation::swiglu ? " with swiglu" : "",
                     p.formula.empty() ? "" : " with an epilogue of your own");
}

Result<Instance> named(const GroupedProblem& p, const std::vector<Instance>& list) {
  const Instance like = blockwise(p) ? Instance{with_features(Blockwise{}, p)} : Instance{with_features(Grouped{}, p)};
  for (const Instance& instance : list)
    if (p.plan == catalog::plan_name(instance)) return instance;
  auto instance = named_for(p.plan, like);
  if (!instance || serves(*instance, p)) return instance;
  return with_nearest(Status(Code::unsupported, fmt::format("plan = {}: it does not serve {}.", p.plan, described(p))),
                      p.plan, Arch::sm100);
}

}  // namespace

GroupedTile grouped_tile(const Instance& instance) {
  const auto* grouped = instance.as<Grouped>();
  const DenseGemmSm100Config c = grouped != nullptr ? grouped->dense() : instance.as<Blockwise>()->dense();
  GroupedTile t{c.mma_m(), c.tile_n, c.tile_k(), c.cluster()};
  if (grouped != nullptr) {
    t.tile_m = grouped->tile_tokens();
    t.tile_n = grouped->tile_columns();
  }
  return t;
}

Sm100Time grouped_time(const Instance& instance, const GroupedProblem& p, const Chip& chip) {
  const auto* grouped = instance.as<Grouped>();
  const DenseGemmSm100Config c = grouped != nullptr ? grouped->dense() : instance.as<Blockwise>()->dense();
  const GroupedTile t = grouped_tile(instance);
  const int64_t groups = p.groups == Groups::none ? 1 : p.group_count;
  const int64_t rows = std::max<int64_t>(1, usual_rows(p));
  Sm100Work w;
  w.jobs = waves_of(groups, rows, p.n, t.tile_m, t.tile_n, std::max(1, chip.multiprocessors / t.cluster)).tiles;
  // A group along k has a part of it, and begins inside of a stage.
  const bool by_depth = p.groups == Groups::by_depth;
  w.steps = int(ceil_div(by_depth ? p.k / std::max<int64_t>(1, groups) + 1 : p.k, int64_t(t.tile_k)));
  w.bytes = floor_of(work_of(p), Arch::sm100).bytes;
  if (instance.splits > 0) w.split(instance.splits);
  if (p.accumulate) w.bytes += double(groups) * double(p.m) * double(p.n) * bits(p.out) / 8;
  // Every block along k is read out, and multiplied by factors of which those of B come from L2.
  if (grouped == nullptr) {
    const BlackwellClock clock = kBlackwellClock;
    w.step_cycles = double(c.group_columns()) / 64 * clock.tmem_read_64 + clock.global_load + clock.shared_load +
                    clock.barrier_wake + 2 * clock.barrier_arrive;
  }
  return sm100_time(c, w, chip.multiprocessors);
}

namespace {

struct Timed {
  Instance instance;  // with its parts
  Sm100Time time;
};
// One whose depth is shared, without a number of parts, gets the best one.
Timed timed(const Instance& instance, const GroupedProblem& p, const Chip& chip) {
  const auto with = [&](int splits) {
    Timed t{instance, {}};
    t.instance.splits = splits;
    t.time = grouped_time(t.instance, p, chip);
    return t;
  };
  const auto* c = instance.as<Blockwise>();
  const bool open = c != nullptr && c->split == DepthSplit::split_k && instance.splits == 0;
  return open ? best_parts(2, with) : with(instance.splits);
}

}  // namespace

Result<GroupedChoice> choose_sm100(const GroupedProblem& p, const Chip& chip) {
  const std::vector<Instance> list = candidates(p);
  if (!p.plan.empty()) {
    const auto instance = named(p, list);
    if (!instance) return instance.status();
    const Timed t = timed(*instance, p, chip);
    return GroupedChoice{t.instance, fmt::format("it was named: {:.1f} us, {}", t.time.us, t.time.text())};
  }
  std::optional<Timed> best;
  for (const Instance& instance : list) {
    Timed t = timed(instance, p, chip);
    if (!best || t.time.us < best->time.us) best = std::move(t);
  }
  if (!best) {
    return Status(Code::unsupported, fmt::format("{}: no kernel for sm100 makes them.", described(p)));
  }
  return GroupedChoice{
      best->instance,
      fmt::format("the least time of {} by the clock of a B200, {:.1f} us for {} rows a group, which nobody has "
                  "measured: {}",
                  list.size(), best->time.us, usual_rows(p), best->time.text())};
}

}  // namespace warpwright::choice

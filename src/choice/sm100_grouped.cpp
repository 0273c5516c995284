#include "choice/sm100_grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "choice/by_fill.h"
#include "choice/grouped_facts.h"
#include "problem/words.h"

namespace warpwright::choice {
namespace {

using catalog::Instance;
using Grouped = GroupedGemmSm100Config;
using Blockwise = BlockwiseFp8Sm100Config;

// Of an SM of a B200, by its datasheet: products of 16 bits in a cycle, and what the TMA brings in one. A tile costs
// about as long as its epilogue beside that.
constexpr double kMacsPerCycle = 4096, kBytesPerCycle = 64, kTileCycles = 1000;

// Tiles that may be compiled for a product beside the listed instances: from few rows in a group to many.
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

bool plain(EpilogueConfig e) {
  e.alpha = false;
  return e.trivial();
}

Grouped with_features(Grouped c, const GroupedProblem& p) {
  c.scaling = p.scaling;
  c.type = p.type;
  c.out_scaling = p.out_scaling;
  c.clamped_swiglu = p.clamped_swiglu;
  if (p.out_scaling == BlockScaling::none) c.out_type = c.epilogue.out = p.out;
  return c;
}
Blockwise with_features(Blockwise c, const GroupedProblem& p) {
  c.out_type = c.epilogue.out = p.out;
  c.grouped = p.groups != Groups::none;
  c.epilogue.alpha = c.grouped;  // a factor for each matrix
  return c;
}
bool serves(const Grouped& c, const GroupedProblem& p) {
  if (c.pointers || p.groups == Groups::none || p.scaling == BlockScaling::none || !plain(c.epilogue)) return false;
  Grouped same = c;
  if (p.out_scaling == BlockScaling::none) same.epilogue.out = c.out_type;
  return same == with_features(c, p);
}
bool serves(const Blockwise& c, const GroupedProblem& p) {
  if (p.scaling != BlockScaling::none || p.activation != Activation::none || !plain(c.epilogue)) return false;
  Blockwise same = c;
  same.epilogue.out = c.out_type;
  return same == with_features(c, p);
}
bool serves(const Instance& instance, const GroupedProblem& p) {
  if (const auto* c = instance.as<Grouped>()) return serves(*c, p);
  const auto* c = instance.as<Blockwise>();
  return c != nullptr && serves(*c, p);
}

Grouped fitted(Grouped c) {
  while (c.stages > 2 && !catalog::refuse({c})) --c.stages;
  return c;
}

std::vector<Instance> candidates(const GroupedProblem& p) {
  std::vector<Instance> list;
  for (const Instance& instance : catalog::ahead())
    if (serves(instance, p)) list.push_back(instance);
  const auto add = [&](const Grouped& c) {
    const Instance made{fitted(with_features(c, p))};
    if (!catalog::is_ahead(made) && catalog::refuse(made) && serves(made, p)) list.push_back(made);
  };
  if (p.out_scaling != BlockScaling::none) {
    for (const Grouped& c : kOnDemandQuantized) add(c);
  } else {
    for (const Grouped& c : kOnDemand) add(c);
  }
  return list;
}

std::string described(const GroupedProblem& p) {
  return fmt::format("{} products of {}{}", problem::operation_of(p.groups),
                     p.scaling == BlockScaling::none ? "e4m3" : name(p.scaling),
                     p.activation == Activation::swiglu ? " with swiglu" : "");
}

Result<Instance> named(const GroupedProblem& p, const std::vector<Instance>& list) {
  const Instance like =
      p.scaling == BlockScaling::none ? Instance{with_features(Blockwise{}, p)} : Instance{with_features(Grouped{}, p)};
  for (const Instance& instance : list)
    if (p.plan == catalog::plan_name(instance)) return instance;
  auto instance = named_for(p.plan, like);
  if (!instance || serves(*instance, p)) return instance;
  return with_nearest(Status(Code::unsupported, fmt::format("plan = {}: it does not serve {}.", p.plan, described(p))),
                      p.plan, Arch::sm100);
}

}  // namespace

GroupedTile grouped_tile(const Instance& instance, const GroupedProblem& p) {
  const auto* grouped = instance.as<Grouped>();
  const DenseGemmSm100Config c = grouped != nullptr ? grouped->dense() : instance.as<Blockwise>()->dense();
  GroupedTile t{c.mma_m(), c.tile_n, c.tile_k(), c.cluster(), 0};
  if (grouped != nullptr) {
    t.tile_m = grouped->tile_tokens();
    t.tile_n = grouped->tile_columns();
  }
  // The wider operand decides the rate; each CTA has its own rows of the first and its part of the second.
  const int wider = std::max(bits(c.first_type()), bits(c.second_type()));
  const double multiply = double(c.tile_m) * c.tile_n / (kMacsPerCycle * 16 / wider);
  const double load =
      (double(c.tile_m) * bits(c.first_type()) + double(c.b_rows()) * bits(c.second_type())) / 8 / kBytesPerCycle;
  t.cycles = kTileCycles + double(p.k) * std::max(multiply, load);
  return t;
}

Result<GroupedChoice> choose_sm100(const GroupedProblem& p, const Chip& chip) {
  const std::vector<Instance> list = candidates(p);
  if (!p.plan.empty()) {
    const auto instance = named(p, list);
    if (!instance) return instance.status();
    return GroupedChoice{*instance, "it was named"};
  }
  const int64_t groups = p.groups == Groups::none ? 1 : p.group_count;
  const int64_t rows = p.groups == Groups::none ? p.m : p.usual_rows > 0 ? p.usual_rows : p.m / groups;
  const auto fits = [&](const Instance& instance) { return 2 * rows > grouped_tile(instance, p).tile_m; };
  int smallest = 0;
  for (const Instance& instance : list) {
    const int tile_m = grouped_tile(instance, p).tile_m;
    if (smallest == 0 || tile_m < smallest) smallest = tile_m;
  }
  const bool any = std::any_of(list.begin(), list.end(), fits);
  const Instance* best = nullptr;
  GroupedWaves of_best;
  double least = 0;
  for (const Instance& instance : list) {
    const GroupedTile t = grouped_tile(instance, p);
    if (any ? !fits(instance) : t.tile_m != smallest) continue;
    const auto waves = waves_of(groups, std::max<int64_t>(rows, 1), p.n, t.tile_m, t.tile_n,
                                std::max(1, chip.multiprocessors / t.cluster));
    const double cycles = double(waves.waves) * t.cycles;
    if (best != nullptr && cycles >= least) continue;
    best = &instance;
    least = cycles;
    of_best = waves;
  }
  if (best == nullptr) {
    return Status(Code::unsupported, fmt::format("{}: no kernel for sm100 makes them.", described(p)));
  }
  return GroupedChoice{
      *best,
      fmt::format("of {} the one whose busiest SM is done first: {} wave{} of {:.0f} cycles, for {} rows {} tile "
                  "of {}",
                  list.size(), of_best.waves, of_best.waves == 1 ? "" : "s", grouped_tile(*best, p).cycles, rows,
                  any ? "that fill more than half a" : "in the smallest", grouped_tile(*best, p).tile_m)};
}

}  // namespace warpwright::choice

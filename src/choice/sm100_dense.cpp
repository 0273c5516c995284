// Dense and block-scaled products on Blackwell.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "choice/by_fill.h"

namespace warpwright::choice {
namespace {

using Config = DenseGemmSm100Config;
using catalog::Instance;

// What is compiled for a product that no listed instance serves. Block-scaled MMAs have 128 rows of each CTA.
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

// What the TMA moves has rows of whole units of 16 bytes.
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

ClusterTile tile_of(const Config& c) {
  // A cluster's CTAs are counted along M; those that share A have a part of its rows each.
  ClusterTile t{c.tile_m * c.cluster_m,
                c.tile_n * c.cluster_n,
                c.tile_m / c.cluster_n,
                c.mma_m(),
                c.tile_n,
                c.tile_k(),
                c.cluster()};
  if (!c.swap_ab) return t;
  std::swap(t.rows, t.columns);
  std::swap(t.tile_m, t.tile_n);
  t.last_rows = t.rows;
  return t;
}

}  // namespace

Result<Decision> choose_sm100(const GemmProblem& p, const problem::Lowered& low, const Chip& chip) {
  Family family;
  family.arch = Arch::sm100;
  family.serves = [&](const Instance& instance) { return serves(instance, p, low); };
  family.tile = [](const Instance& instance) { return tile_of(*instance.as<Config>()); };
  family.named = [&](const std::string& plan) -> Result<Instance> {
    auto named = named_for(plan, {with_features({}, p, low)});
    if (named && named->as<Config>() == nullptr) {
      return with_nearest(Status(Code::unsupported, "plan = " + plan + ": it makes no dense product for sm100."), plan,
                          Arch::sm100);
    }
    return named;
  };
  for (const Instance& instance : catalog::ahead())
    if (serves(instance, p, low)) family.candidates.push_back(instance);
  if (family.candidates.empty()) {
    for (const Config& c : kOnDemand) {
      const Instance made{fitted(with_features(c, p, low))};
      if (catalog::refuse(made) && serves(made, p, low)) family.candidates.push_back(made);
    }
  }
  return choose_by_fill(p, low, chip, family);
}

}  // namespace warpwright::choice

// Dense products on CDNA.
#include <string>
#include <vector>

#include "choice/by_fill.h"

namespace warpwright::choice {
namespace {

using Config = CdnaMatmulConfig;
using catalog::Instance;

Config with_features(Config c, const GemmProblem& p, Arch arch) {
  c.arch = arch;
  c.type = p.a.type;
  c.out_type = p.d.type;
  return c;
}

}  // namespace

Result<Decision> choose_cdna(const GemmProblem& p, const problem::Lowered& low, const Chip& chip) {
  const Arch arch = chip.arch;
  const auto serves = [&](const Instance& instance) {
    const auto* c = instance.as<Config>();
    return c != nullptr && *c == with_features(*c, p, arch);
  };
  Family family;
  family.arch = arch;
  family.serves = serves;
  family.tile = [](const Instance& instance) {
    const auto& c = *instance.as<Config>();
    return ClusterTile{c.tile_m(), c.tile_n(), c.tile_m(), c.tile_m(), c.tile_n(), c.tile_k(), 1};
  };
  family.named = [&](const std::string& plan) { return named_for(plan, {with_features({}, p, arch)}); };
  for (const Instance& instance : catalog::cdna_instances())
    if (serves(instance)) family.candidates.push_back(instance);
  return choose_by_fill(p, low, chip, family);
}

}  // namespace warpwright::choice

// Dense products on CDNA.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "choice/by_fill.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

using Config = CdnaMatmulConfig;
using catalog::Instance;

// Whether A and B are stored as loads of 16 bytes take them: along k, in whole units.
bool fits_units(const GemmProblem& p, const problem::Lowered& low) {
  if (p.k == 0) return true;
  return p.a.major == Major::K && p.b.major == Major::K && low.shape.load == Mover::tma &&
         p.k * bits(p.a.type) % 128 == 0;
}

bool serves(const Config& c, const GemmProblem& p, const problem::Lowered& low, Arch arch) {
  if (c.arch != arch || c.type != p.a.type || (!c.by_elements && !fits_units(p, low))) return false;
  return c.general || (p.batch == 1 && c.out_type == p.d.type && low.shape.epilogue == factor_and_conversion(p.d.type));
}

// Parts of the depth of a tile, so that few tiles fill the compute units. A part must be worth its own sums.
int parts_of(const Instance& instance, const GemmProblem& p, const Chip& chip) {
  constexpr int64_t kLeastSteps = 8, kMostParts = 32;
  const Config& c = *instance.as<Config>();
  // How many parts there are depends on the compute units, and the bits of a sum on its parts.
  if (c.split == DepthSplit::none || p.deterministic) return 1;
  const int64_t tiles = std::max<int64_t>(1, c.tiles(p.m, p.n, p.batch));
  const int64_t steps = ceil_div(p.k, c.tile_k());
  return int(std::clamp<int64_t>(std::min(chip.multiprocessors / tiles, steps / kLeastSteps), 1, kMostParts));
}

// A plan has the features that the problem needs, and no more.
Result<Instance> named(const GemmProblem& p, const problem::Lowered& low, Arch arch) {
  const Config plain = {.arch = arch, .type = p.a.type, .out_type = p.d.type};
  Config general = plain;
  general.out_type = usual_result(p.a.type);
  general.general = true;
  Config by_elements = general;
  by_elements.by_elements = true;
  Result<Instance> found = named_for(p.plan, {plain});
  for (const Config& like : {general, by_elements}) {
    if (found && serves(*found->as<Config>(), p, low, arch)) break;
    if (auto other = named_for(p.plan, {like})) found = std::move(other);
  }
  return found;
}

}  // namespace

Result<Decision> choose_cdna(const GemmProblem& p, const problem::Lowered& low, const Chip& chip) {
  Family family;
  family.arch = chip.arch;
  family.serves = [&](const Instance& instance) {
    const auto* c = instance.as<Config>();
    return c != nullptr && serves(*c, p, low, chip.arch);
  };
  family.tile = [](const Instance& instance) {
    const auto& c = *instance.as<Config>();
    return ClusterTile{c.tile_m(), c.tile_n(), c.tile_m(), c.tile_m(), c.tile_n(), c.tile_k(), 1};
  };
  family.parts = [&](const Instance& instance) { return parts_of(instance, p, chip); };
  family.named = [&](const std::string&) { return named(p, low, chip.arch); };
  for (const Instance& instance : catalog::cdna_instances())
    if (family.serves(instance)) family.candidates.push_back(instance);
  return choose_by_fill(p, low, chip, family);
}

}  // namespace warpwright::choice

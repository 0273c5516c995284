// Dense products by mma.sync.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "choice/by_fill.h"

namespace warpwright::choice {
namespace {

using Config = MmaSyncGemmConfig;
using catalog::Instance;

// What is compiled for a product that no listed instance serves.
const Config kOnDemand[] = {
    {.tile_m = 128,
     .tile_n = 128,
     .warps_m = 2,
     .warps_n = 2,
     .depth = 5,
     .pieces = 2,
     .copy_latency = 2400,
     .blocks_per_sm = 2},
    {.tile_m = 64,
     .tile_n = 64,
     .warps_m = 2,
     .warps_n = 2,
     .depth = 5,
     .pieces = 2,
     .copy_latency = 1200,
     .blocks_per_sm = 4},
};

// How the rows of A and B can be copied, as far as strides and the promised alignment tell.
RowCopy copy_of(const GemmProblem& p, const problem::Lowered& low) {
  const auto of = [&](const problem::StoredMatrix& m) {
    return row_copy(uint64_t(p.alignment), m.rows > 1 ? m.stride * bits(m.type) / 8 : 0);
  };
  return p.k == 0 ? RowCopy::bytes16 : std::max(of(low.a), of(low.b));
}
Config with_features(Config c, const GemmProblem& p, const problem::Lowered& low) {
  c.type = p.a.type;
  c.epilogue = low.shape.epilogue;
  c.copy = copy_of(p, low);
  return c;
}
// Copies of smaller units take better aligned rows too.
bool serves(const Instance& instance, const GemmProblem& p, const problem::Lowered& low) {
  const auto* c = instance.as<Config>();
  if (c == nullptr) return false;
  Config same = with_features(*c, p, low);
  if (same.copy > c->copy) return false;
  same.copy = c->copy;
  if (p.alpha == 1) same.epilogue.alpha = c->epilogue.alpha;  // one without a factor will do
  return same == *c;
}

// Nothing: a block of the instance has the room it needs on the chip.
Status check_room(const Instance& instance, const Chip& chip, const ChipLimits& limits) {
  const uint32_t needed = catalog::block_plan(instance).shared_bytes;
  if (needed <= limits.shared_bytes) return {};
  return Status(Code::unsupported,
                fmt::format("plan = {}: a block needs {} bytes of shared memory, and one of the {} has at most {}.",
                            catalog::plan_name(instance), needed, chip.name, limits.shared_bytes));
}

}  // namespace

Result<Decision> choose_sm80(const GemmProblem& p, const problem::Lowered& low, const Chip& chip,
                             const ChipLimits& limits) {
  if ((p.a.type == DType::e4m3 || p.a.type == DType::e5m2) && !limits.narrow_mma) {
    return Status(Code::unsupported,
                  fmt::format("a.type = {}: the {} has no MMA of it; chips of compute capability 8.9 and later have.",
                              name(p.a.type), chip.name));
  }
  Family family;
  family.arch = Arch::sm80;
  family.serves = [&](const Instance& instance) { return serves(instance, p, low); };
  family.tile = [](const Instance& instance) {
    const auto& c = *instance.as<Config>();
    return ClusterTile{c.tile_m, c.tile_n, c.tile_m, c.tile_m, c.tile_n, c.tile_k(), 1};
  };
  family.named = [&](const std::string& plan) -> Result<Instance> {
    auto named = named_for(plan, {with_features({}, p, low)});
    if (!named) return named;
    if (Status s = check_room(*named, chip, limits); !s) return s;
    return named;
  };
  for (const Instance& instance : catalog::ahead()) {
    const auto* c = instance.as<Config>();
    if (c == nullptr || *c != with_features(*c, p, low)) continue;
    if (check_room(instance, chip, limits)) family.candidates.push_back(instance);
  }
  if (family.candidates.empty()) {
    for (const Config& c : kOnDemand) {
      const Instance made{with_features(c, p, low)};
      if (catalog::refuse(made) && check_room(made, chip, limits)) family.candidates.push_back(made);
    }
  }
  return choose_by_fill(p, low, chip, family);
}

}  // namespace warpwright::choice

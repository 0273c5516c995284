// Dense products by mma.sync.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "choice/by_fill.h"
#include "choice/sm80_model.h"

namespace warpwright::choice {
namespace {

using Config = MmaSyncGemmConfig;
using catalog::Instance;

// What may be compiled for a product in addition to the listed instances. Few rows are limited by the memory that holds
// B, which all SMs together have to read.
const Config kOnDemand[] = {
    {},
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
     .blocks_per_sm = 4,
     .split = DepthSplit::split_k},
    {.tile_m = 32,
     .tile_n = 128,
     .warps_m = 1,
     .warps_n = 4,
     .depth = 6,
     .pieces = 1,
     .copy_latency = 1200,
     .blocks_per_sm = 3,
     .split = DepthSplit::split_k},
    {.tile_m = 16,
     .tile_n = 128,
     .warps_m = 1,
     .warps_n = 4,
     .depth = 6,
     .pieces = 1,
     .copy_latency = 600,
     .blocks_per_sm = 2,
     .split = DepthSplit::split_k},
};

// How the rows of A and B can be copied, as far as strides and the promised alignment tell.
RowCopy copy_of(const GemmProblem& p, const problem::Lowered& low) {
  const auto of = [&](const problem::StoredMatrix& m) {
    const int64_t strides = (m.rows > 1 ? m.stride : 0) | (m.count > 1 ? m.batch_stride : 0);
    return row_copy(uint64_t(p.alignment), strides * bits(m.type) / 8);
  };
  return p.k == 0 ? RowCopy::bytes16 : std::max(of(low.a), of(low.b));
}
Config with_features(Config c, const GemmProblem& p, const problem::Lowered& low) {
  c.type = p.a.type;
  c.a_major = p.a.major;
  c.b_major = p.b.major;
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

struct Timed {
  Instance instance;  // with its parts
  Sm80Time time;
  bool ahead = true;
};

// An instance without a number of parts gets the best one.
Timed timed(const Instance& instance, const GemmProblem& p, const problem::Lowered& low, const Chip& chip,
            const ChipLimits& limits, bool ahead) {
  const Config& c = *instance.as<Config>();
  const uint32_t bytes = catalog::block_plan(instance).shared_bytes;
  const auto with = [&](int splits) {
    TileWork w;
    w.jobs = c.tiles(int(p.m), int(p.n), int(p.batch));
    w.steps = int(ceil_div(p.k, c.tile_k()));
    w.bytes = bytes_of(low);
    if (splits > 0) w.split(splits);
    Timed t{instance, sm80_time(c, w, limits.figures, chip.multiprocessors, bytes, limits.shared_bytes), ahead};
    t.instance.splits = splits;
    return t;
  };
  if (c.split == DepthSplit::none || instance.splits > 0) return with(instance.splits);
  // How many parts are best depends on the SMs, and the bits of a sum on its parts.
  return p.deterministic ? with(1) : best_parts(1, with);
}

Result<Instance> named(const GemmProblem& p, const problem::Lowered& low, const Chip& chip, const ChipLimits& limits) {
  auto instance = named_for(p.plan, {with_features({}, p, low)});
  if (!instance) return instance;
  if (Status s = check_room(*instance, chip, limits); !s) return s;
  if (serves(*instance, p, low)) return instance;
  return Status(Code::unsupported, fmt::format("plan = {}: it is {}, which cannot serve {}.", p.plan,
                                               catalog::name_of(*instance), low.shape.text()));
}

Decision decision_of(const Timed& t, ChosenBy by, const std::string& why, const problem::Lowered& low) {
  const Config& c = *t.instance.as<Config>();
  return {{t.instance, t.time.estimate(c.tile_m, c.tile_n, c.tile_k(), t.instance.splits), by,
           fmt::format("{}: {}", why, t.time.text())},
          {},
          low};
}

}  // namespace

Result<Decision> choose_sm80(const GemmProblem& p, const problem::Lowered& low, const Chip& chip, OnDemand on_demand,
                             const ChipLimits& limits, std::vector<Decision>* others) {
  if ((p.a.type == DType::e4m3 || p.a.type == DType::e5m2) && !limits.narrow_mma) {
    return Status(
        Code::unsupported,
        fmt::format("a.type = {}: the {} has no MMA of this type; chips of compute capability 8.9 and later have one.",
                    name(p.a.type), chip.name));
  }
  if (!p.plan.empty()) {
    const auto instance = named(p, low, chip, limits);
    if (!instance) return instance.status();
    return decision_of(timed(*instance, p, low, chip, limits, true), ChosenBy::name, kNamed, low);
  }
  std::vector<Timed> list;
  const auto add = [&](const Instance& instance, bool ahead) {
    if (serves(instance, p, low) && check_room(instance, chip, limits))
      list.push_back(timed(instance, p, low, chip, limits, ahead));
  };
  for (const Instance& instance : catalog::ahead()) add(instance, true);
  if (on_demand == OnDemand::allowed) {
    for (const Config& c : kOnDemand) {
      const Instance made{with_features(c, p, low)};
      if (catalog::refuse(made) && !catalog::is_ahead(made)) add(made, false);
    }
  }
  if (list.empty()) {
    return Status(Code::unsupported,
                  fmt::format("{}: no kernel for sm80 of this version serves it.", low.shape.text()));
  }
  if (others != nullptr) {
    for (const Timed& t : by_time(list)) others->push_back(decision_of(t, ChosenBy::model, "", low));
  }
  const Timed& best = least_time(list);
  return decision_of(best, ChosenBy::model,
                     fmt::format("the least time of {} by the figures of an {}, {:.1f} us, which nobody has measured",
                                 list.size(), limits.figures.name, best.time.us),
                     low);
}

}  // namespace warpwright::choice

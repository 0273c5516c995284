#include "choice/dense.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "choice/space.h"
#include "choice/tuned.h"
#include "choice/wave_model.h"
#include "warpwright/core/block_plan.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

// What may be compiled for a shape in addition to the tiles of choice/space.h: these are for rows that threads load.
constexpr DenseGemmConfig kByThreads[] = {
    {.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 1},
    {.tile_m = 128, .tile_n = 192, .stages = 5, .cluster = 1},
    {.tile_m = 128, .tile_n = 160, .stages = 5, .cluster = 1},
    {.tile_m = 128, .tile_n = 128, .stages = 6, .cluster = 1},
    {.tile_m = 64, .tile_n = 64, .stages = 8, .cluster = 1},
};
// How many of them, the best by the model, are offered where all candidates are timed: each costs seconds at first.
constexpr size_t kMostOnDemand = 12;
// For a user-defined epilogue: another warpgroup's MMAs hide it.
constexpr DenseGemmConfig kDenseOwn[] = {
    {.tile_m = 128, .tile_n = 208, .stages = 5, .cluster = 2, .group_rows = 128, .sharing = TileSharing::ping_pong},
    {.tile_m = 128, .tile_n = 192, .stages = 4, .cluster = 2, .group_rows = 128, .sharing = TileSharing::ping_pong},
    {.tile_m = 64, .tile_n = 256, .stages = 4, .cluster = 1, .sharing = TileSharing::ping_pong},
    {.tile_m = 64, .tile_n = 128, .stages = 8, .cluster = 2, .sharing = TileSharing::ping_pong},
};
// An own epilogue of more operations makes another plan the best than the one that was measured without it.
constexpr int kFewOperations = 8;
// Where threads load rows that run along k: few rows, whose weights are read once. With their depth shared and without.
constexpr DenseGemmConfig kFewByThreads[] = {
    {.tile_m = 8, .tile_n = 64, .stages = 6, .cluster = 1, .swapped = true},
    {.tile_m = 16, .tile_n = 128, .stages = 4, .cluster = 1, .swapped = true, .group_rows = 128},
    {.tile_m = 64, .tile_n = 128, .stages = 4, .cluster = 1, .swapped = true, .group_rows = 128},
};
bool runs_along_k(const GemmShape& shape) { return shape.a_major == Major::K && shape.b_major == Major::K; }
// How much faster by the model an instance must be before it is worth waiting for the compiler: with less, more would
// be compiled and the choice would be no better (docs/evidence/worth-compiling.txt). The model knows less about rows
// that threads load: lines that they realign have few rows in its tables, and others none, which are compiled only if
// nothing else serves.
double worth_compiling(const GemmShape& shape) {
  if (shape.load == Mover::tma) return 1.03;
  return runs_along_k(shape) ? 1.3 : 1e6;
}

// A plain product of 8-bit operands without factors is one with factors that are not there: one instance for both.
Scaling scaling_for(const GemmShape& s) {
  const bool plain = s.epilogue == factor_and_conversion(s.epilogue.out) && s.batch == 1 && s.store == Mover::tma &&
                     s.load == Mover::tma;
  return s.scaling == Scaling::none && bits(s.dtype) == 8 && plain ? Scaling::tensor : s.scaling;
}

// A name that cannot be read is answered with those that resemble it.
Status with_nearest(const Status& status, const std::string& name) {
  const auto near = catalog::nearest_names(name, 3, Arch::sm90);
  return Status(status.code(), fmt::format("{} The nearest are {}.", status.message(), fmt::join(near, ", ")));
}
// The user's own words for the instance in a sentence about it.
std::string renamed(std::string sentence, const Instance& instance, const std::string& name) {
  const std::string own = catalog::plan_name(instance);
  if (const size_t at = sentence.find(own); at != std::string::npos) sentence.replace(at, own.size(), name);
  return sentence;
}

bool fits(const BlockPlan& plan) { return plan.shared_memory_fits() && plan.registers_fit(); }

// The same tile and rings computing what the shape asks for.
DenseGemmConfig with_features(DenseGemmConfig c, const GemmShape& s) {
  c.type = s.dtype;
  c.mixed = s.mixed;
  c.epilogue = s.epilogue;
  c.a_major = s.a_major;
  c.b_major = s.b_major;
  c.promote_k = !s.promoted ? 0 : c.promote_k > 0 ? c.promote_k : c.tile_k();
  c.scaling = scaling_for(s);
  c.batched = s.batch != 1;
  c.load = s.load;
  c.store = s.load == Mover::threads ? Mover::threads : s.store;
  if (c.load == Mover::threads) c.cluster = 1;
  return deepest(c, c.stages);  // wider results leave room for fewer
}
SkinnyGemmConfig with_features(SkinnyGemmConfig c, const GemmShape& s) {
  c.type = s.dtype;
  c.epilogue = s.epilogue;
  c.scaling = scaling_for(s);
  c.promote_k = !s.promoted ? 0 : c.promote_k > 0 ? c.promote_k : c.tile_k();
  return deepest(c, c.stages);
}

// What of a shape the skinny kernel's configuration cannot say. Several tiles along the tokens read the weights several
// times, which only wide ones can afford.
bool skinny_takes(const GemmShape& s, int tokens) {
  return (s.m <= tokens || tokens >= 128) && s.batch == 1 && !s.mixed && s.a_major == Major::K &&
         s.b_major == Major::K && s.load == Mover::tma && s.store == Mover::tma;
}

// Parts of a tile's depth, so that the parts fill the chip once and none is shallower than a few stages.
int splits_for(const DenseGemmConfig& c, const GemmShape& s, int multiprocessors) {
  if (c.split != DepthSplit::split_k) return 1;
  constexpr int64_t least_stages = 4;
  const int64_t tiles = std::max<int64_t>(1, c.tiles(int(s.m), int(s.n), int(s.batch)));
  const int64_t depth = (s.k + c.tile_k() - 1) / c.tile_k();
  const int64_t wanted = resident_clusters(multiprocessors, c.cluster) / tiles;
  return int(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, depth / least_stages)));
}

// An instance that computes what a shape asks for; how many rows it takes is another matter.
struct Candidate {
  Instance instance;
  bool ahead = false, modelled = false;
  PlanFacts facts;
};
// Tiles of the space that differ in the N side of their MMAs alone, which begins with `least`.
struct Row {
  uint32_t m_side = 0;  // of the tiles of a cluster, together
  uint32_t n_side = 1;  // CTAs of a cluster along the N side
  uint32_t least = 0, step = 8;
  int cluster = 1;
  bool swapped = false, split_k = false;
  std::vector<int> at;  // which candidate has each side; -1: none
};
struct Candidates {
  std::vector<Candidate> list;  // those compiled ahead, then others that are always asked
  size_t always = 0;            // this many of them; the others are the tiles of the rows
  std::vector<Row> rows;
};
Candidates candidates_for_features(const GemmShape& shape) {
  Candidates found;
  std::vector<Candidate>& list = found.list;
  const auto computes = [&](const auto& config) {
    return refuse(config) == nullptr && with_features(config, shape) == config;
  };
  const auto add = [&](const Instance& instance, bool ahead) {
    list.push_back({instance, ahead, is_modelled(instance), plan_facts(instance, kDenseFit)});
  };
  for (const Instance& instance : catalog::ahead()) {
    const auto* d = instance.as<DenseGemmConfig>();
    const auto* s = instance.as<SkinnyGemmConfig>();
    if ((d != nullptr && computes(*d)) || (s != nullptr && computes(*s))) add(instance, true);
  }
  const auto add_other = [&](const auto& config, size_t among) {
    const Instance instance{config};
    if (!computes(config) || !fits(catalog::block_plan(instance))) return false;
    const auto same = [&](const Candidate& c) { return c.instance == instance; };
    if (std::any_of(list.begin(), list.begin() + std::ptrdiff_t(among), same)) return false;
    add(instance, false);
    return true;
  };
  if (shape.load == Mover::threads) {
    for (const DenseGemmConfig& c : kByThreads) add_other(with_features(c, shape), list.size());
    if (runs_along_k(shape)) {
      for (DenseGemmConfig c : kFewByThreads) {
        add_other(with_features(c, shape), list.size());
        c.split = DepthSplit::split_k;
        add_other(with_features(c, shape), list.size());
      }
    }
  } else {
    const GemmShape plain;
    for (const Instance& instance : catalog::ahead()) {
      const auto* d = instance.as<DenseGemmConfig>();
      const auto* s = instance.as<SkinnyGemmConfig>();
      if (d != nullptr && with_features(*d, plain) == *d) add_other(with_features(*d, shape), list.size());
      if (s != nullptr && with_features(*s, plain) == *s) add_other(with_features(*s, shape), list.size());
    }
  }
  if (shape.epilogue.own != 0) {
    for (const DenseGemmConfig& c : kDenseOwn) add_other(with_features(c, shape), list.size());
  }
  found.always = list.size();
  if (shape.load == Mover::threads) return found;
  for (const TileRow& tiles : tile_space()) {
    Row row;
    row.least = uint32_t(tiles.least);
    row.step = uint32_t(tiles.step);
    for (const DenseGemmConfig& c : tiles.configs) {
      const bool added = c.stages > 0 && add_other(with_features(c, shape), found.always);
      row.at.push_back(added ? int(list.size()) - 1 : -1);
      if (!added) continue;
      const PlanFacts& f = list.back().facts;
      row.swapped = f.swapped;
      row.split_k = f.split_k;
      row.cluster = f.cluster;
      row.m_side = uint32_t(f.mma_m * (f.swapped ? f.cluster_n : f.cluster_m));
      row.n_side = uint32_t(f.swapped ? f.cluster_m : f.cluster_n);
    }
    if (row.m_side > 0) found.rows.push_back(std::move(row));
  }
  return found;
}

// The shape without its extents: with_features() sees no more of it.
GemmShape features_of(GemmShape shape) {
  shape.m = shape.n = shape.k = 0;
  shape.batch = shape.batch == 1 ? 1 : 0;
  shape.deterministic = false;
  return shape;
}
bool same_features(const GemmShape& x, const GemmShape& y) {
  return x.dtype == y.dtype && x.mixed == y.mixed && x.epilogue == y.epilogue && x.a_major == y.a_major &&
         x.b_major == y.b_major && x.scaling == y.scaling && x.promoted == y.promoted && x.batch == y.batch &&
         x.load == y.load && x.store == y.store && x.block_scaling == y.block_scaling;
}
// Made once for each set of features that the process meets.
const Candidates& remembered(const GemmShape& shape) {
  struct Known {
    GemmShape features;
    Candidates found;
  };
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const Known>> known;
  const GemmShape features = features_of(shape);
  const std::lock_guard lock(mutex);
  for (const auto& k : known) {
    if (same_features(k->features, features)) return k->found;
  }
  known.push_back(std::make_unique<const Known>(Known{features, candidates_for_features(features)}));
  return known.back()->found;
}

bool takes(const Candidate& candidate, const GemmShape& shape) {
  if (const auto* s = candidate.instance.as<SkinnyGemmConfig>()) return skinny_takes(shape, s->tokens);
  return !shape.deterministic || !candidate.facts.stream_k;
}

bool is_sized(const GemmShape& s) {
  constexpr int64_t most = 1 << 30;
  return s.m > 0 && s.n > 0 && s.k > 0 && s.batch > 0 && std::max({s.m, s.n, s.k, s.batch}) < most;
}
// Calls `ask` with the tiles of a row that a shape makes worth asking for: for each number of waves, or of parts of the
// depth, the smallest with which it is enough. A larger one would only be padded more. Divisions of 32 bits are several
// times as fast, and there are hundreds.
template <class Ask>
void ask_for_tiles(const Row& row, const GemmShape& shape, int multiprocessors, const Ask& ask) {
  constexpr uint32_t waves[] = {1, 2, 3, 4, 6}, parts[] = {2, 3, 4, 5, 6, 8, 12, 16};
  const auto extent = uint32_t(row.swapped ? shape.m : shape.n), other = uint32_t(row.swapped ? shape.n : shape.m);
  const uint64_t beside = uint64_t((other - 1) / row.m_side + 1) * uint64_t(shape.batch);
  const auto resident = uint32_t(resident_clusters(multiprocessors, row.cluster));
  const std::span<const uint32_t> counts = row.split_k ? std::span<const uint32_t>(parts) : waves;
  if (beside > resident * (row.split_k ? 1 : waves[std::size(waves) - 1])) return;
  int last = -1;
  for (const uint32_t count : counts) {
    const uint32_t tiles = row.split_k ? resident / (uint32_t(beside) * count) : resident * count / uint32_t(beside);
    if (tiles == 0 && row.split_k) return;
    if (tiles == 0) continue;
    const uint32_t side = (extent - 1) / (tiles * row.n_side) + 1;
    const uint32_t index = side <= row.least ? 0 : (side - row.least + row.step - 1) / row.step;
    if (index < row.at.size() && row.at[index] >= 0 && row.at[index] != last) ask(last = row.at[index]);
    if (index == 0) return;
  }
}

// A place of an instance among the best by the model.
struct Place {
  Instance instance;  // with its parts
  PlanEstimate estimate;
};
// The best first, `count` at most.
std::vector<Place> rank(const GemmShape& shape, int multiprocessors, OnDemand on_demand, size_t count) {
  struct Ranked {
    const Candidate* candidate;
    int parts;
    double cost;  // the time, and what waiting for the compiler is worth
  };
  const double compiled = worth_compiling(shape);
  const WaveModel model(wave_work(shape), multiprocessors);
  std::array<Ranked, size_t(kListed)> rows;  // the best so far
  size_t compared = 0;
  const Candidates& known = remembered(shape);
  const auto ask = [&](const Candidate& c) {
    if (!c.modelled || (!c.ahead && on_demand == OnDemand::refused) || !takes(c, shape)) return;
    const int parts = c.facts.split_k ? splits_for(*c.instance.as<DenseGemmConfig>(), shape, multiprocessors) : 1;
    const double factor = c.ahead ? 1 : compiled;
    const bool full = compared == size_t(kListed);
    if (full && model.least_us(c.facts, parts) * factor >= rows[compared - 1].cost) return;
    const Terms terms = model.terms(c.facts, parts);
    const Ranked row{&c, parts, (terms.us + terms.own_us) * factor};
    if (full && row.cost >= rows[compared - 1].cost) return;
    size_t at = full ? compared - 1 : compared++;
    for (; at > 0 && row.cost < rows[at - 1].cost; --at) rows[at] = rows[at - 1];
    rows[at] = row;
  };
  for (size_t i = 0; i < known.always; ++i) ask(known.list[i]);
  if (on_demand == OnDemand::allowed && is_sized(shape)) {
    for (const Row& row : known.rows)
      ask_for_tiles(row, shape, multiprocessors, [&](int i) { ask(known.list[size_t(i)]); });
  }
  std::array<Terms, WaveModel::kMostCorrected> terms;
  std::array<double, WaveModel::kMostCorrected> us{}, counts{};
  for (size_t i = 0; i < compared; ++i) {
    terms[i] = model.terms(rows[i].candidate->facts, rows[i].parts);
    counts[i] = rows[i].candidate->ahead ? 1 : compiled;
  }
  if (compared > 0 && terms[0].jobs > 0) {
    model.correct(std::span(terms).first(compared), std::span(us).first(compared), std::span(counts).first(compared));
  }
  const auto cost = [&](size_t i) { return us[i] * counts[i]; };
  std::array<size_t, WaveModel::kMostCorrected> order{};
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.begin() + std::ptrdiff_t(compared),
                   [&](size_t x, size_t y) { return cost(x) < cost(y); });
  std::vector<Place> places;
  for (size_t i = 0; i < std::min(compared, count); ++i) {
    const Ranked& row = rows[order[i]];
    Instance instance = row.candidate->instance;
    if (row.candidate->facts.split_k) instance.splits = row.parts;
    places.push_back({std::move(instance), model.estimate(terms[order[i]], us[order[i]])});
  }
  return places;
}

}  // namespace

int cluster_of(const Instance& instance) {
  if (const auto* c = instance.as<DenseGemmConfig>()) return c->cluster;
  return instance.as<SkinnyGemmConfig>()->split;
}

bool can_serve(const Instance& instance, const GemmShape& shape) {
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    if (shape.deterministic && c->split == DepthSplit::stream_k) return false;
    return refuse(*c) == nullptr && with_features(*c, shape) == *c;
  }
  const auto* c = instance.as<SkinnyGemmConfig>();
  return c != nullptr && refuse(*c) == nullptr && skinny_takes(shape, c->tokens) && with_features(*c, shape) == *c;
}

std::vector<Instance> candidates(const GemmShape& shape, OnDemand on_demand) {
  std::vector<Instance> list;
  const Candidates& known = remembered(shape);
  std::vector<std::pair<double, const Candidate*>> others;
  const int sms = h200().multiprocessors;  // only the order matters
  const WaveModel model(wave_work(shape), sms);
  const auto add_other = [&](const Candidate& c) { others.emplace_back(model.terms(c.facts, 1).us, &c); };
  for (size_t i = 0; i < known.always; ++i) {
    const Candidate& c = known.list[i];
    if (c.ahead && takes(c, shape)) list.push_back(c.instance);
    if (!c.ahead && takes(c, shape)) add_other(c);
  }
  if (on_demand == OnDemand::refused) return list;
  if (!is_sized(shape)) return list;
  for (const Row& row : known.rows) ask_for_tiles(row, shape, sms, [&](int i) { add_other(known.list[size_t(i)]); });
  const size_t count = std::min(others.size(), kMostOnDemand);
  std::partial_sort(others.begin(), others.begin() + std::ptrdiff_t(count), others.end());
  for (size_t i = 0; i < count; ++i) list.push_back(others[i].second->instance);
  return list;
}

Result<Instance> parse_plan(const std::string& name, const GemmShape& shape) {
  const bool whole = name.find('/') != std::string::npos;
  auto named = whole ? catalog::parse_instance(name) : catalog::parse_plan(name, Instance{DenseGemmConfig{}});
  if (!named) return with_nearest(named.status(), name);
  Instance instance = *named;
  if (!whole) {
    if (const auto* c = instance.as<DenseGemmConfig>()) {
      instance.config = with_features(*c, shape);
    } else if (const auto* s = instance.as<SkinnyGemmConfig>()) {
      instance.config = with_features(*s, shape);
    }
  }
  if (instance.as<DenseGemmConfig>() == nullptr && instance.as<SkinnyGemmConfig>() == nullptr) {
    return Status(Code::unsupported, fmt::format("plan = {}: it is not a plan of a dense product on Hopper.", name));
  }
  if (Status s = catalog::refuse(instance); !s) return Status(s.code(), renamed(s.message(), instance, name));
  if (!fits(catalog::block_plan(instance))) {
    return Status(Code::unsupported, fmt::format("plan = {}: its rings or registers exceed what an SM has.", name));
  }
  if (!can_serve(instance, shape)) {
    return Status(Code::unsupported,
                  fmt::format("plan = {}: it is {}, which cannot serve {}.", name, plan_text(instance), shape.text()));
  }
  return instance;
}

Result<Choice> choose(const GemmShape& shape, const Chip& chip, const std::string& plan, OnDemand on_demand) {
  const int sms = chip.multiprocessors;
  const auto complete = [&](Instance instance) {
    const auto* c = instance.as<DenseGemmConfig>();
    if (c != nullptr && c->split == DepthSplit::split_k && instance.splits == 0) {
      instance.splits = splits_for(*c, shape, sms);
    }
    return instance;
  };
  const auto chosen = [&](const Instance& instance, ChosenBy by, double measured_us = 0) {
    Choice choice{complete(instance), estimate(complete(instance), shape, sms), by, "", measured_us};
    choice.reason = reason_for(choice, shape, chip);
    return choice;
  };
  if (!plan.empty()) {
    auto named = parse_plan(plan, shape);
    if (!named) return named.status();
    return chosen(*named, ChosenBy::name);
  }
  if (const auto tuned = tuned_row(shape, chip); tuned && shape.own_operations <= kFewOperations) {
    // A table made by another version may name what this one does not have.
    auto named = parse_plan(tuned->plan, shape);
    if (named && (catalog::is_ahead(*named) || on_demand == OnDemand::allowed))
      return chosen(*named, ChosenBy::table, tuned->us);
  }
  const std::vector<Place> best = rank(shape, sms, on_demand, 2);
  if (best.empty()) {
    return Status(Code::unsupported, fmt::format("{}: no Hopper kernel of this version serves it.", shape.text()));
  }
  Choice choice{best[0].instance, best[0].estimate, ChosenBy::model, ""};
  const bool alone = best.size() == 1;
  choice.reason = reason_for(choice, shape, chip, alone ? nullptr : &best[1].instance, alone ? 0 : best[1].estimate.us);
  return choice;
}

std::vector<Choice> best_by_model(const GemmShape& shape, const Chip& chip, size_t count, OnDemand on_demand) {
  std::vector<Choice> list;
  for (const Place& place : rank(shape, chip.multiprocessors, on_demand, count)) {
    list.push_back({place.instance, place.estimate, ChosenBy::model, ""});
    list.back().reason = reason_for(list.back(), shape, chip);
  }
  return list;
}

}  // namespace warpwright::choice

// The choice by a time in closed form, which Blackwell and mma.sync share: what is timed, and which of several is
// taken.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "choice/dense.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {

// The work of a launch, in jobs: a tile of a cluster, or a part of its depth.
struct TileWork {
  int64_t jobs = 0;
  int steps = 0;     // steps of the input ring in a job
  int parts = 1;     // jobs that share a tile
  int64_t left = 0;  // jobs that leave their sums to another one
  double bytes = 0;  // bytes of device memory, each counted once

  // Cuts the depth of every tile into this many parts, where it is deep enough.
  void split(int splits) {
    parts = std::clamp(splits, 1, std::max(1, steps));
    left = jobs * (parts - 1);
    jobs *= parts;
    steps = int(ceil_div(steps, parts));
  }
};

struct TileTime {
  int64_t clusters = 0;  // clusters that run at once
  int64_t waves = 0;
  double fill = 0;  // jobs over what the waves could hold
  double us = 0, tensor_us = 0, memory_us = 0;

  PlanEstimate estimate(int tile_m, int tile_n, int tile_k, int splits) const {
    PlanEstimate e;
    e.tile_m = tile_m;
    e.tile_n = tile_n;
    e.tile_k = tile_k;
    e.split = std::max(1, splits);
    e.clusters = clusters;
    e.waves = waves;
    e.tiles = int64_t(fill * double(waves * clusters) + 0.5);
    e.fill = fill;
    e.us = us;
    e.tensor_us = tensor_us;
    e.memory_us = memory_us;
    return e;
  }
};

// Bytes of device memory that the matrices of a problem take, each once.
inline double bytes_of(const problem::Lowered& low) {
  double bytes = double(low.a.bytes() + low.b.bytes() + low.d.bytes());
  if (low.reads_c) bytes += double(low.c.bytes());
  if (low.shape.epilogue.residual) bytes += double(low.residual.bytes());
  return bytes;
}

// Into how many parts the depth of a tile is cut at most.
constexpr int kMostParts = 8;
// `with(parts)` is the instance with that many parts, timed: the fastest from `least` parts on.
template <class With>
auto best_parts(int least, const With& with) {
  auto best = with(least);
  for (int parts = least + 1; parts <= kMostParts; ++parts) {
    auto more = with(parts);
    if (more.time.us < best.time.us) best = std::move(more);
  }
  return best;
}

// What has to be compiled first must be so much faster than all that was compiled ahead.
constexpr double kWorthCompiling = 1.15;
// Among plans that the model cannot tell apart, the first listed is taken.
constexpr double kAsGood = 1.01;

// The list must not be empty; `Timed` has the fields time and ahead.
template <class Timed>
const Timed& least_time(const std::vector<Timed>& list) {
  const bool any = std::any_of(list.begin(), list.end(), [](const Timed& t) { return t.ahead; });
  const auto cost = [&](const Timed& t) { return t.time.us * (any && !t.ahead ? kWorthCompiling : 1); };
  double least = cost(list.front());
  for (const Timed& t : list) least = std::min(least, cost(t));
  return *std::find_if(list.begin(), list.end(), [&](const Timed& t) { return cost(t) <= kAsGood * least; });
}

// The plans that measuring compares: those compiled ahead, the fastest first; all plans if fewer than two were.
constexpr size_t kFewAhead = 2;
template <class Timed>
std::vector<Timed> by_time(std::vector<Timed> list) {
  const auto ahead = std::count_if(list.begin(), list.end(), [](const Timed& t) { return t.ahead; });
  if (size_t(ahead) >= kFewAhead) std::erase_if(list, [](const Timed& t) { return !t.ahead; });
  std::stable_sort(list.begin(), list.end(), [](const Timed& x, const Timed& y) { return x.time.us < y.time.us; });
  return list;
}

}  // namespace warpwright::choice

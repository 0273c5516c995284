// What a chosen kernel does with a product by groups: its plan, its tiles, how they fill the chip, the least time.
#pragma once
#include <string>

#include "choice/dense.h"
#include "choice/grouped.h"
#include "warpwright/core/block_scaling.h"

namespace warpwright::choice {

// The rows that a group usually has; for groups along k, the rows of the result.
int64_t usual_rows(const GroupedProblem& problem);

// Tiles over the chip, in clusters.
struct GroupedWaves {
  int64_t tiles = 0;
  int64_t waves = 0;
  double fill = 0;
};
// Groups of this many rows each, cut into tiles that no group shares with another.
GroupedWaves waves_of(int64_t groups, int64_t rows, int64_t n, int64_t tile_m, int64_t tile_n, int64_t clusters);

struct GroupedFacts {
  BlockPlan plan;
  int tile_m = 0, tile_n = 0, tile_k = 0;
  GroupedWaves waves;
  std::string text;  // "128x192x128, 4 stages, cluster 2": for people
};
// With as many rows in each group as the problem says is usual.
GroupedFacts facts_of(const Instance& instance, const GroupedProblem& problem, int multiprocessors);

// Every row of A and D, every B and every scale moved once.
struct GroupedWork {
  int64_t rows = 0, n = 0, k = 0;
  int64_t matrices = 1;  // how many matrices B
  int64_t results = 1;   // how many results D, [rows, columns] each
  int64_t columns = 0;   // columns of D
  DType a = DType::e4m3, b = DType::e4m3, out = DType::bf16;
  double scale_bytes = 0;
};
GroupedWork work_of(const GroupedProblem& problem);
Floor floor_of(const GroupedWork& work, Arch arch);

}  // namespace warpwright::choice

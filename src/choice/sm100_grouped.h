// Products with blockwise scales and by groups on Blackwell.
#pragma once
#include <string>

#include "choice/dense.h"
#include "choice/grouped.h"
#include "choice/sm100_model.h"
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::choice {

// What a cluster of an instance for Blackwell computes of D.
struct GroupedTile {
  int tile_m = 0, tile_n = 0, tile_k = 0;  // rows and columns of D
  int cluster = 1;
};
GroupedTile grouped_tile(const catalog::Instance& instance);
// How long it takes with as many rows in each group as the problem says is usual.
Sm100Time grouped_time(const catalog::Instance& instance, const GroupedProblem& problem, const Chip& chip);

// The plan that the problem names. Otherwise the least predicted time; of equals the first listed.
Result<GroupedChoice> choose_sm100(const GroupedProblem& problem, const Chip& chip);

}  // namespace warpwright::choice

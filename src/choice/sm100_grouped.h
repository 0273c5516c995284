// Products with blockwise scales and by groups on Blackwell.
#pragma once
#include <string>

#include "choice/dense.h"
#include "choice/grouped.h"
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::choice {

// What a cluster computes of D, and how long an SM takes for its part.
struct GroupedTile {
  int tile_m = 0, tile_n = 0, tile_k = 0;  // rows and columns of D
  int cluster = 1;
  double cycles = 0;
};
// Of an instance for Blackwell that serves the problem.
GroupedTile grouped_tile(const catalog::Instance& instance, const GroupedProblem& problem);

// The plan that the problem names. Otherwise, of the instances whose tile the usual rows of a group fill more than half
// (where there is none, of those with the smallest tile), the one whose busiest SM is done first by the figures of a
// B200; of equals the first listed.
Result<GroupedChoice> choose_sm100(const GroupedProblem& problem, const Chip& chip);

}  // namespace warpwright::choice

// How long a product takes on Blackwell, by the clock that the simulator follows (core/chip.h) in closed form: what an
// SM loads, multiplies and reads out for a tile, and how many tiles come one after another. It has never been measured.
#pragma once
#include <string>

#include "choice/least_time.h"
#include "warpwright/core/chip.h"
#include "warpwright/kernel/sm100/config.h"

namespace warpwright::choice {

struct Sm100Work : TileWork {
  double step_cycles = 0;  // what a step costs beside loading and multiplying: promotion of blockwise products
};

struct Sm100Time : TileTime {
  // Cycles of an SM: until its first MMA, of a job's steps, of reading out and storing a tile, and what sets a step.
  double start = 0, multiply = 0, finish = 0;
  const char* step_set_by = "";

  // "3 waves of 12 steps of 512 cycles, set by the tensor core, ...": for people.
  std::string text() const;
};

// `c` has the tile, the rings and the warps of the kernel, whichever it is.
Sm100Time sm100_time(const DenseGemmSm100Config& c, const Sm100Work& work, int multiprocessors);

}  // namespace warpwright::choice

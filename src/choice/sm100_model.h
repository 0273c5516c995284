// How long a product takes on Blackwell, by the clock that the simulator follows (core/chip.h) in closed form: what an
// SM loads, multiplies and reads out for a tile, and how many tiles come one after another. Nobody has measured it.
#pragma once
#include <cstdint>
#include <string>

#include "warpwright/core/chip.h"
#include "warpwright/kernel/sm100/config.h"

namespace warpwright::choice {

// The work of a launch, in jobs: a tile of a cluster, or a part of its depth.
struct Sm100Work {
  int64_t jobs = 0;
  int steps = 0;           // of the input ring, in a job
  int parts = 1;           // jobs that share a tile
  double bytes = 0;        // of device memory, each once
  double step_cycles = 0;  // what a step costs beside loading and multiplying: promotion of blockwise products
};

struct Sm100Time {
  int64_t clusters = 0;  // that run at once
  int64_t waves = 0;
  double fill = 0;
  // Cycles of an SM: until its first MMA, of a job's steps, of reading out and storing a tile, and what sets a step.
  double start = 0, multiply = 0, finish = 0;
  const char* step_set_by = "";
  double us = 0, tensor_us = 0, memory_us = 0;

  // "3 waves of 12 steps of 512 cycles, set by the tensor core, ...": for people.
  std::string text() const;
};

// `c` has the tile, the rings and the warps of the kernel, whichever it is.
Sm100Time sm100_time(const DenseGemmSm100Config& c, const Sm100Work& work, int multiprocessors);

}  // namespace warpwright::choice

// How long a product takes by mma.sync, in closed form, from the figures of a chip: what an SM copies, reads and
// multiplies for a tile, and how many tiles come one after another. Only an H200 has been measured.
#pragma once
#include <cstdint>
#include <string>

#include "choice/least_time.h"
#include "warpwright/core/chip.h"
#include "warpwright/kernel/sm80/config.h"

namespace warpwright::choice {

struct Sm80Time : TileTime {
  int blocks = 0;  // on an SM at once
  // Cycles of a job where all of them run: of its steps, of storing its tile, and what sets the former.
  double multiply = 0, finish = 0;
  const char* step_set_by = "";

  // "2 waves filled to 80 %, ...": for people.
  std::string text() const;
};

// `block_bytes` of shared memory has a block, `shared_bytes` a block at most on this chip of `multiprocessors` SMs.
Sm80Time sm80_time(const MmaSyncGemmConfig& c, const TileWork& work, const ChipFigures& chip, int multiprocessors,
                   uint32_t block_bytes, uint32_t shared_bytes);

}  // namespace warpwright::choice

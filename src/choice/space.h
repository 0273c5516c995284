// The tiles of dense products on Hopper that may be compiled when a product is first asked for: every height, width and
// cluster that was worth timing. Those that are compiled ahead are a cover of it (bench/choice/cover.py).
#pragma once
#include <vector>

#include "warpwright/kernel/sm90/dense/config.h"

namespace warpwright::choice {

// Tiles that differ only in the N side of their MMAs, in steps from the least. bf16, with as many stages as fit, or no
// stages where there is no such kernel.
struct TileRow {
  int least = 0, step = 8;
  std::vector<DenseGemmConfig> configs;
};
std::vector<TileRow> tile_space();

}  // namespace warpwright::choice

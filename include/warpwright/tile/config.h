// How a kernel finds its next tile. World-free: part of the configurations that the host uses.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

// The order in which tiles are visited; tile/raster.h has the rasters.
enum class TileOrder : uint8_t { row_major, column_major, grouped, serpentine, hilbert };

// Who hands out the tiles. `persistent`: cluster c of C takes tiles c, c + C, ... `clc`: the grid has a cluster for
// every tile, and those that run cancel the launch of others and do their tiles (tile/clc.h).
enum class TileSource : uint8_t { persistent, clc };

// Whether a tile's depth is shared. `split_k`: every tile is cut into the same number of parts. `stream_k`: every
// cluster has the same depth to multiply, wherever tiles begin and end.
enum class DepthSplit : uint8_t { none, split_k, stream_k };

// How cluster launch control is used.
struct ClcConfig {
  int stages = 2;  // stages of the response ring; 0: no scheduler
  // A query waits until the load role has begun the tile before, so that a cluster does not take work that another one
  // could start earlier. It changes which cluster does a tile, never whether it is done.
  bool throttle = true;
  int cluster = 1;
  bool operator==(const ClcConfig&) const = default;

  WW_HD constexpr bool scheduled() const { return stages > 0; }
};

}  // namespace warpwright

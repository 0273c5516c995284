// The static persistent scheduler: cluster c of C takes the tiles c, c + C, c + 2C, ... of a raster. Every role walks
// its own instance, so all of them see the same tiles without talking to each other.
#pragma once
#include "warpwright/machine/machine.h"
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::tile {

class PersistentTiles {
 public:
  WW_FN explicit PersistentTiles(GroupedSerpentine raster)
      : raster_(raster), index_(int(machine::cluster_index())), stride_(int(machine::cluster_count())) {}
  PersistentTiles(const PersistentTiles&) = delete;
  PersistentTiles& operator=(const PersistentTiles&) = delete;

  // How many tiles next() will still give.
  WW_FN int remaining() const {
    const int left = raster_.count() - index_;
    return left > 0 ? ceil_div(left, stride_) : 0;
  }
  WW_FN bool next(TileCoord& tile) {
    if (index_ >= raster_.count()) return false;
    tile = raster_.at(index_);
    index_ += stride_;
    return true;
  }

 private:
  GroupedSerpentine raster_;
  int index_;
  int stride_;
};

}  // namespace warpwright::inline WW_WORLD::tile

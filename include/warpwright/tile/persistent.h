// The static persistent scheduler: cluster c of C takes the tiles c, c + C, c + 2C, ... of a raster. Every role walks
// its own instance, so all of them see the same tiles without talking to each other.
#pragma once
#include "warpwright/machine/machine.h"
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::tile {

template <Raster R>
class PersistentTilesOver {
 public:
  WW_FN explicit PersistentTilesOver(R raster)
      : raster_(raster), index_(int(machine::cluster_index())), stride_(int(machine::cluster_count())) {}
  PersistentTilesOver(const PersistentTilesOver&) = delete;
  PersistentTilesOver& operator=(const PersistentTilesOver&) = delete;

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
  R raster_;
  int index_;
  int stride_;
};

// An alias and not a default argument: a class template cannot stand without its <> as the return type of a function.
using PersistentTiles = PersistentTilesOver<GroupedSerpentine>;

}  // namespace warpwright::inline WW_WORLD::tile

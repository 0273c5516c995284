// The static persistent scheduler: cluster c of C takes the tiles c, c + C, c + 2C, ... of a raster. Every role walks
// its own instance, so all of them see the same tiles without talking to each other.
#pragma once
#include "warpwright/machine/machine.h"
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::tile {

// The tiles of this cluster, in order.
template <Sequence S>
class PersistentTilesOver {
 public:
  using Item = typename SequenceItem<S>::type;
  WW_FN explicit PersistentTilesOver(S tiles)
      : tiles_(tiles), index_(int(machine::cluster_index())), stride_(int(machine::cluster_count())) {}
  PersistentTilesOver(const PersistentTilesOver&) = delete;
  PersistentTilesOver& operator=(const PersistentTilesOver&) = delete;

  // How many tiles next() will still give.
  WW_FN int remaining() const {
    const int left = tiles_.count() - index_;
    return left > 0 ? ceil_div(left, stride_) : 0;
  }
  WW_FN bool next(Item& tile) {
    if (index_ >= tiles_.count()) return false;
    tile = tiles_.at(index_);
    index_ += stride_;
    return true;
  }

 private:
  S tiles_;
  int index_;
  int stride_;
};

// An alias and not a default argument: a class template cannot stand without its <> as the return type of a function.
using PersistentTiles = PersistentTilesOver<GroupedSerpentine>;

}  // namespace warpwright::inline WW_WORLD::tile

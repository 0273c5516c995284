// Where every role of a kernel takes its work from. A job is a tile of the result and the range of its depth that this
// cluster multiplies; all roles of a cluster see the same jobs in the same order, whichever source hands them out.
#pragma once
#include "warpwright/tile/clc.h"
#include "warpwright/tile/persistent.h"
#include "warpwright/tile/split.h"

namespace warpwright::inline WW_WORLD::tile {

// `k` counts stages of the input ring. If there are several parts, only the last one finishes the tile; it finds the
// sums of part p in slot + p of the workspace (kernel/fixup.h).
struct Job : TileCoord {
  int index = 0;  // in the raster
  KRange k{};
  int part = 0;
  int parts = 1;
  int slot = 0;
  WW_HD constexpr bool last() const { return part + 1 == parts; }
};

// The raster that a TileOrder names.
template <TileOrder O>
WW_HD constexpr auto raster_of(int rows, int columns, int group) {
  if constexpr (O == TileOrder::row_major) {
    return RowMajor{rows, columns};
  } else if constexpr (O == TileOrder::column_major) {
    return ColumnMajor{rows, columns};
  } else if constexpr (O == TileOrder::grouped) {
    return Grouped{rows, columns, group};
  } else if constexpr (O == TileOrder::serpentine) {
    return GroupedSerpentine{rows, columns, group};
  } else {
    return Hilbert{rows, columns};
  }
}

namespace detail {
template <Raster R>
WW_HD constexpr Job job_of(const R& raster, const Work& work, int slot) {
  return {raster.at(work.tile), work.tile, work.k, work.part, work.parts, slot};
}
}  // namespace detail

// Jobs that cover the whole depth of their tile.
template <Raster R>
struct WholeTiles {
  R raster{};
  int depth = 0;
  WW_HD constexpr int count() const { return raster.count(); }
  WW_HD constexpr Job at(int i) const { return {raster.at(i), i, {0, depth}, 0, 1, 0}; }
};

// A tile's last part waits for those before it, which have lower numbers. Where jobs start in the order of their
// numbers (CLC) that cannot deadlock; with a persistent grid, the whole grid must be resident.
template <Raster R>
struct SplitTiles {
  R raster{};
  SplitK split{};
  WW_HD constexpr int count() const { return split.count(); }
  WW_HD constexpr Job at(int i) const {
    const Work work = split.at(i);
    return detail::job_of(raster, work, work.tile * (work.parts - 1));
  }
};

// Stream-K over the clusters of the grid. The first thing a worker does is what the next worker waits for, and it waits
// for lower workers only, so the whole grid need not be resident. At most one job of each worker, the one at the end of
// its share, leaves sums behind: its slot has the worker's number.
template <Raster R>
class StreamTiles {
 public:
  WW_FN StreamTiles(R raster, int depth)
      : raster_(raster),
        plan_(StreamK::balanced(raster.count(), depth, int(machine::cluster_count()))),
        worker_(int(machine::cluster_index())),
        count_(plan_.count(worker_)) {}
  StreamTiles(const StreamTiles&) = delete;
  StreamTiles& operator=(const StreamTiles&) = delete;

  WW_FN bool next(Job& job) {
    if (done_ == count_) return false;
    const Work work = plan_.at(worker_, done_++);
    job = detail::job_of(raster_, work, worker_ - work.part);
    return true;
  }

 private:
  R raster_;
  StreamK plan_;
  int worker_;
  int count_;
  int done_ = 0;
};

}  // namespace warpwright::inline WW_WORLD::tile

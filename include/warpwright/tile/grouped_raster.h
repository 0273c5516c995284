// The static persistent scheduler over the tiles of several groups of rows, each with a raster of its own: in a group
// that is larger than the L2, tiles that run at the same time share rows and columns. No tile, and no cluster's block
// of tiles, has rows of two groups. A single thread can walk it. Whatever the table says, no row beyond `rows` and no
// matrix beyond `matrix_count` comes out, and no element of the table beyond `groups` is read.
#pragma once
#include "warpwright/machine/machine.h"
#include "warpwright/tile/group_mode.h"
#include "warpwright/tile/group_table.h"
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::tile {

// The rows of one group, and its matrix. Of a group along k, its columns, and all rows.
struct GroupRows {
  int first = 0;
  int count = 0;
  int matrix = 0;
  int first_k = 0;
  int depth = 0;
  int out = 0;  // the first row in D
};

// A tile's place in its group.
struct GroupedTile : TileCoord {
  GroupRows rows{};
};

// Who walks together. What a converged warp reads it makes uniform: the compiler then knows that its lanes stay
// together and keeps what depends on the walk, such as the stages of the rings, in uniform registers.
enum class Walkers : uint8_t { thread, warp };

// AnyRows: the table says whether there are offsets or counts of rows, or neither. Groups along k begin at multiples of
// DepthUnit.
template <Groups G, bool AnyRows = false, int DepthUnit = 1, Walkers W = Walkers::thread>
class GroupedTiles {
 public:
  // A tile has `tall` rows and `wide` of the `columns` of every group.
  WW_FN GroupedTiles(const GroupTable& table, int tall, int columns, int wide, int raster_group)
      : table_(table),
        tall_(tall),
        columns_(columns),
        wide_(wide),
        raster_group_(raster_group),
        index_(int(uniform(machine::cluster_index()))) {}
  GroupedTiles(const GroupedTiles&) = delete;
  GroupedTiles& operator=(const GroupedTiles&) = delete;

  WW_FN bool next(GroupedTile& tile) {
    const int across = ceil_div(columns_, wide_);
    while (index_ >= row_tiles() * across) {
      if (group_ + 1 >= (is(Groups::none) ? 1 : table_.groups)) return false;
      index_ -= row_tiles() * across;
      ++group_;
      read_group();
    }
    static_cast<TileCoord&>(tile) = GroupedSerpentine{row_tiles(), across, raster_group_}.at(index_);
    tile.rows = rows_;
    index_ += int(machine::cluster_count());
    return true;
  }
  // After next() has returned false, by one thread of any number of CTAs: one of the grid writes the status word.
  WW_FN void report() const {
    if (G != Groups::none && table_.status != nullptr && machine::cluster_index() == 0 &&
        machine::cluster_rank() == 0) {
      machine::store(Global<uint32_t>{table_.status}, faults_);
    }
  }

 private:
  WW_FN static uint32_t uniform(uint32_t value) {
    if constexpr (W == Walkers::warp) return machine::warp_uniform(value);
    return value;
  }
  WW_FN static uint32_t read(const uint32_t* words, int index) {
    return uniform(machine::load(Global<const uint32_t>{words} + index));
  }
  // Computed again for every tile: whoever walks has no registers to spare while it works on one.
  WW_FN int row_tiles() const { return rows_.matrix < 0 ? 0 : ceil_div(rows_.count, tall_); }
  WW_FN bool is(Groups g) const {
    if constexpr (!AnyRows) return g == G;
    const Groups given = table_.offsets != nullptr  ? Groups::contiguous
                         : table_.counts != nullptr ? Groups::masked
                                                    : Groups::none;
    return g == given;
  }
  WW_FN int at_most(uint32_t value, int limit) {
    if (value <= uint32_t(limit)) return int(value);
    faults_ |= kRowsOutOfRange;
    return limit;
  }
  WW_FN int offset_along_k(int index) {
    const int value = at_most(read(table_.offsets, index), table_.depth);
    if constexpr (DepthUnit == 1) return value;
    if (value % DepthUnit != 0) faults_ |= kDepthUnaligned;
    return value / DepthUnit * DepthUnit;
  }
  WW_FN void read_group() {
    if constexpr (G == Groups::by_depth) {
      rows_.first_k = group_ == 0 ? offset_along_k(0) : rows_.first_k + rows_.depth;
      int end = offset_along_k(group_ + 1);
      if (end < rows_.first_k) {
        faults_ |= kOffsetsDecrease;
        end = rows_.first_k;
      }
      rows_.depth = end - rows_.first_k;
      rows_.count = table_.rows;
      rows_.out = group_ * table_.rows;
      rows_.matrix = 0;
    } else {
      read_rows();
    }
  }
  WW_FN void read_rows() {
    if (is(Groups::none)) {
      rows_.count = table_.rows;
      rows_.matrix = 0;
      return;
    }
    if (is(Groups::contiguous)) {
      rows_.first = group_ == 0 ? at_most(read(table_.offsets, 0), table_.rows) : rows_.first + rows_.count;
      int end = at_most(read(table_.offsets, group_ + 1), table_.rows);
      if (end < rows_.first) {
        faults_ |= kOffsetsDecrease;
        end = rows_.first;
      }
      rows_.count = end - rows_.first;
    } else {
      const int64_t begin = int64_t(group_) * table_.slot_rows;
      rows_.first = begin > table_.rows ? table_.rows : int(begin);
      const int left = table_.rows - rows_.first;
      rows_.count = at_most(read(table_.counts, group_), left < table_.slot_rows ? left : table_.slot_rows);
    }
    rows_.matrix = group_;
    if (table_.matrices != nullptr) {
      rows_.matrix = int(uniform(uint32_t(machine::load(Global<const int32_t>{table_.matrices} + group_))));
    }
    if (rows_.matrix >= table_.matrix_count) {
      faults_ |= kMatrixOutOfRange;
      rows_.matrix = -1;
    }
  }

  GroupTable table_;
  int tall_, columns_, wide_, raster_group_;
  int index_;  // among the tiles of the present group and those behind it
  int group_ = -1;
  GroupRows rows_{.matrix = -1};  // negative: the group has no matrix
  uint32_t faults_ = 0;
};

}  // namespace warpwright::inline WW_WORLD::tile

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

// The rows of one group, and its matrix.
struct GroupRows {
  int first = 0;
  int count = 0;
  int matrix = 0;
};

// A tile's place in its group.
struct GroupedTile : TileCoord {
  GroupRows rows{};
};

template <Groups G>
class GroupedTiles {
 public:
  // `tall` rows make a row of tiles, of which each group has `columns`.
  WW_FN GroupedTiles(const GroupTable& table, int tall, int columns, int raster_group)
      : table_(table),
        tall_(tall),
        columns_(columns),
        raster_group_(raster_group),
        index_(int(machine::cluster_index())),
        stride_(int(machine::cluster_count())) {}
  GroupedTiles(const GroupedTiles&) = delete;
  GroupedTiles& operator=(const GroupedTiles&) = delete;

  WW_FN bool next(GroupedTile& tile) {
    while (index_ >= tiles_) {
      if (group_ + 1 >= (G == Groups::none ? 1 : table_.groups)) return false;
      index_ -= tiles_;
      ++group_;
      const bool runs = read_group();
      row_tiles_ = runs ? ceil_div(rows_.count, tall_) : 0;
      tiles_ = row_tiles_ * columns_;
    }
    static_cast<TileCoord&>(tile) = GroupedSerpentine{row_tiles_, columns_, raster_group_}.at(index_);
    tile.rows = rows_;
    index_ += stride_;
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
  WW_FN int at_most(uint32_t value, int limit) {
    if (value <= uint32_t(limit)) return int(value);
    faults_ |= kRowsOutOfRange;
    return limit;
  }
  // False: the group has no matrix.
  WW_FN bool read_group() {
    if constexpr (G == Groups::none) {
      rows_ = {0, table_.rows, 0};
      return true;
    } else {
      if constexpr (G == Groups::contiguous) {
        const Global<const uint32_t> offsets{table_.offsets};
        rows_.first = group_ == 0 ? at_most(machine::load(offsets), table_.rows) : rows_.first + rows_.count;
        int end = at_most(machine::load(offsets + (group_ + 1)), table_.rows);
        if (end < rows_.first) {
          faults_ |= kOffsetsDecrease;
          end = rows_.first;
        }
        rows_.count = end - rows_.first;
      } else {
        const int64_t begin = int64_t(group_) * table_.slot_rows;
        rows_.first = begin > table_.rows ? table_.rows : int(begin);
        const int left = table_.rows - rows_.first;
        rows_.count = at_most(machine::load(Global<const uint32_t>{table_.counts} + group_),
                              left < table_.slot_rows ? left : table_.slot_rows);
      }
      rows_.matrix =
          table_.matrices == nullptr ? group_ : machine::load(Global<const int32_t>{table_.matrices} + group_);
      if (rows_.matrix >= table_.matrix_count) {
        faults_ |= kMatrixOutOfRange;
        return false;
      }
      return rows_.matrix >= 0;
    }
  }

  GroupTable table_;
  int tall_, columns_, raster_group_;
  int index_, stride_;  // among the tiles of the present group and those behind it
  int group_ = -1;
  int tiles_ = 0, row_tiles_ = 0;
  GroupRows rows_{};
  uint32_t faults_ = 0;
};

}  // namespace warpwright::inline WW_WORLD::tile

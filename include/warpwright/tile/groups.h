// The tiles of grouped rows, or of groups along k: tile index -> group, rows and place in the group. Whole warps walk
// the table together, 32 groups at a time, so its length costs a few loads and not a walk for each tile. Whatever the
// table says, no row beyond `rows` and no matrix beyond `matrix_count` comes out, and no element of the table beyond
// `groups` is read.
#pragma once
#include "warpwright/machine/machine.h"
#include "warpwright/tile/group_faults.h"
#include "warpwright/tile/group_mode.h"
#include "warpwright/tile/group_table.h"
#include "warpwright/tile/raster.h"
#include "warpwright/tile/source.h"

namespace warpwright::inline WW_WORLD::tile {

// A tile, its group and the rows of that group; of a group along k all rows.
struct GroupTile {
  int group = -1;
  int matrix = 0;
  int first_row = 0;  // of the group
  int end_row = 0;    // of the group
  int m = 0;          // rows of tiles from the group's first row
  int n = 0;
  // Blocks of 128 rows in all groups, or slots, ahead, each of which begins a new block: how scale factors are stored.
  int first_block = 0;
  int k = 0;        // for a group with extents of its own, or along k
  int first_k = 0;  // for a group along k
  constexpr bool operator==(const GroupTile&) const = default;
};

// For a converged warp: all lanes hold the same position. In a group the tiles run along m first, so that neighbours
// share the matrix of the group. G is by_depth, or else the table says what groups there are; those along k begin at
// multiples of DepthUnit, and each has tiles of all rows, even without depth.
template <Groups G = Groups::contiguous, int DepthUnit = 1>
class GroupTiles {
  static constexpr bool kByDepth = G == Groups::by_depth;

 public:
  static constexpr int kBlockRows = 128;

  // `tile_rows` rows of a group are one row of tiles, which has `tiles_n` of them; where groups have extents, one for
  // each `tile_columns` of the group's columns.
  WW_FN GroupTiles(const GroupTable& table, int tile_rows, int tiles_n, int tile_columns = 1)
      : table_(table), tile_rows_(tile_rows), tile_columns_(tile_columns), width_(tiles_n) {
    if (table.offsets != nullptr && table.groups > 0) {  // unreached [pointers]: those have extents
      const uint32_t first = machine::load(Global<const uint32_t>{table.offsets});
      if (first > uint32_t(extent())) faults_ |= kRowsOutOfRange;
      reached_ = at_most(first, extent());
      if constexpr (DepthUnit > 1) {
        if (reached_ % DepthUnit != 0) faults_ |= kDepthUnaligned;
        reached_ = reached_ / DepthUnit * DepthUnit;
      }
    }
    read_window();
  }
  GroupTiles(const GroupTiles&) = delete;
  GroupTiles& operator=(const GroupTiles&) = delete;

  // False: there are fewer tiles. The index must not decrease from one call to the next.
  WW_FN bool at(int index, GroupTile& tile, machine::here where = {}) {
    while (index >= tiles_through_window_ && window_ + kWindow < table_.groups) {
      window_ += kWindow;
      read_window(where);
    }
    const uint32_t behind = machine::ballot(index < tiles_, where);
    if (behind == 0) return false;
    const uint32_t lane = uint32_t(stdx::countr_zero(behind));
    const int rows_of_tiles = machine::shuffle(height_, lane, where);
    const int columns_of_tiles = machine::shuffle(width_, lane, where);
    const int inside = index - (machine::shuffle(tiles_, lane, where) - rows_of_tiles * columns_of_tiles);
    tile.group = window_ + int(lane);
    tile.matrix = machine::shuffle(matrix_, lane, where);
    tile.first_row = machine::shuffle(first_row_, lane, where);
    tile.end_row = machine::shuffle(end_row_, lane, where);
    if constexpr (kByDepth) {
      tile.first_k = machine::shuffle(first_k_, lane, where);
    } else {
      tile.first_block = machine::shuffle(block_, lane, where);
    }
    tile.k = machine::shuffle(depth_, lane, where);
    tile.n = inside / rows_of_tiles;
    tile.m = inside - tile.n * rows_of_tiles;
    return true;
  }

  // The faults found so far; all of them when at() has returned false.
  WW_FN uint32_t faults() const { return faults_; }
  // After at() has returned false, by any number of warps: one thread of the grid writes the status word, or adds to it
  // where others add what they find.
  template <bool Adds = false>
  WW_FN void report(machine::here where = {}) const {
    if (table_.status != nullptr && machine::cluster_index() == 0 && machine::cluster_rank() == 0 &&
        machine::lane_index() == 0) {
      if constexpr (Adds) {
        add_faults(table_, faults_, where);
      } else {
        machine::store(Global<uint32_t>{table_.status}, faults_, where);
      }
    }
  }

 private:
  static constexpr int kWindow = 32;
  WW_FN static int at_most(uint32_t value, int limit) { return value > uint32_t(limit) ? limit : int(value); }
  // The extent that offsets divide: rows, or columns along k.
  WW_FN int extent() const { return kByDepth ? table_.depth : table_.rows; }

  // Combines the values of all lanes up to this one.
  template <class Combine>
  WW_FN static int scan(int value, const Combine& combine, machine::here where) {
    const uint32_t lane = machine::lane_index();
    for (uint32_t distance = 1; distance < kWindow; distance *= 2) {
      const int before = machine::shuffle(value, (lane - distance) % kWindow, where);
      if (lane >= distance) value = combine(value, before);
    }
    return value;
  }
  WW_FN static int sum(int value, machine::here where) {
    return scan(
        value, [](int a, int b) { return a + b; }, where);
  }
  WW_FN void note(bool wrong, uint32_t fault, machine::here where) {
    if (machine::ballot(wrong, where) != 0) faults_ |= fault;
  }

  // Lane i takes group window_ + i.
  WW_FN void read_window(machine::here where = {}) {
    const int group = window_ + int(machine::lane_index());
    const bool real = group < table_.groups;
    if constexpr (kByDepth) {
      read_offsets(group, real, where);
      first_k_ = first_row_;
      depth_ = end_row_ - first_row_;
      first_row_ = 0;
      end_row_ = table_.rows;
      height_ = real ? ceil_div(table_.rows, tile_rows_) : 0;
    } else {
      read_rows(group, real, where);
    }
    tiles_ = tiles_through_window_ + sum(height_ * width_, where);
    tiles_through_window_ = machine::shuffle(tiles_, kWindow - 1, where);
  }
  WW_FN void read_rows(int group, bool real, machine::here where) {
    if (table_.extents != nullptr) {
      read_extents(group, real, where);
    } else if (table_.offsets != nullptr) {
      read_offsets(group, real, where);
    } else {
      const uint32_t stored = real ? machine::load(Global<const uint32_t>{table_.counts} + group, where) : 0;
      const int64_t begin = int64_t(group) * table_.slot_rows;
      first_row_ = begin > table_.rows ? table_.rows : int(begin);
      const int room = table_.rows - first_row_ < table_.slot_rows ? table_.rows - first_row_ : table_.slot_rows;
      note(stored > uint32_t(room), kRowsOutOfRange, where);
      end_row_ = first_row_ + at_most(stored, room);
    }
    matrix_ = group;
    if (table_.matrices != nullptr) {
      matrix_ = real ? machine::load(Global<const int32_t>{table_.matrices} + group, where) : -1;
    }
    const int rows = table_.counts == nullptr ? end_row_ - first_row_ : table_.slot_rows;
    const int blocks = real && table_.extents == nullptr ? ceil_div(rows, kBlockRows) : 0;
    const int through = blocks_before_ + sum(blocks, where);
    block_ = through - blocks;
    blocks_before_ = machine::shuffle(through, kWindow - 1, where);
    const bool exists = real && matrix_ < table_.matrix_count;
    note(real && !exists, kMatrixOutOfRange, where);
    const bool has_blocks = table_.blocks == 0 || through <= table_.blocks;
    note(real && !has_blocks, kBlocksOutOfRange, where);
    const bool runs = exists && has_blocks && matrix_ >= 0;
    height_ = runs ? ceil_div(end_row_ - first_row_, tile_rows_) : 0;
  }

  // Where the group of this lane begins and ends, in rows or along k.
  WW_FN void read_offsets(int group, bool real, machine::here where) {
    const uint32_t lane = machine::lane_index();
    const uint32_t stored =
        real ? machine::load(Global<const uint32_t>{table_.offsets} + (group + 1), where) : uint32_t(reached_);
    note(stored > uint32_t(extent()), kRowsOutOfRange, where);
    int end = at_most(stored, extent());
    if constexpr (DepthUnit > 1) {
      note(end % DepthUnit != 0, kDepthUnaligned, where);
      end = end / DepthUnit * DepthUnit;
    }
    const int highest = scan(
        end, [](int a, int b) { return a > b ? a : b; }, where);
    end_row_ = highest > reached_ ? highest : reached_;
    const int before = machine::shuffle(end_row_, (lane - 1) % kWindow, where);
    first_row_ = lane == 0 ? reached_ : before;
    note(real && end < first_row_, kOffsetsDecrease, where);
    reached_ = machine::shuffle(end_row_, kWindow - 1, where);
  }

  WW_FN void read_extents(int group, bool real, machine::here where) {
    Vec<int, 4> stored{};
    if (real)
      stored = machine::load(Global<const int32_t>{table_.extents}.template as<const Vec<int, 4>>() + group, where);
    const auto cut = [](int value, int most) { return value < 0 ? 0 : value > most ? most : value; };
    first_row_ = 0;
    end_row_ = cut(stored[0], table_.rows);
    const int columns = cut(stored[1], table_.columns);
    depth_ = cut(stored[2], table_.depth);
    width_ = ceil_div(columns, tile_columns_);
    note(end_row_ != stored[0] || columns != stored[1] || depth_ != stored[2], kExtentsOutOfRange, where);
  }

  GroupTable table_;
  int tile_rows_, tile_columns_;
  int window_ = 0;   // the group of lane 0
  int reached_ = 0;  // the end of the last group that was read
  int tiles_through_window_ = 0, blocks_before_ = 0;
  uint32_t faults_ = 0;
  // This lane's group.
  int first_row_ = 0, end_row_ = 0, matrix_ = 0, block_ = 0, depth_ = 0, first_k_ = 0;
  int height_ = 0, width_;  // in tiles
  int tiles_ = 0;           // in this group and all before it
};

// Cluster c of C takes the tiles c, c + C, ... of the groups. Every warp of a role walks its own instance; next() is
// for converged warps.
template <Groups G = Groups::contiguous, int DepthUnit = 1>
class PersistentGroupTiles {
 public:
  WW_FN PersistentGroupTiles(const GroupTable& table, int tile_rows, int tiles_n)
      : tiles_(table, tile_rows, tiles_n), index_(int(machine::cluster_index())) {}

  WW_FN bool next(GroupTile& tile, machine::here where = {}) {
    if (!tiles_.at(index_, tile, where)) return false;
    index_ += int(machine::cluster_count());
    return true;
  }
  template <bool Adds = false>
  WW_FN void report(machine::here where = {}) const {
    tiles_.template report<Adds>(where);
  }

 private:
  GroupTiles<G, DepthUnit> tiles_;
  int index_;
};

// A tile and the part of its depth that a cluster multiplies, in the form that single products use.
struct GroupJob : GroupTile {
  Job share{};
};

// The same, with the depth of every tile cut into parts: cluster c of C takes the parts c, c + C, ... of all tiles; the
// parts of a tile are neighbours. The whole grid must be resident.
class SplitGroupTiles {
 public:
  // `split` has the depth of a tile; the number of tiles is not known.
  WW_FN SplitGroupTiles(const GroupTable& table, int tile_rows, int tiles_n, const SplitK& split)
      : tiles_(table, tile_rows, tiles_n), split_(split), index_(int(machine::cluster_index())) {}

  WW_FN bool next(GroupJob& job, machine::here where = {}) {
    const Work work = split_.at(index_);
    if (!tiles_.at(work.tile, job, where)) return false;
    job.share = {{}, work.tile, work.k, work.part, work.parts, work.tile * (work.parts - 1)};
    index_ += int(machine::cluster_count());
    return true;
  }
  template <bool Adds = false>
  WW_FN void report(machine::here where = {}) const {
    tiles_.template report<Adds>(where);
  }

 private:
  GroupTiles<> tiles_;
  SplitK split_;
  int index_;
};

}  // namespace warpwright::inline WW_WORLD::tile

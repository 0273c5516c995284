// The static persistent scheduler over the tiles of several groups of rows, each with a raster of its own: in a group
// that is larger than the L2, tiles that run at the same time share rows and columns. No tile, and no cluster's block
// of tiles, has rows of two groups. Whole warps walk the table together, 32 groups at a time. Whatever the table says,
// no row beyond `rows` and no matrix beyond `matrix_count` comes out, and no element of the table beyond `groups` is
// read.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/group_faults.h"
#include "warpwright/tile/group_mode.h"
#include "warpwright/tile/group_table.h"
#include "warpwright/tile/paired_raster.h"
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::tile {

// The rows of one group, and its matrix. For a group along k: its columns, and all rows.
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
  // For a paired cluster, instead of the coordinates: this CTA's first row and column, with no more of the group's rows
  // in `rows` than it takes; whether its peer has the same rows and other columns; whether both have half a tile.
  int row = 0;
  int column = 0;
  bool beside = false;
  bool halved = false;
};

// For a converged warp. AnyRows: the table says whether there are offsets, counts of rows, or neither. Groups along k
// begin at multiples of DepthUnit. A cluster's tile has Tall rows. Paired: two CTAs take the units of a PairedRaster,
// and units of a last round that fills no more than half of the clusters are split; KnowsPeer: peer_column() is where
// the peer's tile begins.
template <Groups G, int Tall, bool AnyRows = false, int DepthUnit = 1, bool Paired = false, bool KnowsPeer = false>
class GroupedTiles {
 public:
  // A cluster's tile has `wide` of the `columns` of every group.
  WW_FN GroupedTiles(const GroupTable& table, int columns, int wide, int raster_group)
      : table_(table),
        columns_(columns),
        wide_(wide),
        raster_group_(raster_group),
        index_(int(machine::warp_uniform(machine::cluster_index()))) {}
  GroupedTiles(const GroupedTiles&) = delete;
  GroupedTiles& operator=(const GroupedTiles&) = delete;

  WW_FN bool next(GroupedTile& tile) {
    // What never changes is not kept in registers.
    if constexpr (G == Groups::none) {
      tile.rows = {.count = table_.rows};
      const int all = tiles_of(table_.rows);
      if constexpr (Paired) split_last_round(all);
      return number() < all && take(tile, number());
    } else {
      while (number() >= end_) {
        if (!enter_group()) return false;
      }
      tile.rows = rows_;
      return take(tile, number() - (end_ - tiles_of(rows_.count)));
    }
  }
  // After next() has returned false, by any number of warps: one thread of the grid writes the status word.
  WW_FN void report() const {
    if (G != Groups::none && table_.status != nullptr && machine::cluster_index() == 0 &&
        machine::cluster_rank() == 0 && machine::lane_index() == 0) {
      machine::store(Global<uint32_t>{table_.status}, faults_);
    }
  }
  // The same where every cluster has found a part of the faults, and the word was 0 before the launch.
  WW_FN void add_to_report() const {
    if (machine::lane_index() == 0) add_faults(table_, faults_);
  }
  // About the tile that next() has given.
  WW_FN int peer_column() const requires(KnowsPeer) { return peer_.column; }
  // Called by a converged warp, with what it has found beside the table of groups.
  WW_FN void note_fault(uint32_t fault) { faults_ |= fault; }

 private:
  static constexpr int kWindow = 32;
  struct Peer {
    int column = 0;
  };
  struct NoPeer {};

  // Computed again for every tile: the warp has no registers to spare while it works on one.
  WW_FN int across() const { return ceil_div(columns_, wide_); }
  WW_FN auto raster(int rows) const {
    if constexpr (Paired) {
      return PairedRaster<Tall / 2>{rows, across(), raster_group_};
    } else {
      return GroupedSerpentine{row_tiles(rows), across(), raster_group_};
    }
  }
  WW_FN int tiles_of(int rows) const { return raster(rows).count(); }
  // The tile of this number in its group.
  WW_FN bool take(GroupedTile& tile, int number) {
    if constexpr (Paired) {
      const int half = index_ < split_ ? -1 : (index_ - split_) % 2;
      if constexpr (KnowsPeer) {
        const int peer = int(machine::warp_uniform(machine::cluster_rank())) ^ 1;
        peer_.column = raster(tile.rows.count).at(number, peer, again_ ? 1 : 0, half).column * wide_;
      }
      const PairedTile part =
          raster(tile.rows.count).at(number, int(machine::warp_uniform(machine::cluster_rank())), again_ ? 1 : 0, half);
      tile.row = part.row;
      tile.column = part.column * wide_;
      tile.beside = part.beside;
      tile.halved = part.rows < Tall / 2;
      if (tile.rows.count > part.row + part.rows) tile.rows.count = part.row + part.rows;
      again_ = part.again;
      if (again_) return true;
    } else {
      static_cast<TileCoord&>(tile) = raster(tile.rows.count).at(number);
    }
    index_ += int(machine::cluster_count());
    return true;
  }
  // The number of the unit, if units may be split.
  WW_FN int number() const {
    if constexpr (!Paired) return index_;
    return index_ < split_ ? index_ : split_ + (index_ - split_) / 2;
  }
  WW_FN void split_last_round(int units) {
    const int clusters = int(machine::cluster_count()), left = units % clusters;
    if (2 * left <= clusters) split_ = units - left;
  }
  WW_FN static int row_tiles(int rows) { return ceil_div(rows, Tall); }
  WW_FN static int uniform(int value, int lane) { return machine::shuffle(value, uint32_t(lane)); }
  WW_FN bool is(Groups g) const {
    if constexpr (!AnyRows) return g == G;
    const Groups given = table_.offsets != nullptr  ? Groups::contiguous
                         : table_.counts != nullptr ? Groups::masked
                                                    : Groups::none;
    return g == given;
  }
  // Combines the values of all lanes up to this one.
  template <class Combine>
  WW_FN static int scan(int value, Combine combine) {
    const uint32_t lane = machine::lane_index();
    WW_UNROLL
    for (uint32_t distance = 1; distance < kWindow; distance *= 2) {
      const int before = machine::shuffle(value, (lane - distance) % kWindow);
      if (lane >= distance) value = combine(value, before);
    }
    return value;
  }
  WW_FN void note(bool wrong, uint32_t fault) {
    if (machine::ballot(wrong) != 0) faults_ |= fault;
  }
  WW_FN int at_most(uint32_t value, int limit) {
    note(value > uint32_t(limit), kRowsOutOfRange);
    return value > uint32_t(limit) ? limit : int(value);
  }

  // Goes to the group of index_, or to the next window of groups, in which it may be.
  WW_FN bool enter_group() {
    if (is(Groups::none)) {
      if (window_ >= 0) return false;
      window_ = 0;
      rows_ = {.count = table_.rows};
      end_ = tiles_of(table_.rows);
      if constexpr (Paired) split_last_round(end_);
      return true;
    }
    const int ahead = stdx::popcount(machine::ballot(through_ <= number()));
    if (ahead == kWindow) {
      window_ += kWindow;
      if (window_ >= table_.groups) return false;
      index_ -= uniform(through_, kWindow - 1);
      end_ = 0;
      read_window();
      // The number of units is known if one window has all groups.
      if constexpr (Paired) {
        if (table_.groups <= kWindow) split_last_round(uniform(through_, kWindow - 1));
      }
      return true;
    }
    end_ = uniform(through_, ahead);
    if constexpr (G == Groups::by_depth) {
      rows_ = {.count = table_.rows,
               .first_k = uniform(first_, ahead),
               .depth = uniform(extent_, ahead),
               .out = (window_ + ahead) * table_.rows};
    } else {
      rows_ = {.first = uniform(first_, ahead), .count = uniform(extent_, ahead), .matrix = uniform(matrix_, ahead)};
    }
    return true;
  }

  // Lane i takes group window_ + i.
  WW_FN void read_window() {
    const int group = window_ + int(machine::lane_index());
    const bool real = group < table_.groups;
    if (is(Groups::masked)) {
      const uint32_t stored = real ? machine::load(Global<const uint32_t>{table_.counts} + group) : 0;
      const int64_t begin = int64_t(group) * table_.slot_rows;
      first_ = begin > table_.rows ? table_.rows : int(begin);
      const int left = table_.rows - first_;
      extent_ = at_most(stored, left < table_.slot_rows ? left : table_.slot_rows);
    } else {
      read_offsets(group, real);
    }
    if constexpr (G == Groups::by_depth) {
      through_ = scan(real ? row_tiles(table_.rows) * across() : 0, [](int a, int b) { return a + b; });
    } else {
      matrix_ = group;
      if (table_.matrices != nullptr && real) matrix_ = machine::load(Global<const int32_t>{table_.matrices} + group);
      note(real && matrix_ >= table_.matrix_count, kMatrixOutOfRange);
      if (!real || matrix_ < 0 || matrix_ >= table_.matrix_count) extent_ = 0;
      if constexpr (Tall > 64 && !Paired) arrange();
      through_ = scan(tiles_of(extent_), [](int a, int b) { return a + b; });
    }
  }
  WW_FN int offset(uint32_t stored) {
    const int value = at_most(stored, G == Groups::by_depth ? table_.depth : table_.rows);
    if constexpr (G != Groups::by_depth || DepthUnit == 1) return value;
    note(value % DepthUnit != 0, kDepthUnaligned);
    return value / DepthUnit * DepthUnit;
  }
  WW_FN void read_offsets(int group, bool real) {
    const Global<const uint32_t> offsets{table_.offsets};
    if (window_ == 0) reached_ = offset(machine::load(offsets));
    const int end = offset(real ? machine::load(offsets + (group + 1)) : 0);
    const int highest = scan(end, [](int a, int b) { return a > b ? a : b; });
    const int through = highest > reached_ ? highest : reached_;
    const uint32_t lane = machine::lane_index();
    const int before = machine::shuffle(through, (lane - 1) % kWindow);
    first_ = lane == 0 ? reached_ : before;
    extent_ = through - first_;
    note(real && end < first_, kOffsetsDecrease);
    reached_ = uniform(through, kWindow - 1);
  }

  // A tile costs as much as it has blocks of 64 rows. Groups of a single tile are taken in the order of falling cost:
  // clusters, each of which takes every n-th tile, then have equal shares of every kind.
  WW_FN void arrange() {
    constexpr int kinds = Tall / 64;
    const int lane = int(machine::lane_index()), missing = extent_ > Tall ? 0 : kinds - ceil_div(extent_, 64);
    int from = 0, taken = 0;
    WW_UNROLL
    for (int kind = 0; kind <= kinds; ++kind) {
      const uint32_t those = machine::ballot(missing == kind);
      const int count = stdx::popcount(those);
      if (lane >= taken && lane < taken + count) from = set_bit(those, lane - taken);
      taken += count;
    }
    first_ = machine::shuffle(first_, uint32_t(from));
    extent_ = machine::shuffle(extent_, uint32_t(from));
    matrix_ = machine::shuffle(matrix_, uint32_t(from));
  }
  // The position of the n-th set bit.
  WW_FN static int set_bit(uint32_t bits, int n) {
    int at = 0;
    WW_UNROLL
    for (int width = 16; width > 0; width /= 2) {
      const int below = stdx::popcount(bits >> at & ((1u << width) - 1));
      if (n >= below) {
        n -= below;
        at += width;
      }
    }
    return at;
  }

  GroupTable table_;
  int columns_, wide_, raster_group_;
  int index_;              // among the tiles of the window and those after it
  int end_ = 0;            // the end of the tiles of the current group
  int split_ = INT32_MAX;  // units from this one on are split
  bool again_ = false;     // the present unit has another tile
  int window_ = -kWindow;  // the first group of the window
  int reached_ = 0;        // the end of the last group that was read
  GroupRows rows_{};
  uint32_t faults_ = 0;
  [[no_unique_address]] stdx::conditional_t<KnowsPeer, Peer, NoPeer> peer_;
  // This lane's group: its first row or column, how many it has, and the tiles of the window up to its end.
  int first_ = 0, extent_ = 0, matrix_ = 0, through_ = 0;
};

}  // namespace warpwright::inline WW_WORLD::tile

// How a cluster of two CTAs takes the tiles of a group of rows whose last row of tiles may have no partner, or only
// half its rows. Where there are two tiles they are stacked, with the same columns of B. Of the last row of tiles, two
// are taken side by side; if no more than half of its rows exist, which is half the work, four of them, one pair after
// the other. So every unit is the same work for both CTAs, and a unit can be split into two of half the work, in which
// each CTA has half the rows of a tile: for a last round that would leave most of the chip without work.
#pragma once
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::tile {

// One CTA's part of a unit. A column of tiles that does not exist has a place beyond the last.
struct PairedTile {
  int row = 0;          // in the group
  int rows = 0;         // how many rows are taken at most
  int column = 0;       // the column of tiles
  bool beside = false;  // its peer has the same rows and other columns
  bool again = false;   // the unit has another pair of tiles
};

// Tiles have Tall rows. A band has about `band` pairs of rows of tiles.
template <int Tall>
struct PairedRaster {
  int rows = 0;
  int columns = 0;
  int band = 1;

  // Rows of tiles with more than half of their rows, and whether there is another one.
  WW_HD constexpr int full() const { return rows / Tall + (rows % Tall > Tall / 2 ? 1 : 0); }
  WW_HD constexpr int rest() const { return rows % Tall > 0 && rows % Tall <= Tall / 2 ? 1 : 0; }
  WW_HD constexpr int count() const {
    return full() / 2 * columns + full() % 2 * ((columns + 1) / 2) + rest() * ((columns + 3) / 4);
  }

  // Unsigned division is shorter, and everybody waits for the next tile.
  WW_HD static constexpr int quotient(int a, int b) { return int(uint32_t(a) / uint32_t(b)); }

  // The tile of unit i, for CTA `rank`. step: 1 for the second pair of a unit that has one. half: -1, or which half of
  // a unit that is split.
  WW_HD constexpr PairedTile at(int i, int rank, int step, int half) const {
    const int pairs = full() / 2;
    const int nearest = (pairs + band / 2) / band, last = nearest > 1 ? nearest - 1 : 0;
    const int before = quotient(i, band * columns), which = before < last ? before : last;
    const int first = which * band, tall = which < last ? band : pairs - first;
    // The last row of tiles comes with the last band, four columns at a time.
    const int odd = which < last ? 0 : full() % 2;
    const int inside = i - first * columns, period = 4 * tall + 2 * odd + (which < last ? 0 : rest());
    const int fours = quotient(inside, period), from = 4 * fours, wide = columns - from < 4 ? columns - from : 4;
    const int r = inside - fours * period, beside = r - wide * tall;
    PairedTile tile{.rows = Tall};
    int block = 0, column = 0;
    if (beside < 0) {
      const int along = quotient(r, tall);
      column = from + along;
      block = 2 * (first + r - along * tall) + (half < 0 ? rank : half);
    } else if (beside < odd * ((wide + 1) / 2)) {
      column = from + 2 * beside + (half < 0 ? rank : half);
      block = full() - 1;
      tile.beside = half < 0;
    } else {
      const int second = half < 0 ? step : half;
      column = from + 2 * second + rank;
      block = full();
      tile.beside = true;
      tile.again = half < 0 && step == 0 && wide > 2;
      half = -1;
    }
    tile.row = block * Tall + (half < 0 ? 0 : rank * (Tall / 2));
    if (half >= 0) tile.rows = Tall / 2;
    tile.column = which % 2 != 0 && column < columns ? columns - 1 - column : column;
    return tile;
  }
};

}  // namespace warpwright::inline WW_WORLD::tile

// In which order the tiles of a matrix are visited.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright::inline WW_WORLD::tile {

struct TileCoord {
  int m = 0;
  int n = 0;
};

WW_HD constexpr int ceil_div(int a, int b) { return a / b + (a % b != 0); }

// Bands of `group` rows of tiles, each walked column by column, so that CTAs running at the same time share rows of A
// and columns of B in L2. Every second band runs backwards: its first columns are those the band before has just used.
struct GroupedSerpentine {
  int rows = 0;
  int columns = 0;
  int group = 1;

  WW_HD constexpr int count() const { return rows * columns; }
  WW_HD constexpr TileCoord at(int i) const {
    const int band = i / (group * columns);
    const int first = band * group;
    const int height = rows - first < group ? rows - first : group;
    const int inside = i - first * columns;
    const int column = inside / height;
    return {first + inside - column * height, band % 2 == 0 ? column : columns - 1 - column};
  }
};

}  // namespace warpwright::inline WW_WORLD::tile

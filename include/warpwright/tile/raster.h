// The order in which the tiles of a matrix are visited. A raster is a small constexpr value: count() tiles, at(i) is
// the i-th of them, and every tile has exactly one i.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright::inline WW_WORLD::tile {

// The place of an output tile, in tiles.
struct TileCoord {
  int m = 0;
  int n = 0;
  int batch = 0;
  constexpr bool operator==(const TileCoord&) const = default;
};

// a / b, rounded up.
WW_HD constexpr int ceil_div(int a, int b) { return a / b + (a % b != 0); }

// Pieces of work by number: count() of them, at(i) is the i-th.
template <class S>
concept Sequence = stdx::is_trivially_copyable_v<S> && requires(const S& sequence, int i) {
  requires stdx::is_same_v<decltype(sequence.count()), int>;
  sequence.at(i);
};
// What at() of a sequence returns.
template <Sequence S>
struct SequenceItem {
  using type = decltype(stdx::declval<const S&>().at(0));
};

// A sequence of tile coordinates.
template <class R>
concept Raster = Sequence<R> && stdx::is_same_v<typename SequenceItem<R>::type, TileCoord>;

// Row by row.
struct RowMajor {
  int rows = 0;
  int columns = 0;

  WW_HD constexpr int count() const { return rows * columns; }
  WW_HD constexpr TileCoord at(int i) const { return {i / columns, i % columns}; }
};

// Column by column.
struct ColumnMajor {
  int rows = 0;
  int columns = 0;

  WW_HD constexpr int count() const { return rows * columns; }
  WW_HD constexpr TileCoord at(int i) const { return {i % rows, i / rows}; }
};

// Bands of `group` rows of tiles, each walked column by column, so that CTAs that run at the same time share rows of A
// and columns of B in L2.
struct Grouped {
  int rows = 0;
  int columns = 0;
  int group = 1;

  WW_HD constexpr int count() const { return rows * columns; }
  WW_HD constexpr TileCoord at(int i) const {
    const int first = i / (group * columns) * group;
    const int height = rows - first < group ? rows - first : group;
    const int inside = i - first * columns;
    const int column = inside / height;
    return {first + inside - column * height, column};
  }
};

// The same bands, every second one backwards: it starts with the columns that the band before has just used.
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

// A Hilbert curve generalised to any rectangle: any run of consecutive tiles is compact, whatever its length, so it
// suits a number of concurrent CTAs that is not known beforehand. When rows and columns are even, consecutive tiles
// share an edge; otherwise one step of the whole curve may go over a corner.
struct Hilbert {
  int rows = 0;
  int columns = 0;

  WW_HD constexpr int count() const { return rows * columns; }
  WW_HD constexpr TileCoord at(int i) const {
    // The rectangle that is left: its entry corner, the direction `a` (with sign) and extent along which the curve
    // ends, and the direction `b` across. A direction has one nonzero component.
    Step a = columns >= rows ? Step{0, 1} : Step{1, 0};
    Step b = columns >= rows ? Step{1, 0} : Step{0, 1};
    int along = columns >= rows ? columns : rows;
    int across = columns >= rows ? rows : columns;
    TileCoord at{};
    while (along > 1 && across > 1) {
      const int first_half = even_half(along);
      if (2 * along > 3 * across) {
        // Long: split into two rectangles, one after the other.
        const int area = first_half * across;
        if (i < area) {
          along = first_half;
        } else {
          i -= area;
          at = a.from(at, first_half);
          along -= first_half;
        }
        continue;
      }
      // Up on the near half, all the way along the top, down on the far half.
      const int half = along / 2;
      const int height = even_half(across);
      const int near_area = half * height;
      const int top_area = along * (across - height);
      if (i < near_area) {
        swap(a, b);
        along = height;
        across = half;
      } else if (i < near_area + top_area) {
        i -= near_area;
        at = b.from(at, height);
        across -= height;
      } else {
        i -= near_area + top_area;
        at = b.from(a.from(at, along - 1), height - 1);
        swap(a, b);
        a = a.reversed();
        b = b.reversed();
        across = along - half;
        along = height;
      }
    }
    return along == 1 ? b.from(at, i) : a.from(at, i);
  }

 private:
  struct Step {
    int m = 0;
    int n = 0;
    WW_HD constexpr TileCoord from(TileCoord at, int steps) const { return {at.m + m * steps, at.n + n * steps}; }
    WW_HD constexpr Step reversed() const { return {-m, -n}; }
  };
  WW_HD static constexpr void swap(Step& a, Step& b) {
    const Step held = a;
    a = b;
    b = held;
  }
  // A part of even extent is left on the side where it was entered.
  WW_HD static constexpr int even_half(int n) { return n / 2 + (n / 2 % 2 != 0 && n > 2 ? 1 : 0); }
};

// The same raster for each matrix of a batch, one matrix after the other.
template <Raster R>
struct Batched {
  R raster{};
  int batches = 1;

  WW_HD constexpr int count() const { return raster.count() * batches; }
  WW_HD constexpr TileCoord at(int i) const {
    const int each = raster.count();
    TileCoord tile = raster.at(i % each);
    tile.batch = i / each;
    return tile;
  }
};
template <Raster R>
Batched(R, int) -> Batched<R>;

}  // namespace warpwright::inline WW_WORLD::tile

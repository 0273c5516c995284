#include "warpwright/tile/raster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "warpwright/tile/split.h"

namespace warpwright {
namespace {

using tile::Batched;
using tile::ColumnMajor;
using tile::Grouped;
using tile::GroupedSerpentine;
using tile::Hilbert;
using tile::KRange;
using tile::RowMajor;
using tile::SplitK;
using tile::StreamK;
using tile::TileCoord;
using tile::Work;

// Empty when `raster` visits each tile of batches x rows x columns once.
template <tile::Raster R>
std::string fault_of(const R& raster, int rows, int columns, int batches = 1) {
  if (raster.count() != rows * columns * batches) return "count " + std::to_string(raster.count());
  std::vector<bool> seen(size_t(raster.count()));
  for (int i = 0; i < raster.count(); ++i) {
    const TileCoord t = raster.at(i);
    if (t.m < 0 || t.m >= rows || t.n < 0 || t.n >= columns || t.batch < 0 || t.batch >= batches)
      return "outside at " + std::to_string(i);
    const size_t flat = (size_t(t.batch) * size_t(rows) + size_t(t.m)) * size_t(columns) + size_t(t.n);
    if (seen[flat]) return "twice at " + std::to_string(i);
    seen[flat] = true;
  }
  return "";
}

template <class Check>
void for_all_sizes(Check check) {
  for (int rows = 1; rows <= 17; ++rows)
    for (int columns = 1; columns <= 17; ++columns) check(rows, columns);
  check(1, 1000);
  check(513, 3);
  check(127, 255);
  check(256, 256);
}

TEST(Rasters, VisitEveryTileOnce) {
  for_all_sizes([](int rows, int columns) {
    const auto size = std::to_string(rows) + "x" + std::to_string(columns);
    EXPECT_EQ(fault_of(RowMajor{rows, columns}, rows, columns), "") << size;
    EXPECT_EQ(fault_of(ColumnMajor{rows, columns}, rows, columns), "") << size;
    EXPECT_EQ(fault_of(Hilbert{rows, columns}, rows, columns), "") << size;
    for (int group : {1, 2, 3, 8, 100}) {
      EXPECT_EQ(fault_of(Grouped{rows, columns, group}, rows, columns), "") << size << " group " << group;
      EXPECT_EQ(fault_of(GroupedSerpentine{rows, columns, group}, rows, columns), "") << size << " group " << group;
    }
  });
}

TEST(Rasters, VisitEveryTileOfABatchOnce) {
  for (int batches : {1, 2, 5}) {
    for_all_sizes([&](int rows, int columns) {
      EXPECT_EQ(fault_of(Batched{RowMajor{rows, columns}, batches}, rows, columns, batches), "");
      EXPECT_EQ(fault_of(Batched{Hilbert{rows, columns}, batches}, rows, columns, batches), "");
      EXPECT_EQ(fault_of(Batched{GroupedSerpentine{rows, columns, 3}, batches}, rows, columns, batches), "");
    });
  }
}

TEST(Rasters, DoOneMatrixOfABatchAfterTheOther) {
  const Batched<ColumnMajor> raster{{2, 3}, 2};
  EXPECT_EQ(raster.at(1), (TileCoord{1, 0, 0}));
  EXPECT_EQ(raster.at(6), (TileCoord{0, 0, 1}));
  EXPECT_EQ(raster.at(11), (TileCoord{1, 2, 1}));
}

TEST(Rasters, HaveNothingToVisitInAMatrixWithoutTiles) {
  EXPECT_EQ((GroupedSerpentine{0, 5, 8}).count(), 0);
  EXPECT_EQ((Hilbert{5, 0}).count(), 0);
  EXPECT_EQ((Batched<RowMajor>{{2, 2}, 0}).count(), 0);
}

TEST(Rasters, AreConstantExpressions) {
  static_assert(RowMajor{2, 3}.at(4) == TileCoord{1, 1});
  static_assert(ColumnMajor{2, 3}.at(4) == TileCoord{0, 2});
  static_assert(Grouped{4, 2, 2}.at(4) == TileCoord{2, 0});
  static_assert(Hilbert{2, 2}.at(3).n == 1);
}

TEST(Grouped, StartsEveryBandInTheFirstColumn) {
  const Grouped raster{6, 4, 2};
  EXPECT_EQ(raster.at(1), (TileCoord{1, 0}));
  EXPECT_EQ(raster.at(2), (TileCoord{0, 1}));
  EXPECT_EQ(raster.at(8), (TileCoord{2, 0}));
}

TEST(GroupedSerpentine, NeighbouringBandsMeetInOneColumn) {
  const GroupedSerpentine raster{6, 4, 2};
  EXPECT_EQ(raster.at(0).m, 0);
  EXPECT_EQ(raster.at(1).m, 1);  // down the band first
  EXPECT_EQ(raster.at(1).n, 0);
  EXPECT_EQ(raster.at(2).n, 1);
  EXPECT_EQ(raster.at(7).n, 3);
  EXPECT_EQ(raster.at(8).n, 3);  // the second band starts where the first ended
  EXPECT_EQ(raster.at(8).m, 2);
  EXPECT_EQ(raster.at(16).n, 0);
}

TEST(Hilbert, ConsecutiveTilesShareAnEdgeWhenBothSizesAreEven) {
  for (int rows = 2; rows <= 40; rows += 2) {
    for (int columns = 2; columns <= 40; columns += 2) {
      const Hilbert raster{rows, columns};
      for (int i = 1; i < raster.count(); ++i) {
        const TileCoord a = raster.at(i - 1), b = raster.at(i);
        ASSERT_EQ(std::abs(a.m - b.m) + std::abs(a.n - b.n), 1) << rows << "x" << columns << " at " << i;
      }
    }
  }
}

TEST(Hilbert, ConsecutiveTilesAlwaysTouch) {
  for (int rows = 1; rows <= 33; ++rows) {
    for (int columns = 1; columns <= 33; ++columns) {
      const Hilbert raster{rows, columns};
      int diagonal = 0;
      for (int i = 1; i < raster.count(); ++i) {
        const TileCoord a = raster.at(i - 1), b = raster.at(i);
        ASSERT_LE(std::max(std::abs(a.m - b.m), std::abs(a.n - b.n)), 1) << rows << "x" << columns << " at " << i;
        diagonal += a.m != b.m && a.n != b.n;
      }
      ASSERT_LE(diagonal, 1) << rows << "x" << columns;
    }
  }
}

// What concurrent CTAs read: the rows and columns that a run of tiles touches.
TEST(Hilbert, ARunOfTilesTouchesFewerRowsAndColumnsThanInRowOrder) {
  const auto touched = [](auto raster, int first, int run) {
    std::vector<bool> rows(64), columns(64);
    for (int i = first; i < first + run; ++i) {
      rows[size_t(raster.at(i).m)] = true;
      columns[size_t(raster.at(i).n)] = true;
    }
    return std::count(rows.begin(), rows.end(), true) + std::count(columns.begin(), columns.end(), true);
  };
  int64_t hilbert = 0, row_order = 0;
  for (int first = 0; first + 132 <= 64 * 64; first += 132) {
    hilbert += touched(Hilbert{64, 64}, first, 132);
    row_order += touched(RowMajor{64, 64}, first, 132);
  }
  EXPECT_LT(2 * hilbert, row_order);
}

TEST(SplitK, CoversEveryKTileOnceAndLeavesNoPartEmpty) {
  for (int k_tiles = 0; k_tiles <= 40; ++k_tiles) {
    for (int splits : {1, 2, 3, 4, 7, 50}) {
      for (int granule : {1, 2, 4}) {
        const SplitK split{3, k_tiles, splits, granule};
        std::vector<int> covered(size_t(3 * k_tiles));
        for (int i = 0; i < split.count(); ++i) {
          const Work w = split.at(i);
          EXPECT_EQ(w.parts, split.parts());
          EXPECT_EQ(w.last(), w.k.end() == k_tiles);
          EXPECT_TRUE(w.k.count > 0 || k_tiles == 0);
          EXPECT_TRUE(w.last() || w.k.count % granule == 0);
          for (int k = w.k.first; k < w.k.end(); ++k) ++covered[size_t(w.tile * k_tiles + k)];
        }
        for (int n : covered) ASSERT_EQ(n, 1) << k_tiles << " k-tiles, " << splits << " splits of " << granule;
      }
    }
  }
}

TEST(SplitK, PartsDifferByAtMostOneGranule) {
  const SplitK split{1, 10, 4};
  EXPECT_EQ(split.range(0).count, 3);
  EXPECT_EQ(split.range(1).count, 3);
  EXPECT_EQ(split.range(2).count, 2);
  EXPECT_EQ(split.range(3).count, 2);
}

void expect_exact_cover(const StreamK& s) {
  const auto what = testing::Message() << s.tiles << " tiles of " << s.k_tiles << ", " << s.workers << " workers, "
                                       << s.streamed << " streamed";
  std::vector<int> covered(size_t(s.tiles * s.k_tiles)), finished(size_t(s.tiles)), parts(size_t(s.tiles));
  for (int worker = 0; worker < s.workers; ++worker) {
    int streamed = 0;
    for (int i = 0; i < s.count(worker); ++i) {
      const Work w = s.at(worker, i);
      ASSERT_TRUE(w.tile >= 0 && w.tile < s.tiles) << what;
      ASSERT_TRUE(w.k.count > 0 || s.k_tiles == 0) << what;
      ASSERT_EQ(s.worker_at(w.tile, w.part), worker) << what;
      ASSERT_EQ(w.last(), w.k.end() == s.k_tiles) << what;
      ASSERT_EQ(w.part == 0, w.k.first == 0) << what;
      if (w.tile < s.streamed) streamed += w.k.count;
      finished[size_t(w.tile)] += w.last();
      ++parts[size_t(w.tile)];
      for (int k = w.k.first; k < w.k.end(); ++k) ++covered[size_t(w.tile * s.k_tiles + k)];
    }
    const int even = s.streamed * s.k_tiles / s.workers;
    ASSERT_TRUE(streamed == even || streamed == even + 1) << what;
  }
  for (int n : covered) ASSERT_EQ(n, 1) << what;
  for (int n : finished) ASSERT_EQ(n, 1) << what;
  for (int worker = 0; worker < s.workers; ++worker)
    for (int i = 0; i < s.count(worker); ++i)
      ASSERT_EQ(s.at(worker, i).parts, parts[size_t(s.at(worker, i).tile)]) << what;
}

TEST(StreamK, CoversEveryKTileOnceAndFinishesEveryTileOnce) {
  for (int tiles : {0, 1, 2, 3, 5, 8, 13, 40}) {
    for (int k_tiles : {0, 1, 2, 3, 7, 16}) {
      for (int workers : {1, 2, 3, 4, 7, 33}) {
        expect_exact_cover(StreamK::balanced(tiles, k_tiles, workers));
        for (int streamed = 0; streamed <= tiles; streamed += 2)
          expect_exact_cover({tiles, k_tiles, workers, streamed});
        expect_exact_cover({tiles, k_tiles, workers, tiles});
      }
    }
  }
}

TEST(StreamK, CountsBeyond32BitsOfKTiles) {
  const StreamK s{1 << 20, 1 << 14, 148, 1 << 20};
  const Work first = s.at(147, 0);
  EXPECT_EQ(first.tile, (1 << 20) - 1);
  EXPECT_EQ(first.k.end(), 1 << 14);
  EXPECT_EQ(s.worker_at((1 << 20) - 1, first.part), 147);
}

TEST(StreamK, BalancedStreamsNothingWhenTheWavesAreFull) {
  EXPECT_EQ(StreamK::balanced(8, 5, 4).streamed, 0);
  EXPECT_EQ(StreamK::balanced(9, 5, 4).streamed, 5);
  EXPECT_EQ(StreamK::balanced(3, 5, 4).streamed, 3);
}

// A part may wait for the part before it. Workers run side by side or are started in order of their index.
TEST(StreamK, AReductionInOrderNeverDeadlocks) {
  for (int tiles : {1, 3, 5, 9}) {
    for (int workers : {2, 4, 7}) {
      const StreamK s = StreamK::balanced(tiles, 3, workers);
      std::vector<int> done(tiles, 0), next(workers, 0);
      bool progress = true;
      while (progress) {
        progress = false;
        for (int w = workers - 1; w >= 0; --w) {
          if (next[size_t(w)] == s.count(w)) continue;
          const Work work = s.at(w, next[size_t(w)]);
          if (done[size_t(work.tile)] != work.part) continue;
          ++done[size_t(work.tile)], ++next[size_t(w)];
          progress = true;
        }
      }
      for (int w = 0; w < workers; ++w) EXPECT_EQ(next[size_t(w)], s.count(w)) << tiles << " tiles, worker " << w;
    }
  }
}

}  // namespace
}  // namespace warpwright

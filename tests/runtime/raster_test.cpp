#include "warpwright/tile/raster.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace warpwright {
namespace {

TEST(GroupedSerpentine, VisitsEveryTileOnce) {
  for (int rows : {1, 7, 8, 9, 17}) {
    for (int columns : {1, 2, 5}) {
      for (int group : {1, 3, 8, 100}) {
        const tile::GroupedSerpentine raster{rows, columns, group};
        std::set<std::pair<int, int>> seen;
        for (int i = 0; i < raster.count(); ++i) {
          const tile::TileCoord t = raster.at(i);
          EXPECT_TRUE(t.m >= 0 && t.m < rows && t.n >= 0 && t.n < columns) << rows << " " << columns << " " << group;
          seen.insert({t.m, t.n});
        }
        EXPECT_EQ(int(seen.size()), rows * columns) << rows << " " << columns << " " << group;
      }
    }
  }
}

TEST(GroupedSerpentine, NeighbouringBandsMeetInOneColumn) {
  const tile::GroupedSerpentine raster{6, 4, 2};
  EXPECT_EQ(raster.at(0).m, 0);
  EXPECT_EQ(raster.at(1).m, 1);  // down the band first
  EXPECT_EQ(raster.at(1).n, 0);
  EXPECT_EQ(raster.at(2).n, 1);
  EXPECT_EQ(raster.at(7).n, 3);
  EXPECT_EQ(raster.at(8).n, 3);  // the second band starts where the first ended
  EXPECT_EQ(raster.at(8).m, 2);
  EXPECT_EQ(raster.at(16).n, 0);
}

TEST(GroupedSerpentine, AMatrixWithoutTilesHasNone) { EXPECT_EQ((tile::GroupedSerpentine{0, 5, 8}).count(), 0); }

}  // namespace
}  // namespace warpwright

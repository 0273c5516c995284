// How two CTAs of a cluster share the tiles of groups: everything is taken once, by pairs whose CTAs have equal work,
// and a last round with work for few clusters is spread over more.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "warpwright/sim/simulator.h"
#include "warpwright/tile/grouped_raster.h"

namespace warpwright {
namespace {

using simulator::Buffer;
using tile::GroupedTile;
using tile::PairedRaster;
using tile::PairedTile;

constexpr int kTall = 128, kWide = 64, kHalf = kTall / 2;

struct Group {
  int first, rows;
};
// The tiles of each CTA in their order.
using Walk = std::vector<std::vector<GroupedTile>>;

template <Groups G>
Walk walk(std::vector<uint32_t> table_rows, int slot_rows, int rows, int columns, int clusters) {
  Walk found{size_t(2 * clusters)};
  const int groups = int(table_rows.size()) - (G == Groups::contiguous ? 1 : 0);
  GroupTable table{.groups = G == Groups::none ? 0 : groups,
                   .rows = rows,
                   .matrix_count = std::max(groups, 1),
                   .slot_rows = slot_rows};
  BlockPlan plan("walk", Arch::sm90, 2);
  plan.role("walker", 1);
  simulator::Launch launch{&plan, {uint32_t(2 * clusters), 1, 1}, 0, 0, {}};
  if (G != Groups::none) {
    launch.buffers.push_back({table_rows.data(), table_rows.size() * 4, "rows", Buffer::Use::input, false});
    (G == Groups::masked ? table.counts : table.offsets) = table_rows.data();
  }
  const simulator::Result r = simulator::run(launch, {}, [&] {
    tile::GroupedTiles<G, 2 * kTall, false, 1, true> tiles(table, columns, kWide, 2);
    for (GroupedTile at; tiles.next(at);) {
      if (machine::lane_index() == 0) found[2 * machine::cluster_index() + machine::cluster_rank()].push_back(at);
    }
  });
  EXPECT_TRUE(r.ok()) << r.findings[0].text();
  return found;
}

// How many blocks of 64 rows of a tile have rows.
int work(const GroupedTile& t) { return std::max(0, tile::ceil_div(t.rows.count - t.row, kHalf)); }

void expect_all_once(const Walk& walk, const std::vector<Group>& groups, int columns) {
  std::map<std::array<int, 3>, int> taken;
  for (size_t cta = 0; cta < walk.size(); ++cta) {
    ASSERT_EQ(walk[cta].size(), walk[cta ^ 1].size());
    for (size_t i = 0; i < walk[cta].size(); ++i) {
      const GroupedTile &t = walk[cta][i], &peer = walk[cta ^ 1][i];
      ASSERT_EQ(t.rows.matrix, peer.rows.matrix);
      ASSERT_EQ(t.beside, peer.beside);
      ASSERT_EQ(t.halved, peer.halved);
      ASSERT_EQ(work(t), work(peer));
      // What is shared is the same for both, and the first CTA is above or to one side of the other.
      ASSERT_EQ(t.row == peer.row, t.beside);
      ASSERT_EQ(t.column == peer.column, !t.beside);
      ASSERT_LE(work(t), t.halved ? 1 : 2);
      const Group& g = groups[size_t(t.rows.matrix)];
      ASSERT_EQ(t.rows.first, g.first);
      ASSERT_LE(t.rows.count, g.rows);
      for (int row = t.row; row < t.rows.count; row += kHalf) {
        if (t.column < columns) ++taken[{t.rows.matrix, row / kHalf, t.column / kWide}];
      }
    }
  }
  size_t all = 0;
  for (const Group& g : groups) all += size_t(tile::ceil_div(g.rows, kHalf) * tile::ceil_div(columns, kWide));
  EXPECT_EQ(taken.size(), all);
  for (const auto& [block, times] : taken) EXPECT_EQ(times, 1) << block[0] << " " << block[1] << " " << block[2];
}

// The most that a cluster has to do, in blocks of 64 rows per CTA.
int longest(const Walk& walk) {
  int most = 0;
  for (const auto& cta : walk) {
    int sum = 0;
    for (const GroupedTile& t : cta) sum += work(t);
    most = std::max(most, sum);
  }
  return most;
}

std::vector<Group> groups_of(const std::vector<uint32_t>& counts, int slot_rows) {
  std::vector<Group> groups;
  for (size_t i = 0; i < counts.size(); ++i) groups.push_back({int(i) * slot_rows, int(counts[i])});
  return groups;
}

TEST(PairedTiles, EveryBlockOfEveryGroupIsTakenOnce) {
  const std::vector<uint32_t> counts = {0, 1, 64, 65, 128, 129, 192, 193, 256, 257, 320, 384, 640, 700, 1024, 1100};
  for (int columns : {1, 64, 130, 200, 256, 330, 512, 600}) {
    for (int clusters : {1, 2, 5}) {
      expect_all_once(walk<Groups::masked>(counts, 1200, 16 * 1200, columns, clusters), groups_of(counts, 1200),
                      columns);
    }
  }
  const std::vector<uint32_t> offsets = {3, 3, 131, 500, 1140, 1204};
  expect_all_once(walk<Groups::contiguous>(offsets, 0, 1204, 320, 3),
                  {{3, 0}, {3, 128}, {131, 369}, {500, 640}, {1140, 64}}, 320);
  for (int rows : {1, 64, 65, 128, 300, 1000}) {
    expect_all_once(walk<Groups::none>({}, 0, rows, 320, 3), {{0, rows}}, 320);
  }
}

TEST(PairedTiles, MoreGroupsThanLanesAreTakenWindowByWindow) {
  std::vector<uint32_t> counts;
  for (uint32_t i = 0; i < 70; ++i) counts.push_back(i * 37 % 300);
  expect_all_once(walk<Groups::masked>(counts, 300, 70 * 300, 130, 4), groups_of(counts, 300), 130);
}

TEST(PairedTiles, AnOddRowOfTilesCostsNoMoreThanItHas) {
  // Three rows of tiles and eight columns: twelve units of two tiles.
  EXPECT_EQ(longest(walk<Groups::masked>({384}, 512, 512, 8 * kWide, 4)), 3 * 2);
  // Half a row of tiles is half the work.
  EXPECT_EQ(longest(walk<Groups::masked>({320}, 512, 512, 8 * kWide, 2)), 5 * 2);
  EXPECT_EQ(longest(walk<Groups::masked>({40}, 512, 512, 8 * kWide, 2)), 2);
}

TEST(PairedTiles, ALastRoundForFewClustersIsSplit) {
  // Five units for four clusters, six for four, seven for four.
  EXPECT_EQ(longest(walk<Groups::masked>({256}, 512, 512, 5 * kWide, 4)), 3);
  EXPECT_EQ(longest(walk<Groups::masked>({256}, 512, 512, 6 * kWide, 4)), 3);
  EXPECT_EQ(longest(walk<Groups::masked>({256}, 512, 512, 7 * kWide, 4)), 4);
  EXPECT_EQ(longest(walk<Groups::none>({}, 0, 256, 5 * kWide, 4)), 3);
}

TEST(PairedRaster, NeighboursInABandHaveTheSameColumns) {
  // Bands are about equally tall: nine pairs of rows of tiles are not split into a band of eight and one of one.
  const PairedRaster<kTall> nine{18 * kTall, 4, 8};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(nine.at(i, 0, 0, -1).column, 0);
  EXPECT_EQ(nine.at(9, 0, 0, -1).column, 1);
  // The second band begins where the first one ended.
  const PairedRaster<kTall> two{32 * kTall, 4, 8};
  EXPECT_EQ(two.at(31, 0, 0, -1).column, 3);
  EXPECT_EQ(two.at(32, 0, 0, -1).column, 3);
  EXPECT_EQ(two.at(63, 0, 0, -1).column, 0);
  // A row of tiles without a partner comes with the last band: its columns are still in the L2.
  const PairedRaster<kTall> odd{9 * kTall, 8, 8};
  EXPECT_EQ(odd.count(), 4 * 8 + 4);
  const PairedTile last = odd.at(16, 1, 0, -1);
  EXPECT_TRUE(last.beside);
  EXPECT_EQ(last.row, 8 * kTall);
  EXPECT_EQ(last.column, 1);
}

}  // namespace
}  // namespace warpwright

// The walk over tables of grouped rows against a plain loop, and what it does with tables that are wrong.
#include "warpwright/tile/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "warpwright/sim/simulator.h"

namespace warpwright {
namespace {

using simulator::Buffer;
using tile::GroupTile;

struct Table {
  std::vector<uint32_t> offsets = {}, counts = {};
  std::vector<int32_t> matrices = {};
  int rows = 0, matrix_count = 0, slot_rows = 0;
  int depth = 0;  // of groups along k
  int groups() const { return int(offsets.empty() ? counts.size() : offsets.size() - 1); }
};

template <class Tile>
struct WalkOf {
  std::vector<Tile> tiles;
  uint32_t status = 0xdead;
  std::string finding;
};
using Walk = WalkOf<GroupTile>;

// One warp in each of `clusters` CTAs; the tiles of all of them in their order. `made` is the walk over a table.
template <class Tile = GroupTile, class Made>
WalkOf<Tile> walk_by(Table t, int clusters, const Made& made) {
  constexpr int kMost = 4096;
  WalkOf<Tile> w;
  std::vector<std::vector<Tile>> found{size_t(clusters)};
  GroupTable table{
      .groups = t.groups(), .rows = t.rows, .matrix_count = t.matrix_count, .slot_rows = t.slot_rows, .depth = t.depth};
  BlockPlan plan("walk", Arch::sm90);
  plan.role("walker", 1);
  simulator::Launch launch{&plan, {uint32_t(clusters), 1, 1}, 0, 0, {}};
  // The arrays are exactly as long as the table: an access past their end is a finding.
  const auto array = [&](auto& values, const char* name) {
    values.reserve(1);
    launch.buffers.push_back({values.data(), values.size() * 4, name, Buffer::Use::input, false});
    return values.data();
  };
  if (!t.offsets.empty()) table.offsets = array(t.offsets, "offsets");
  if (!t.counts.empty()) table.counts = array(t.counts, "counts");
  if (!t.matrices.empty()) table.matrices = array(t.matrices, "matrices");
  table.status = &w.status;
  launch.buffers.push_back({&w.status, 4, "status", Buffer::Use::output, false});
  const simulator::Result r = simulator::run(launch, {}, [&] {
    auto tiles = made(table);
    for (Tile tile; tiles.next(tile);) {
      auto& mine = found[machine::cluster_index()];
      if (machine::lane_index() == 31 && mine.size() < kMost) mine.push_back(tile);
    }
    tiles.report();
  });
  if (!r.ok()) w.finding = r.findings[0].text();
  for (size_t i = 0; i < kMost; ++i)
    for (const auto& each : found)
      if (i < each.size()) w.tiles.push_back(each[i]);
  return w;
}

Walk walk(const Table& t, int tile_rows, int tiles_n, int clusters = 1) {
  return walk_by(t, clusters,
                 [&](const GroupTable& table) { return tile::PersistentGroupTiles<>(table, tile_rows, tiles_n); });
}

std::vector<GroupTile> expected(const Table& t, int tile_rows, int tiles_n) {
  std::vector<GroupTile> all;
  int block = 0;
  for (int g = 0; g < t.groups(); ++g) {
    const int first = t.offsets.empty() ? g * t.slot_rows : int(t.offsets[size_t(g)]);
    const int end = t.offsets.empty() ? first + int(t.counts[size_t(g)]) : int(t.offsets[size_t(g) + 1]);
    const int matrix = t.matrices.empty() ? g : t.matrices[size_t(g)];
    const int height = (end - first + tile_rows - 1) / tile_rows;
    for (int i = 0; matrix >= 0 && i < height * tiles_n; ++i)
      all.push_back({g, matrix, first, end, i % height, i / height, block});
    block += ((t.offsets.empty() ? t.slot_rows : end - first) + 127) / 128;
  }
  return all;
}

void expect_walk(const Table& t, int tile_rows, int tiles_n) {
  for (int clusters : {1, 3}) {
    const Walk w = walk(t, tile_rows, tiles_n, clusters);
    EXPECT_EQ(w.finding, "");
    EXPECT_EQ(w.status, 0u);
    EXPECT_TRUE(w.tiles == expected(t, tile_rows, tiles_n)) << clusters << " clusters";
  }
}

Table of_counts(const std::vector<int>& tokens, const std::vector<int32_t>& matrices = {}) {
  Table t;
  t.offsets = {0};
  for (int n : tokens) t.offsets.push_back(t.offsets.back() + uint32_t(n));
  t.matrices = matrices;
  t.rows = int(t.offsets.back());
  t.matrix_count = 300;
  return t;
}

TEST(Groups, EveryTileOfEveryGroupOnceInOrder) {
  expect_walk(of_counts({1, 2, 3, 4}), 8, 3);
  expect_walk(of_counts({127, 128, 64, 256}), 128, 2);
  expect_walk(of_counts({4, 256, 1, 200}), 64, 5);
  expect_walk(of_counts({65, 1027, 386}), 128, 4);
}

TEST(Groups, NoRowsNoMatrixNoGroups) {
  expect_walk(of_counts({0, 5, 0, 0, 7, 0}), 8, 2);
  expect_walk(of_counts({3, 5, 9}, {2, -1, 0}), 8, 2);
  expect_walk(of_counts({3, 5, 9}, {-1, -1, -1}), 8, 2);
  expect_walk(of_counts({0, 0}), 8, 2);
  expect_walk(of_counts({}), 8, 2);
  expect_walk(of_counts({9}), 8, 0);
}

TEST(Groups, MoreGroupsThanLanes) {
  std::mt19937 random(1);
  for (int groups : {31, 32, 33, 49, 64, 65, 256}) {
    std::vector<int> tokens;
    std::vector<int32_t> matrices;
    for (int i = 0; i < groups; ++i) {
      tokens.push_back(random() % 3 == 0 ? 0 : int(random() % 90));
      matrices.push_back(random() % 5 == 0 ? -1 : int32_t(random() % 300));
    }
    expect_walk(of_counts(tokens, matrices), 32, 2);
    Table masked{.counts = {}, .matrices = matrices, .rows = groups * 96, .matrix_count = 300, .slot_rows = 96};
    for (int n : tokens) masked.counts.push_back(uint32_t(n));
    expect_walk(masked, 32, 2);
  }
}

// Whatever is in the table, all rows are inside, no row is in two groups, and every matrix exists.
void expect_safe(const Table& t, uint32_t faults, const Walk& w) {
  EXPECT_EQ(w.finding, "");
  EXPECT_EQ(w.status, faults);
  std::vector<int> owner(size_t(t.rows), -1);
  for (const GroupTile& tile : w.tiles) {
    EXPECT_GE(tile.matrix, 0);
    EXPECT_LT(tile.matrix, t.matrix_count);
    EXPECT_GE(tile.first_row, 0);
    EXPECT_LE(tile.end_row, t.rows);
    for (int r = tile.first_row; r < tile.end_row; ++r) {
      EXPECT_TRUE(owner[size_t(r)] == -1 || owner[size_t(r)] == tile.group);
      owner[size_t(r)] = tile.group;
    }
  }
}

TEST(Groups, AWrongTableGivesAStatusAndNothingOutOfRange) {
  Table t = of_counts({10, 20, 30, 40});
  t.offsets = {0, 30, 10, 60, 100};
  expect_safe(t, kOffsetsDecrease, walk(t, 8, 2));
  t.offsets = {0, 10, 4'000'000'000u, 60, 100};
  expect_safe(t, kRowsOutOfRange | kOffsetsDecrease, walk(t, 8, 2));
  t.offsets = {0, 10, 30, 60, 101};
  expect_safe(t, kRowsOutOfRange, walk(t, 8, 2));
  t.offsets = {0xffff'ffffu, 10, 30, 60, 100};
  expect_safe(t, kRowsOutOfRange | kOffsetsDecrease, walk(t, 8, 2));
  t.offsets = {0, 10, 30, 60, 100};
  t.matrices = {0, 300, 2, 2'000'000'000};
  const Walk w = walk(t, 8, 2);
  expect_safe(t, kMatrixOutOfRange, w);
  EXPECT_EQ(w.tiles.size(), size_t((2 + 4) * 2)) << "the other groups are done";
  Table masked{.counts = {5, 97, 0xffff'ffffu}, .matrices = {}, .rows = 250, .matrix_count = 3, .slot_rows = 96};
  expect_safe(masked, kRowsOutOfRange, walk(masked, 8, 2));
}

// Groups along k: every tile of every group once, even those without depth, by a plain loop over what the table says
// after wrong values were cut.
template <int Unit>
void expect_along_k(const std::vector<uint32_t>& offsets, int depth, uint32_t faults) {
  const Table t{.offsets = offsets, .rows = 20, .matrix_count = 1, .depth = depth};
  constexpr int tile_rows = 8, tiles_n = 2, height = 3;
  std::vector<GroupTile> all;
  const auto cut = [&](uint32_t offset) { return int(std::min<int64_t>(offset, depth)) / Unit * Unit; };
  int end = cut(offsets[0]);
  for (int g = 0; g < t.groups(); ++g) {
    const int first = end;
    end = std::max(end, cut(offsets[size_t(g) + 1]));
    for (int i = 0; i < height * tiles_n; ++i)
      all.push_back({g, 0, 0, t.rows, i % height, i / height, 0, end - first, first});
  }
  for (int clusters : {1, 3}) {
    const Walk w = walk_by(t, clusters, [&](const GroupTable& table) {
      return tile::PersistentGroupTiles<Groups::by_depth, Unit>(table, tile_rows, tiles_n);
    });
    EXPECT_EQ(w.finding, "");
    EXPECT_EQ(w.status, faults);
    EXPECT_TRUE(w.tiles == all) << clusters << " clusters";
  }
}
TEST(Groups, AlongK) {
  expect_along_k<1>({0, 3, 3, 90, 100}, 100, 0);
  expect_along_k<1>({5, 3, 3, 90, 100}, 100, kOffsetsDecrease);
  expect_along_k<1>({0, 3, 4'000'000'000u, 90, 101}, 100, kOffsetsDecrease | kRowsOutOfRange);
  expect_along_k<1>({200, 3}, 100, kOffsetsDecrease | kRowsOutOfRange);
  expect_along_k<128>({0, 128, 128, 640}, 640, 0);
  expect_along_k<128>({5, 128, 300, 640}, 640, kDepthUnaligned);
  expect_along_k<128>({128, 300, 256, 700}, 640, kDepthUnaligned | kRowsOutOfRange);
  std::mt19937 random(5);
  for (int groups : {31, 32, 33, 70}) {
    std::vector<uint32_t> offsets = {0};
    for (int g = 0; g < groups; ++g)
      offsets.push_back(offsets.back() + uint32_t(random() % 3 == 0 ? 0 : random() % 40));
    expect_along_k<1>(offsets, int(offsets.back()), 0);
  }
}

// Where depth is shared, the parts of a tile are neighbours and cover its depth in order, and no two parts of a launch
// have the same place in the workspace.
TEST(Groups, SharedDepth) {
  const Table t = of_counts({3, 0, 40, 9, 17}, {2, 0, 1, -1, 2});
  for (int splits : {1, 2, 3, 9}) {
    const int depth = 5, parts = std::min(splits, depth);
    const std::vector<GroupTile> tiles = expected(t, 8, 2);
    for (int clusters : {1, 3, 4}) {
      const auto w = walk_by<tile::GroupJob>(t, clusters, [&](const GroupTable& table) {
        return tile::SplitGroupTiles(table, 8, 2, tile::SplitK{0, depth, splits, 1});
      });
      EXPECT_EQ(w.finding, "");
      ASSERT_EQ(w.tiles.size(), tiles.size() * size_t(parts));
      std::vector<int> used(tiles.size() * size_t(std::max(1, parts - 1)), 0);
      int reached = 0;
      for (size_t i = 0; i < w.tiles.size(); ++i) {
        const tile::GroupJob& job = w.tiles[i];
        EXPECT_TRUE(static_cast<const GroupTile&>(job) == tiles[i / size_t(parts)]);
        EXPECT_EQ(job.share.index, int(i) / parts);
        EXPECT_EQ(job.share.part, int(i) % parts);
        EXPECT_EQ(job.share.parts, parts);
        EXPECT_EQ(job.share.k.first, job.share.part == 0 ? 0 : reached);
        EXPECT_GT(job.share.k.count, 0);
        reached = job.share.k.end();
        if (job.share.last()) {
          EXPECT_EQ(reached, depth);
        } else {
          EXPECT_EQ(used[size_t(job.share.slot + job.share.part)]++, 0);
        }
      }
    }
  }
}

TEST(Groups, RandomTablesAreSafe) {
  std::mt19937 random(7);
  for (int i = 0; i < 40; ++i) {
    Table t;
    t.rows = 200;
    t.matrix_count = 5;
    const int groups = 1 + int(random() % 70);
    for (int g = 0; g <= groups; ++g) t.offsets.push_back(random() % 4 == 0 ? random() : random() % 200);
    for (int g = 0; g < groups; ++g) t.matrices.push_back(int32_t(random() % 16) - 4);
    const Walk w = walk(t, 16, 1);
    expect_safe(t, w.status, w);
  }
}

}  // namespace
}  // namespace warpwright

// The order in which the grouped Hopper kernels take their tiles, against a plain loop over the table, and what they do
// with tables that are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "warpwright/sim/simulator.h"
#include "warpwright/tile/grouped_raster.h"

namespace warpwright {
namespace {

using simulator::Buffer;

constexpr int kWindow = 32;  // groups that are arranged together

struct Table {
  Groups groups = Groups::masked;
  std::vector<uint32_t> rows = {};  // counts, or offsets
  std::vector<int32_t> matrices = {};
  int slot_rows = 0;
  int there_are = 0;  // rows, or columns for groups along k
  int matrix_count = 0;
  int count() const { return int(rows.size()) - (groups == Groups::masked ? 0 : 1); }
};

// A tile: its matrix, its group's rows and place in D, and where in the group it is.
struct Seen {
  int matrix, first, count, first_k, depth, out, m, n;
  bool operator==(const Seen&) const = default;
};
struct Walk {
  std::vector<Seen> tiles;
  uint32_t status = 0xdead;
  std::string finding;
};

constexpr int kColumns = 5, kWide = 2, kBand = 2, kRowsAlongK = 150;

// One warp in each of `clusters` CTAs; the tiles of all of them in their order.
template <Groups G, int Tall, bool AnyRows = false, int DepthUnit = 1>
Walk walk(Table t, int clusters) {
  Walk w;
  std::vector<std::vector<Seen>> found{size_t(clusters)};
  GroupTable table{.groups = t.count(), .rows = t.there_are, .matrix_count = t.matrix_count, .slot_rows = t.slot_rows};
  if (G == Groups::by_depth) {
    table.depth = t.there_are;
    table.rows = kRowsAlongK;
  }
  BlockPlan plan("walk", Arch::sm90);
  plan.role("walker", 1);
  simulator::Launch launch{&plan, {uint32_t(clusters), 1, 1}, 0, 0, {}};
  // The arrays are exactly as long as the table: an access past their end is a finding.
  const auto array = [&](auto& values, const char* name) {
    values.reserve(1);
    launch.buffers.push_back({values.data(), values.size() * 4, name, Buffer::Use::input, false});
    return values.data();
  };
  (t.groups == Groups::masked ? table.counts : table.offsets) = array(t.rows, "rows");
  if (!t.matrices.empty()) table.matrices = array(t.matrices, "matrices");
  table.status = &w.status;
  launch.buffers.push_back({&w.status, 4, "status", Buffer::Use::output, false});
  const simulator::Result r = simulator::run(launch, {}, [&] {
    tile::GroupedTiles<G, Tall, AnyRows, DepthUnit> tiles(table, kColumns, kWide, kBand);
    for (tile::GroupedTile at; tiles.next(at);) {
      const tile::GroupRows& g = at.rows;
      if (machine::lane_index() != 31) continue;
      found[machine::cluster_index()].push_back({g.matrix, g.first, g.count, g.first_k, g.depth, g.out, at.m, at.n});
    }
    tiles.report();
  });
  if (!r.ok()) w.finding = r.findings[0].text();
  for (size_t i = 0; std::any_of(found.begin(), found.end(), [&](const auto& each) { return i < each.size(); }); ++i) {
    for (const auto& each : found) {
      if (i < each.size()) w.tiles.push_back(each[i]);
    }
  }
  return w;
}

// What the table means, group by group, and the faults in it.
template <Groups G, int Tall, int DepthUnit>
std::tuple<std::vector<Seen>, uint32_t> expected(const Table& t) {
  uint32_t faults = 0;
  const auto at_most = [&](uint32_t value, int most) {
    if (value > uint32_t(most)) faults |= kRowsOutOfRange;
    return int(std::min<uint32_t>(value, uint32_t(most)));
  };
  const auto offset = [&](size_t i) {
    const int value = at_most(t.rows[i], t.there_are);
    if (G != Groups::by_depth) return value;
    if (value % DepthUnit != 0) faults |= kDepthUnaligned;
    return value / DepthUnit * DepthUnit;
  };
  std::vector<Seen> groups;
  int reached = t.groups == Groups::masked ? 0 : offset(0);
  for (int g = 0; g < t.count(); ++g) {
    Seen s{g, 0, 0, 0, 0, 0, 0, 0};
    if (t.groups == Groups::masked) {
      s.first = g * t.slot_rows;
      s.count = at_most(t.rows[size_t(g)], t.slot_rows);
    } else {
      const int end = offset(size_t(g) + 1);
      if (end < reached) faults |= kOffsetsDecrease;
      (G == Groups::by_depth ? s.first_k : s.first) = reached;
      (G == Groups::by_depth ? s.depth : s.count) = std::max(end - reached, 0);
      reached = std::max(reached, end);
    }
    if (G == Groups::by_depth) {
      s.matrix = 0;
      s.count = kRowsAlongK;
      s.out = g * kRowsAlongK;
    } else {
      if (!t.matrices.empty()) s.matrix = t.matrices[size_t(g)];
      if (s.matrix >= t.matrix_count) faults |= kMatrixOutOfRange;
      if (s.matrix < 0 || s.matrix >= t.matrix_count) s.count = 0;
    }
    groups.push_back(s);
  }
  if (G != Groups::by_depth && Tall > 64) {
    const auto blocks = [](const Seen& s) { return s.count > Tall ? Tall / 64 : (s.count + 63) / 64; };
    std::vector<Seen> arranged;
    for (size_t i = 0; i < groups.size(); i += kWindow) {
      for (int kind = Tall / 64; kind >= 0; --kind) {
        for (size_t g = i; g < std::min(i + kWindow, groups.size()); ++g) {
          if (blocks(groups[g]) == kind) arranged.push_back(groups[g]);
        }
      }
    }
    groups = arranged;
  }
  std::vector<Seen> all;
  for (const Seen& g : groups) {
    const tile::GroupedSerpentine raster{tile::ceil_div(g.count, Tall), tile::ceil_div(kColumns, kWide), kBand};
    for (int i = 0; i < raster.count(); ++i) {
      all.push_back(g);
      all.back().m = raster.at(i).m;
      all.back().n = raster.at(i).n;
    }
  }
  return {all, faults};
}

template <Groups G, int Tall, bool AnyRows = false, int DepthUnit = 1>
void expect_walk(const Table& t) {
  const auto [tiles, faults] = expected<G, Tall, DepthUnit>(t);
  for (int clusters : {1, 3}) {
    const Walk w = walk<G, Tall, AnyRows, DepthUnit>(t, clusters);
    EXPECT_EQ(w.finding, "");
    EXPECT_EQ(w.status, faults);
    EXPECT_TRUE(w.tiles == tiles) << clusters << " clusters, " << t.count() << " groups, tiles of " << Tall << " rows";
  }
}

Table masked(std::vector<uint32_t> counts, int slot_rows, std::vector<int32_t> matrices = {}) {
  const int groups = int(counts.size());
  return {Groups::masked, std::move(counts), std::move(matrices), slot_rows, groups * slot_rows, 300};
}
Table contiguous(std::vector<uint32_t> offsets, int rows, std::vector<int32_t> matrices = {}) {
  return {Groups::contiguous, std::move(offsets), std::move(matrices), 0, rows, 300};
}

TEST(GroupedTiles, GroupsOfOneTileComeInTheOrderOfFallingCost) {
  const Table t = masked({10, 250, 130, 0, 400, 64, 65, 256, 192}, 400);
  const std::vector<Seen> tiles = walk<Groups::masked, 256>(t, 1).tiles;
  std::vector<int> order;
  for (const Seen& s : tiles) {
    if (order.empty() || order.back() != s.matrix) order.push_back(s.matrix);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 4, 7, 2, 8, 6, 0, 5}));
  expect_walk<Groups::masked, 256>(t);
  expect_walk<Groups::masked, 128>(t);
  expect_walk<Groups::masked, 64>(t);
}

TEST(GroupedTiles, NoRowsNoMatrixNoGroups) {
  expect_walk<Groups::contiguous, 128>(contiguous({0, 0, 50, 50, 300, 300}, 310));
  expect_walk<Groups::contiguous, 128>(contiguous({3, 30, 90, 100}, 100, {2, -1, 0}));
  expect_walk<Groups::contiguous, 64>(contiguous({5, 5}, 10));
  expect_walk<Groups::contiguous, 64>(contiguous({7}, 10));
  expect_walk<Groups::masked, 128>(masked({0, 0}, 40));
  expect_walk<Groups::masked, 128>(masked({}, 40));
}

TEST(GroupedTiles, MoreGroupsThanLanes) {
  std::mt19937 random(1);
  for (int groups : {31, 32, 33, 65, 100}) {
    std::vector<uint32_t> counts, offsets = {0}, depths = {0};
    std::vector<int32_t> matrices;
    for (int i = 0; i < groups; ++i) {
      counts.push_back(random() % 4 == 0 ? 0 : random() % 500);
      offsets.push_back(offsets.back() + counts.back());
      depths.push_back(depths.back() + random() % 3 * 16);
      matrices.push_back(random() % 5 == 0 ? -1 : int32_t(random() % 300));
    }
    const int rows = int(offsets.back());
    expect_walk<Groups::masked, 256>(masked(counts, 500, matrices));
    expect_walk<Groups::contiguous, 256>(contiguous(offsets, rows, matrices));
    expect_walk<Groups::contiguous, 128, true>(contiguous(offsets, rows, matrices));
    expect_walk<Groups::contiguous, 128, true>(masked(counts, 500));
    expect_walk<Groups::by_depth, 64, false, 16>({Groups::by_depth, depths, {}, 0, int(depths.back()), 1});
  }
}

TEST(GroupedTiles, WrongTablesAreCutWhereverTheyAreWrong) {
  expect_walk<Groups::contiguous, 128>(contiguous({2, 50, 30, 1000, 20}, 90));
  expect_walk<Groups::contiguous, 64>(contiguous({200, 50, 30}, 90));
  expect_walk<Groups::masked, 128>(masked({~0u, 1u << 30, 20}, 70, {1, 300, 2}));
  expect_walk<Groups::by_depth, 128, false, 16>({Groups::by_depth, {5, 300, 160, 4000, 100}, {}, 0, 640, 1});
  // In the second window, and across the boundary between the two.
  std::vector<uint32_t> offsets, counts;
  for (uint32_t i = 0; i <= 40; ++i) offsets.push_back(i * 10);
  for (uint32_t i = 0; i < 40; ++i) counts.push_back(i);
  for (size_t wrong : {31u, 32u, 33u, 40u}) {
    std::vector<uint32_t> low = offsets, high = offsets, many = counts;
    low[wrong] = 100;
    high[wrong] = 7000;
    many[wrong - 1] = 7000;
    expect_walk<Groups::contiguous, 128>(contiguous(low, 400));
    expect_walk<Groups::contiguous, 128>(contiguous(high, 400));
    expect_walk<Groups::masked, 128>(masked(many, 64));
    expect_walk<Groups::by_depth, 128, false, 10>({Groups::by_depth, low, {}, 0, 400, 1});
  }
}

}  // namespace
}  // namespace warpwright

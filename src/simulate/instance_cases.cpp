#include "simulate/instance_cases.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "reference/group_tables.h"
#include "simulate/coverage.h"
#include "simulate/instance_problem.h"
#include "simulate/prepared.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Condition;

int64_t in_units(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

// How many tiles of a CTA fill each of `stages` stages kPhases times, if one tile fills `each` of them.
int64_t tiles_for(int64_t stages, int64_t each) {
  return std::max<int64_t>(2, in_units(kPhases * stages, each) / each);
}

// A tile of a cluster and what it passes through.
struct Walk {
  int64_t tall, wide, deep;  // deep: the elements of a stage along k
  int64_t stages;            // stages of the input ring
  int64_t tiles;             // how many tiles a cluster needs to turn every other ring
  int64_t clusters;          // clusters that share the work
  int64_t parts = 1;         // parts of the depth
  bool streams = false;
  bool skips = false;    // a warpgroup leaves every other tile to its neighbour
  int64_t columns = 16;  // D ends this many columns before a tile does,
  int64_t rows = 3;      // and this many rows
};

// Steps along k for a tile that runs past the end of the ring, enough for that many tiles of a cluster to fill each
// stage kPhases times.
int64_t deep_steps(int64_t stages, int64_t tiles) {
  return std::max(stages, (kPhases * stages + tiles - 1) / tiles) + 1;
}

// Two rows and two columns of tiles, or more if there are more clusters, deep enough for the ring; where shares of k
// cross the ends of tiles, a number of tiles that is no multiple of the clusters.
Case deep_case(const Walk& w) {
  if (w.streams) return {w.tall * (w.clusters + 1), w.wide, w.deep * (2 * w.stages + 1)};
  const int64_t columns = w.parts > 1 ? 2 : std::max<int64_t>(2, w.clusters);
  // A role that skips a tile goes past the end of the ring more than once.
  const int64_t steps =
      std::max(deep_steps(w.stages, 2 * columns * w.parts / w.clusters), w.skips ? 2 * w.stages + 1 : 0);
  return {2 * w.tall, w.wide * columns, w.parts * w.deep * steps};
}
// Many tiles of little depth, with edges inside the last ones; where shares of k cross the ends of tiles, one more than
// every cluster has as many of.
Case many_case(const Walk& w, int64_t k_tail) {
  const int64_t n = w.wide > w.columns ? w.wide - w.columns : w.wide;
  return {w.tall * (w.tiles * w.clusters + (w.streams ? 1 : 0)) - w.rows, n, w.parts * w.deep + k_tail};
}

// Shares of k that end where tiles end: one stage of each, and a tile more than there are clusters.
Case shallow_case(const Walk& w) { return {w.tall * (w.clusters + 1), w.wide, w.deep}; }

// The same under every condition that the instance may meet; an early start has a ring to fill ahead of the end.
void add_conditions(std::vector<Case>& list, Case small, Case deep) {
  for (const Condition c : {Condition::behind, Condition::constant, Condition::in_place, Condition::again,
                            Condition::varied, Condition::real})
    list.push_back({small.m, small.n, small.k, c});
  list.push_back({deep.m, deep.n, deep.k, Condition::constant});
  // Without depth nothing is loaded, but D is still written.
  const auto flat = std::find_if(list.begin(), list.end(), [](const Case& c) { return c.k == 0; });
  if (flat != list.end()) list.push_back({flat->m, flat->n, 0, Condition::behind});
}

// The TMA stores whole units of 16 bytes, and pairs come in units of their own.
template <class C>
int64_t columns_unit(const C& c) {
  return std::max<int64_t>(kPairedRows, 128 / bits(c.out_type()) * c.operands());
}

std::vector<Case> cases(const catalog::Instance& instance, const DenseGemmConfig& c) {
  const bool pingpong = c.sharing == TileSharing::ping_pong;
  const int64_t outputs = c.group_blocks() * (in_units(c.results_n(), c.output_stage_n()) / c.output_stage_n());
  const bool any_columns = c.store == Mover::threads && !c.epilogue.pair();
  const int64_t unit = columns_unit(c);
  const int64_t tiles = c.store == Mover::tma ? tiles_for(c.output_stages, outputs) : 2;
  const Walk w{.tall = c.tile_m * c.cluster_m(),
               .wide = c.tile_n * c.cluster_n(),
               .deep = c.tile_k(),
               .stages = std::max(c.stages, c.raw_slots()),
               .tiles = pingpong ? std::max<int64_t>(8, 2 * tiles) : tiles,
               .clusters = few_clusters(instance),
               .parts = c.split == DepthSplit::split_k ? 3 : 1,
               .streams = c.split == DepthSplit::stream_k,
               .skips = pingpong,
               .columns = any_columns ? 13 : unit};
  std::vector<Case> list = {deep_case(w), many_case(w, 11)};
  list.push_back(any_columns ? Case{133, 77, 75} : Case{133, in_units(80, unit), 75});
  list.push_back(any_columns ? Case{9, 9, 0} : Case{9, unit, 0});
  if (w.streams) list.push_back(shallow_case(w));
  // One row of tiles more than a band of the raster, and two columns, or the other way round, without depth: where they
  // are is all that matters. Where shares of k cross the ends of tiles, an odd number of tiles.
  if (!c.batched) {
    const int64_t along = c.raster_by_columns ? 1 : c.raster_group, across = c.raster_by_columns ? c.raster_group : 1;
    list.push_back({w.tall * along + 9, w.wide * (w.streams ? 0 : across) + (any_columns ? 9 : unit), 0});
  }
  // Rows that end in the vector in which they begin.
  if (c.load == Mover::threads) list.push_back({9, any_columns ? 9 : unit, 3});
  return list;
}

// With two clusters: one has a second tile, as it must, and the other one has none.
constexpr int64_t kSkinnyTiles = 3;

std::vector<Case> cases(const catalog::Instance& instance, const SkinnyGemmConfig& c) {
  const int64_t unit = c.operands() == 1 ? 128 / bits(c.out_type()) : columns_unit(c);
  const int64_t clusters = few_clusters(instance);
  const int64_t tiles = tiles_for(c.output_stages, 1);
  return {{c.tokens, kSkinnyTiles * c.rows, int64_t(c.tile_k()) * c.split * deep_steps(c.stages, 2)},
          {std::max(1, c.tokens - 3), in_units(tiles * clusters * c.rows - 40, unit), c.tile_k() * c.split + 11},
          {1, unit, 8},
          {std::min(3, c.tokens), 64, 0}};
}

std::vector<Case> cases(const catalog::Instance& instance, const GroupedGemmConfig& c) {
  // Factors of four blocks come at once where all their lines begin at a multiple of 16 bytes.
  const auto deep = [&](int64_t steps) {
    return in_units(int64_t(c.tile_k()) * steps, c.scaled() ? 4 * kScaleBlock : 1);
  };
  const int64_t clusters = few_clusters(instance);
  const int64_t wide = c.tile_n * c.cluster_n();
  // Pairs of CTAs take the last rows of tiles four columns at a time: here with three columns, and with five.
  const int64_t halves = c.operands();
  const bool whole_blocks = c.scaled() || c.out == DType::e4m3;  // for the columns of gates and ups
  const int64_t n = c.swiglu && whole_blocks ? 512
                    : c.out == DType::e4m3   ? 256
                    : c.paired()             ? 2 * wide + 8 * halves
                                             : wide + 8 * halves;
  // The second column of tiles has only a few columns in `n`, and nearly all of them in `broad`.
  const int64_t broad = c.paired() ? 4 * wide + 8 * halves : n == wide + 8 * halves ? 2 * wide - 8 * halves : n;
  const int64_t small = c.swiglu ? 256 : c.out == DType::e4m3 ? 128 : 8;
  // Where k is contiguous, the depth is in whole units of 16 bytes; otherwise the rows are.
  const int64_t moved = 128 / bits(c.type);
  const bool along_k = c.a_major == Major::K;
  const int64_t unit = c.by_depth() && c.scaled() ? kScaleBlock : along_k ? moved : 1;
  if (c.by_depth()) {
    const int64_t blocks = c.scaled() ? 4 * kScaleBlock : unit;
    const int64_t rows = along_k ? 140 : 144;
    const int64_t twice = deep(2 * c.stages + 1);
    return {{rows, n, in_units(5 * twice / 2, blocks)},
            {rows, n, in_units(twice, blocks) + unit},
            {along_k ? 4 : moved, small, unit},
            {40, small, 0}};
  }
  // Whole rows of tiles and some more rows in each of four groups, one of which has none.
  const int64_t tall = c.tile_m * c.cluster_m(), tiles = tiles_for(c.output_stages, c.outputs());
  // Several columns of tiles need fewer rows of them, except for groups with room, which use some of theirs, and pairs.
  const int64_t columns = in_units(n, wide) / wide;
  const bool few = !c.paired() && c.groups != Groups::masked;
  const int64_t many = few ? in_units(tiles * clusters, columns) / columns : tiles * clusters;
  // With 208 rows more, for pairs, groups end in odd and in half rows of tiles, and the last round is halved.
  std::vector<Case> list = {
      {in_units(2 * tall + (c.paired() ? 208 : 104), 8), n, deep(deep_steps(c.stages, columns > 1 ? 3 : 2))},
      {in_units(tall * many + 104, reference::tables::kManyGroups), broad, in_units(c.tile_k() + unit, unit)},
      {8, small, unit},
      {64, small * 3, 0}};
  // More rows of tiles of one group than a band of the raster, in pairs an odd number of columns, without depth: where
  // they are is all that matters.
  const int64_t rows = c.paired() ? tall * (c.raster_group * 3 / 2) + 100 : tall * c.raster_group + 9;
  const bool masked = c.groups == Groups::masked;
  list.push_back(
      {(masked ? int64_t(reference::tables::kGroups) : 1) * rows, c.paired() || masked ? small : wide + small, 0});
  // Consecutive tiles with a depth of a single stage.
  list.push_back({8, in_units(clusters * wide + 1, small), c.tile_k()});
  if (c.gathered) list.push_back({64, small, in_units(c.tile_k() + unit, unit), Condition::far});
  // Factors in whole fours that do not begin at multiples of 16 bytes.
  if (c.scaled()) list.push_back({8, small, 4 * kScaleBlock, Condition::real});
  // Results that are deferred leave during the stages of the next tile: here there are not quite enough of them.
  if (c.defers() && c.outputs() > 2) list.push_back({tall * 4, wide, int64_t(c.tile_k()) * (c.outputs() - 1)});
  return list;
}

std::vector<Case> cases(const catalog::Instance& instance, const SkinnyBlockwiseConfig& c) {
  const int64_t deep = int64_t(c.skinny().tile_k()) * c.split, clusters = few_clusters(instance);
  const int64_t least = c.tokens > 64 ? 65 : 1, tiles = tiles_for(c.output_stages, 1);
  return {{c.tokens, kSkinnyTiles * c.rows, in_units(deep * deep_steps(c.stages, 2), 4 * kScaleBlock)},
          {std::max<int64_t>(least, c.tokens - 3), tiles * clusters * c.rows - 40, deep + 16},
          {least, 8, 16},
          {least, 64, 0},
          {c.tokens, 8, 4 * kScaleBlock, Condition::real}};
}

// Unit along k, in elements, of a row of operands.
int64_t depth_unit(BlockScaling scaling, DType type) { return scaling == BlockScaling::w4a8 ? 128 : 128 / bits(type); }

std::vector<Case> cases(const catalog::Instance& instance, const DenseGemmSm100Config& c) {
  const int64_t tall = c.tile_m * c.cluster_m, wide = c.tile_n * c.cluster_n;
  const int64_t unit = depth_unit(c.scaling, c.type);
  const Walk w{.tall = c.swap_ab ? wide : tall,
               .wide = c.swap_ab ? tall : wide,
               .deep = int64_t(c.tile_k()) * c.k_group,
               .stages = c.stages,
               .tiles = tiles_for(std::max({c.accumulators, c.store_stages, c.epilogue_load_stages}), 1),
               .clusters = few_clusters(instance),
               .parts = c.split == DepthSplit::split_k ? 3 : 1,
               .streams = c.split == DepthSplit::stream_k,
               .columns = 32};
  std::vector<Case> list = {deep_case(w),   many_case(w, unit),  {9, 17, unit},
                            {10, 17, unit}, {8, 32, c.tile_k()}, {64, 64, 0}};
  // A curve over three by three tiles; a tile that all clusters share.
  if (c.raster == TileOrder::hilbert) list[1] = {3 * w.tall - w.rows, 3 * w.wide - w.columns, w.parts * w.deep + unit};
  if (w.streams) list[4].k = w.clusters * w.deep;
  // A second band of fewer rows of tiles, without depth: where they are is all that matters.
  if (c.cluster() <= 2 && !c.batched) list.push_back({c.raster_group * w.tall + 1, w.wide + w.columns, 0});
  if (w.streams) list.push_back(shallow_case(w));
  return list;
}

std::vector<Case> cases(const catalog::Instance& instance, const BlockwiseFp8Sm100Config& c) {
  const Walk w{.tall = 128 * c.cta_group,
               .wide = c.tile_n,
               .deep = c.block,
               .stages = c.stages,
               .tiles = tiles_for(std::max({c.accumulators, c.store_stages, c.epilogue_load_stages}), 1),
               .clusters = few_clusters(instance),
               .parts = c.split == DepthSplit::split_k ? 3 : 1,
               .rows = 4};
  if (c.by_depth) {
    const int64_t deep = w.deep * (2 * w.stages + 1);
    return {{w.tall + 12, w.wide + 8, 5 * deep / 2 / w.deep * w.deep},
            {w.tall + 13, w.wide + 8, deep + w.deep},
            {4, 8, w.deep},
            {40, 8, 0}};
  }
  // Gates and ups have whole blocks of scales.
  if (c.epilogue.pair()) {
    return {{3 * w.tall + 16, 2 * w.wide, w.deep * (2 * w.stages + 1)},
            {w.tall * w.tiles * w.clusters, w.wide, w.deep + 16},
            {9, 2 * w.wide, w.deep},
            {9, 256, 16},
            {64, 256, 0},
            {9, 256, 16, Condition::far}};
  }
  return {deep_case(w), many_case(w, 16), {4, 16, 16}, {9, 17, 16}, {64, 64, 0}, {9, 64, 16, Condition::far}};
}

std::vector<Case> cases(const catalog::Instance& instance, const GroupedGemmSm100Config& c) {
  const DenseGemmSm100Config dense = c.dense();
  const int64_t unit = depth_unit(c.scaling, c.type), clusters = few_clusters(instance);
  const int64_t tiles = tiles_for(std::max(c.accumulators, c.slots()), 1) * clusters;
  if (c.by_depth) {
    const int64_t deep = int64_t(dense.tile_k()) * (2 * c.stages + 1);
    const bool along_k = c.a_major == Major::K;
    return {{140 + (along_k ? 0 : 4), c.tile_n + 8, in_units(5 * deep / 2, unit)},
            {along_k ? 140 : 144, c.tile_n + 8, in_units(deep, unit) + (along_k ? unit : 3)},
            {along_k ? 4 : 8, 8, along_k ? unit : 1},
            {40, 8, 0}};
  }
  return {{3 * c.tile_tokens() + 16, c.tile_columns() + 64, int64_t(dense.tile_k()) * (2 * c.stages + 1)},
          {c.tile_tokens() * tiles, c.tile_columns(), dense.tile_k() + unit},
          {9, 64, dense.tile_k()},
          {9, 8, unit},
          {64, 64, 0},
          {9, 64, unit, Condition::far}};
}

// Slots of the ring, for a kernel that has one.
int64_t slots_of(const catalog::Instance& instance) {
  const BlockPlan plan = catalog::block_plan(instance);
  int64_t most = 1;
  for (int i = 0; i < plan.region_count; ++i) most = std::max<int64_t>(most, plan.regions[i].stages);
  return most;
}

// Rows of an even number of elements, for copies of words. Every part of the depth is longer than the ring, so that the
// loop runs, and what is read last lies in the slot that the next tile fills first; the last part ends in a tile.
std::vector<Case> cases(const catalog::Instance& instance, const MmaSyncGemmConfig& c) {
  const int64_t slots = slots_of(instance);
  const int64_t tiles = c.split == DepthSplit::split_k ? 3 * (slots + 1) : 2 * slots + 1;
  std::vector<Case> list = {{2 * c.tile_m, 2 * c.tile_n, (tiles - 1) * c.tile_k() + 4},
                            {c.tile_m + 1, c.tile_n + 4, 3 * c.tile_k() + 4},
                            {3, 5, 1},
                            {3, 8, 0}};
  // So deep that the integer sums of two parts do not fit in a float.
  if (c.type == DType::s8 && c.split == DepthSplit::split_k) list.push_back({3, 5, reference::kLargeSums + 1});
  return list;
}

std::vector<Case> cases(const catalog::Instance&, const CdnaMatmulConfig& c) {
  if (c.general) {
    const int64_t unit = c.by_elements ? 1 : 128 / bits(c.type), deep = 12 * c.tile_k();
    const int64_t parts = c.split == DepthSplit::split_k ? 3 : 1;
    // Several tiles along m and n, with a bias per column and with one per row.
    std::vector<Case> list = {
        {2 * c.tile_m(), 2 * c.tile_n(), deep + 5 * unit},
        {in_units(c.tile_m() + 20, kNodeLists) + 1, c.tile_n() + 2, parts * c.tile_k() + 3 * unit}};
    // Each list of nodes, with rows of D that are stored in groups of four elements, and with others.
    for (int64_t i = 0; i < kNodeLists; ++i) {
      list.push_back({6 * kNodeLists + i, 40, c.tile_k() + unit});
      list.push_back({7 * kNodeLists + i, 37, unit});
    }
    // Rows of D at whole words, after a first one that begins inside a word.
    list.push_back({8 * kNodeLists - 1, 40, unit, Condition::real});
    // One row; rows of D that begin anywhere, in groups of four elements.
    list.push_back({1, 9, unit});
    list.push_back({8 * kNodeLists, 44, unit});
    list.push_back({33, 7, 0});
    return list;
  }
  return {{2 * c.tile_m(), 2 * c.tile_n(), 512},
          {c.tile_m(), c.tile_n(), 1024 / bits(c.type)},
          // An odd number of tiles of K, more than a prologue has, and a part of one more.
          {c.tile_m() + 22, c.tile_n() + 2, 12 * c.tile_k() + 16},
          {33, 7, 0},
          // A second band of fewer rows of tiles, without depth: where they are is all that matters.
          {8 * c.tile_m() + 1, c.tile_n() + 4, 0}};
}

}  // namespace

std::vector<Case> cases_of(const catalog::Instance& instance) {
  auto list = std::visit(
      [&](const auto& c) -> std::vector<Case> {
        if constexpr (requires { cases(instance, c); }) return cases(instance, c);
        return {};
      },
      instance.config);
  if (!list.empty()) {
    Case ahead = list[0];  // one tile of each cluster is enough to fill a ring
    if (instance.as<SkinnyGemmConfig>() != nullptr || instance.as<SkinnyBlockwiseConfig>() != nullptr)
      ahead.n = ahead.n / kSkinnyTiles * 2;
    add_conditions(list, list[1], ahead);
  }
  // A few rows are enough to go beyond 2^31 elements, but of operands of mma.sync, whose rows are nearer. There small
  // tiles have a second band of fewer rows, too.
  if (const auto* const copies = instance.as<MmaSyncGemmConfig>()) {
    constexpr int64_t kFarRows = 516;
    const bool batches =
        copies->split != DepthSplit::none || copies->a_major != Major::K || copies->b_major != Major::K;
    const bool bands = !batches && copies->tile_m * copies->tile_n <= 64 * 64;
    const int64_t tall = std::max<int64_t>(copies->band * copies->tile_m + 1, kFarRows);
    list.push_back({bands ? tall : 9, bands ? copies->tile_n + 4 : batches ? 5 : kFarRows, 4, Condition::far});
    if (!batches) list.push_back({3, 5, 1, Condition::far});  // a batch
  } else if (is_dense(instance) && list.size() > 2) {
    list.push_back({9, list[2].n, list[2].k, Condition::far});
  }
  // Rows of one byte; the last ones of the second tile still begin in the vector ahead of the first one.
  const auto* const dense = instance.as<DenseGemmConfig>();
  if (dense != nullptr && dense->load == Mover::threads && !dense->batched)
    list.push_back({15, list[2].n, 1, Condition::real});
  // Each of the many groups along k has a result: a box that is stored whole, and a part of one.
  const auto* const hopper = instance.as<GroupedGemmConfig>();
  const auto* const blackwell = instance.as<GroupedGemmSm100Config>();
  const auto* const blockwise = instance.as<BlockwiseFp8Sm100Config>();
  const bool by_depth = (hopper != nullptr && hopper->by_depth()) || (blackwell != nullptr && blackwell->by_depth) ||
                        (blockwise != nullptr && blockwise->by_depth);
  for (Case& c : list) {
    if (by_depth && c.condition == Condition::varied) c.m = std::min<int64_t>(c.m, 72);
    // With few rows in many groups there are more tiles, and more counters of them, than rows alone would make.
    if (blockwise != nullptr && blockwise->split != DepthSplit::none && c.condition == Condition::varied)
      c.m = std::min<int64_t>(c.m, 400);
  }
  return list;
}

}  // namespace warpwright::simulate

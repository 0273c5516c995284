#include "choice/grouped_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "choice/sm100_grouped.h"
#include "warpwright/core/ceil_div.h"
#include "warpwright/tile/paired_raster.h"

namespace warpwright::choice {
namespace {

int64_t parts_of(int64_t all, int64_t size) { return size > 0 ? ceil_div(all, size) : 0; }

// Groups of rows, or results of groups along k.
int64_t groups_of(const GroupedProblem& p) { return p.groups == Groups::none ? 1 : p.group_count; }

GroupedWaves waves_of(int64_t tiles, int64_t clusters) {
  GroupedWaves w;
  w.tiles = tiles;
  const int64_t at_once = std::max<int64_t>(clusters, 1);
  w.waves = parts_of(w.tiles, at_once);
  w.fill = w.waves > 0 ? double(w.tiles) / double(w.waves * at_once) : 0;
  return w;
}

// How many tiles of a cluster there are.
int64_t tiles_of(const GroupedGemmConfig& c, int64_t groups, int64_t rows, int64_t n) {
  if (!c.paired()) {
    return groups * parts_of(rows, c.tile_m * c.cluster_m()) * parts_of(n, c.out_columns() * c.cluster_n());
  }
  return groups * tile::PairedRaster<128>{int(rows), int(parts_of(n, c.out_columns())), 1}.count();
}

}  // namespace

int64_t usual_rows(const GroupedProblem& p) {
  if (p.groups == Groups::none || p.groups == Groups::by_depth) return p.m;
  return p.usual_rows > 0 ? p.usual_rows : p.group_count > 0 ? p.m / p.group_count : 0;
}

GroupedWaves waves_of(int64_t groups, int64_t rows, int64_t n, int64_t tile_m, int64_t tile_n, int64_t clusters) {
  return waves_of(groups * parts_of(rows, tile_m) * parts_of(n, tile_n), clusters);
}

GroupedFacts facts_of(const Instance& instance, const GroupedProblem& p, int sms) {
  if (const auto* few = instance.as<SkinnyBlockwiseConfig>()) {
    const SkinnyBlockwiseConfig& c = *few;
    return {catalog::block_plan(instance),
            c.tokens,
            c.rows,
            c.skinny().tile_k(),
            waves_of(1, p.m, p.n, c.tokens, c.rows, sms / c.split),
            fmt::format("{} weights x {} tokens x{}, {} stages, split {}", c.rows, c.tokens, c.skinny().tile_k(),
                        c.stages, c.split)};
  }
  if (catalog::arch_of(instance) == Arch::sm100) {
    const choice::GroupedTile t = choice::grouped_tile(instance);
    return {
        catalog::block_plan(instance),
        t.tile_m,
        t.tile_n,
        t.tile_k,
        waves_of(groups_of(p) * std::max(1, instance.splits), usual_rows(p), p.n, t.tile_m, t.tile_n, sms / t.cluster),
        fmt::format("{}x{}x{}, cluster {}", t.tile_m, t.tile_n, t.tile_k, t.cluster)};
  }
  const GroupedGemmConfig& c = *instance.as<GroupedGemmConfig>();
  return {catalog::block_plan(instance),
          c.tile_m,
          c.tile_n,
          c.tile_k(),
          waves_of(tiles_of(c, groups_of(p), usual_rows(p), p.n / c.operands()), sms / c.cluster),
          fmt::format("{} {}x{}x{}, {} stages, cluster {}{}", name(c.type), c.tile_m, c.tile_n, c.tile_k(), c.stages,
                      c.cluster, c.cluster > 1 && c.axis == ClusterAxis::n ? " along n" : "")};
}

GroupedWork work_of(const GroupedProblem& p) {
  GroupedWork w;
  const int64_t groups = groups_of(p);
  w.rows = p.groups == Groups::contiguous || p.groups == Groups::none ? p.m : usual_rows(p);
  if (p.groups == Groups::masked) w.rows *= groups;
  w.n = p.n;
  w.k = p.k;
  w.results = p.groups == Groups::by_depth ? groups : 1;
  w.matrices = p.groups == Groups::by_depth ? 1 : p.matrix_count > 0 ? p.matrix_count : groups;
  w.columns = p.activation == Activation::swiglu ? p.n / 2 : p.n;
  w.a = p.type;
  w.b = b_dtype(p.scaling, p.type);
  w.out = p.out;
  if (p.scaling != BlockScaling::none) {
    w.scale_bytes = double(parts_of(p.k, scale_block(p.scaling))) * (double(w.rows) + double(w.matrices * p.n));
  } else if (p.type == DType::e4m3) {
    const double deep = double(parts_of(p.k, 128));
    w.scale_bytes = 4 * deep * (double(w.rows) + double(w.matrices * parts_of(p.n, p.b_scale_rows)));
  }
  return w;
}

Floor floor_of(const GroupedWork& w, Arch arch) {
  const DType slower = bits(w.a) > bits(w.b) ? w.a : w.b;
  Floor floor = floor_of(GemmShape{w.rows, w.n, w.k, slower}, arch);
  const double bytes_per_us = floor.memory_us > 0 ? floor.bytes / floor.memory_us : 1;
  const auto size = [](DType type, int64_t elements) { return double(elements) * bits(type) / 8; };
  floor.bytes = size(w.a, w.rows * w.k) + size(w.b, w.matrices * w.n * w.k) +
                size(w.out, w.results * w.rows * w.columns) + w.scale_bytes;
  floor.memory_us = floor.bytes / bytes_per_us;
  return floor;
}

}  // namespace warpwright::choice

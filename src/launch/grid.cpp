#include "launch/grid.h"

#include <algorithm>

#include "warpwright/kernel/sm90/pack_rows_config.h"

namespace warpwright::launch {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Into how many parts the depth of a tile is cut, at most. Where depth is shared evenly a cluster may have as little as
// one stage of a tile.
int64_t shares_of(const DenseGemmConfig& c, const DenseGemmArgs& args) {
  const int64_t depth = std::max<int64_t>(1, ceil_div(args.k, c.tile_k()));
  return c.split == DepthSplit::none      ? 1
         : c.split == DepthSplit::split_k ? std::min<int64_t>(args.splits, depth)
                                          : depth;
}

}  // namespace

int64_t work_of(const DenseGemmConfig& c, const DenseGemmArgs& args) {
  return c.tiles(args.m, args.n, args.batches) * shares_of(c, args);
}
int64_t work_of(const SkinnyGemmConfig& c, const SkinnyGemmArgs& args) { return c.tiles(args.m, args.n); }
int64_t work_of(const GroupedGemmConfig& c, const GroupedGemmArgs& args) {
  const int64_t columns = ceil_div(args.n / c.column_blocks(), c.out_columns() * c.cluster_n());
  int64_t rows = ceil_div(args.groups.rows, c.tile_m * c.cluster_m());
  if (c.by_depth()) {
    rows *= args.groups.groups;
  } else if ((args.groups.offsets != nullptr || args.groups.counts != nullptr) && args.groups.rows > 0) {
    // How many rows a group has is known on the device only: at most one row of tiles more for each.
    rows += args.groups.groups;
  }
  return rows * columns;
}
int64_t work_of(const SkinnyBlockwiseConfig& c, const SkinnyBlockwiseArgs& args) {
  return c.tiles(args.product.m, args.product.n);
}
int64_t work_of(const MmaSyncGemmConfig& c, const MmaSyncGemmArgs& args) {
  return ceil_div(args.m, c.tile_m) * ceil_div(args.n, c.tile_n);
}
int64_t work_of(const PackRowsConfig& c, const PackRowsArgs& args) {
  int64_t segments = 0;
  for (const RowsToPack& m : args.list) segments += pack_segments(m, c.element_bytes);
  return ceil_div(segments, c.warps);
}
int64_t work_of(const RingCopyConfig& c, const RingCopyArgs& args) {
  return ceil_div(args.rows, c.tile_rows) * ceil_div(args.columns, c.tile_columns);
}

Result<unsigned> ctas_of(const catalog::Instance& instance, const Arguments& arguments, int64_t clusters) {
  int cluster = 1;
  int64_t work = 0;
  if (const auto* dense = instance.as<DenseGemmConfig>()) {
    const auto& args = std::get<DenseGemmArgs>(arguments);
    cluster = dense->cluster;
    work = work_of(*dense, args);
    if (dense->split == DepthSplit::split_k) {
      // All parts of a tile in one round of the grid: a cluster waits for lower ones only, which started before it, so
      // the grid need not be resident as a whole.
      clusters -= clusters % shares_of(*dense, args);
      if (clusters == 0) return Status(Code::failed, "more parts of a tile than clusters that run at once.");
    }
  } else if (const auto* skinny = instance.as<SkinnyGemmConfig>()) {
    cluster = skinny->split;
    work = work_of(*skinny, std::get<SkinnyGemmArgs>(arguments));
  } else if (const auto* grouped = instance.as<GroupedGemmConfig>()) {
    cluster = grouped->cluster;
    work = work_of(*grouped, std::get<GroupedGemmArgs>(arguments));
  } else if (const auto* blockwise = instance.as<SkinnyBlockwiseConfig>()) {
    cluster = blockwise->split;
    work = work_of(*blockwise, std::get<SkinnyBlockwiseArgs>(arguments));
  }
  return unsigned(std::min(clusters, work)) * unsigned(cluster);
}

int64_t allowed_clusters(int64_t resident, int cluster, int sm_limit) {
  return sm_limit > 0 ? std::clamp<int64_t>(sm_limit / cluster, 1, resident) : resident;
}

}  // namespace warpwright::launch

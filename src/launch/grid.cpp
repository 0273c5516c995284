#include "launch/grid.h"

#include <algorithm>

#include "warpwright/core/ceil_div.h"
#include "warpwright/kernel/sm90/pack_rows_config.h"

namespace warpwright::launch {
namespace {

// Into how many parts the depth of a tile is cut, at most. Where depth is shared evenly a cluster may have as little as
// one stage of a tile.
int64_t shares_of(const DenseGemmConfig& c, const DenseGemmArgs& args) {
  const int64_t depth = std::max<int64_t>(1, ceil_div(args.k, c.tile_k()));
  return c.split == DepthSplit::none      ? 1
         : c.split == DepthSplit::split_k ? std::min<int64_t>(args.splits, depth)
                                          : depth;
}

int64_t shares_of(const MmaSyncGemmConfig& c, const MmaSyncGemmArgs& args) {
  const int64_t depth = std::max<int64_t>(1, ceil_div(args.k, c.tile_k() * c.unroll));
  return c.split == DepthSplit::none ? 1 : std::min<int64_t>(args.splits, depth);
}

// How many rows a group has is known on the device only: at most one row of tiles more for each.
int64_t row_tiles(const GroupTable& groups, int64_t tall) {
  return groups.rows == 0 ? 0 : ceil_div(groups.rows, tall) + groups.groups;
}

template <class C>
int cluster_size(const C& c) {
  if constexpr (requires { c.dense().cluster(); }) {
    return c.dense().cluster();
  } else if constexpr (requires { c.cluster_m* c.cluster_n; }) {
    return c.cluster();
  } else if constexpr (requires { c.cluster; }) {
    return c.cluster;
  } else if constexpr (requires { c.split* c.tokens; }) {
    return c.split;
  }
  return 1;
}

}  // namespace

int64_t work_of(const DenseGemmConfig& c, const DenseGemmArgs& args) {
  return c.tiles(args.m, args.n, args.batches) * shares_of(c, args);
}
int64_t work_of(const SkinnyGemmConfig& c, const SkinnyGemmArgs& args) { return c.tiles(args.m, args.n); }
int64_t work_of(const GroupedGemmConfig& c, const GroupedGemmArgs& args) {
  const int64_t columns = ceil_div(args.n / c.operands(), c.out_columns() * c.cluster_n());
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
int64_t work_of(const DenseGemmSm100Config& c, const DenseGemmSm100Args& args) {
  return c.jobs(args.m, args.n, args.k, args.batches, args.splits);
}
int64_t work_of(const BlockwiseFp8Sm100Config& c, const BlockwiseFp8Sm100Args& args) {
  return c.tiles(args.m, args.groups.groups, args.n) * c.parts(args.k, args.splits);
}
int64_t work_of(const GroupedGemmSm100Config& c, const GroupedGemmSm100Args& args) {
  const int64_t columns = ceil_div(args.n, c.tile_columns());
  if (c.by_depth) return ceil_div(args.groups.rows, c.tile_tokens()) * args.groups.groups * columns;
  return row_tiles(args.groups, c.tile_tokens()) * columns;
}
int64_t work_of(const CdnaMatmulConfig& c, const CdnaMatmulArgs& args) {
  return c.tiles(args.m, args.n, args.batches) * (c.split == DepthSplit::none ? 1 : args.splits);
}
int64_t work_of(const MmaSyncGemmConfig& c, const MmaSyncGemmArgs& args) {
  return c.tiles(args.m, args.n, args.batches) * shares_of(c, args);
}
int64_t work_of(const PackRowsConfig& c, const PackRowsArgs& args) {
  int64_t segments = 0;
  for (const RowsToPack& m : args.list) segments += pack_segments(m, c.element_bytes);
  return ceil_div(segments, c.warps);
}
int64_t work_of(const RouteConfig&, const RouteArgs& args) { return args.experts; }
int64_t work_of(const CombineConfig& c, const CombineArgs& args) {
  return ceil_div(args.tokens * ceil_div(args.columns, kCombineColumns), c.warps);
}
int64_t work_of(const RingCopyConfig& c, const RingCopyArgs& args) {
  return ceil_div(args.rows, c.tile_rows) * ceil_div(args.columns, c.tile_columns);
}

bool may_start_early(const catalog::Instance& instance) {
  if (const auto* c = instance.as<DenseGemmConfig>()) return c->dependent;
  if (const auto* c = instance.as<DenseGemmSm100Config>()) return c->dependent;
  if (const auto* c = instance.as<GroupedGemmSm100Config>()) return c->dependent;
  if (const auto* c = instance.as<BlockwiseFp8Sm100Config>()) return c->dependent;
  return instance.as<SkinnyGemmConfig>() != nullptr || instance.as<SkinnyBlockwiseConfig>() != nullptr;
}

int cluster_of(const catalog::Instance& instance) {
  return std::visit([](const auto& c) { return cluster_size(c); }, instance.config);
}

Result<unsigned> ctas_of(const catalog::Instance& instance, const Arguments& arguments, int64_t clusters) {
  int64_t work = 0;
  std::visit(
      [&](const auto& c, const auto& args) {
        if constexpr (requires { work_of(c, args); }) work = work_of(c, args);
      },
      instance.config, arguments);
  // All parts of a tile in one round of the grid: a cluster waits for lower ones only, which started before it, so the
  // grid need not be resident as a whole.
  const auto* hopper = instance.as<DenseGemmConfig>();
  const auto* mma_sync = instance.as<MmaSyncGemmConfig>();
  if (hopper != nullptr && hopper->split == DepthSplit::split_k) {
    clusters -= clusters % shares_of(*hopper, std::get<DenseGemmArgs>(arguments));
  } else if (mma_sync != nullptr) {
    clusters -= clusters % shares_of(*mma_sync, std::get<MmaSyncGemmArgs>(arguments));
  }
  if (clusters == 0) return Status(Code::failed, "more parts of a tile than clusters that run at once.");
  const auto* blackwell = instance.as<DenseGemmSm100Config>();
  const bool each =
      instance.as<CdnaMatmulConfig>() != nullptr || (blackwell != nullptr && blackwell->source == TileSource::clc);
  return unsigned(each ? work : std::min(clusters, work)) * unsigned(cluster_of(instance));
}

int64_t workspace_bytes(const catalog::Instance& instance, const Arguments& arguments, int64_t clusters) {
  const auto bytes = [&](const auto& c, const auto& args) {
    return c.workspace_bytes(args.m, args.n, args.batches, args.splits, int(clusters));
  };
  if (const auto* c = instance.as<DenseGemmConfig>()) return bytes(*c, std::get<DenseGemmArgs>(arguments));
  if (const auto* c = instance.as<DenseGemmSm100Config>()) return bytes(*c, std::get<DenseGemmSm100Args>(arguments));
  if (const auto* c = instance.as<MmaSyncGemmConfig>()) return bytes(*c, std::get<MmaSyncGemmArgs>(arguments));
  if (const auto* c = instance.as<CdnaMatmulConfig>()) {
    const auto& args = std::get<CdnaMatmulArgs>(arguments);
    return args.splits == 1 ? 0 : c->workspace_bytes(c->tiles(args.m, args.n, args.batches), args.splits);
  }
  if (const auto* c = instance.as<BlockwiseFp8Sm100Config>()) {
    const auto& args = std::get<BlockwiseFp8Sm100Args>(arguments);
    return c->workspace_bytes(args.m, args.groups.groups, args.n, args.splits);
  }
  return 0;
}
void set_workspace(Arguments& arguments, void* workspace) {
  std::visit(
      [&](auto& args) {
        if constexpr (requires { args.workspace = workspace; }) args.workspace = workspace;
      },
      arguments);
}

int64_t allowed_clusters(int64_t resident, int cluster, int sm_limit) {
  return sm_limit > 0 ? std::clamp<int64_t>(sm_limit / cluster, 1, resident) : resident;
}

}  // namespace warpwright::launch

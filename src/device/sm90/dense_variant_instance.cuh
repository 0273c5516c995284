// The body of an instance file.
#pragma once
#include "device/persistent.cuh"
#include "warpwright/kernel/sm90/dense_gemm.h"

namespace warpwright::device {

template <int Index>
Status launch_dense_variant_sm90(const DenseGemmArgs& args, void* stream, int max_ctas, bool dependent) {
  constexpr DenseGemmConfig config = kDenseVariantsSm90[Index];
  using Kernel = kernel::sm90::DenseGemm<config>;
  // Where depth is shared, a cluster may have as little as one stage of a tile.
  const int64_t depth = std::max<int64_t>(1, ceil_div(args.k, config.tile_k()));
  const int64_t shares = config.split == DepthSplit::none      ? 1
                         : config.split == DepthSplit::split_k ? std::min<int64_t>(args.splits, depth)
                                                               : depth;
  if constexpr (config.split == DepthSplit::split_k) {
    // All parts of a tile in one round of the grid: a cluster waits for lower ones only, which started before it, so
    // the grid need not be resident as a whole.
    int64_t clusters = resident_clusters<Kernel>();
    if (max_ctas > 0) clusters = std::min<int64_t>(clusters, max_ctas / config.cluster);
    if (clusters < shares) return "dense_gemm: more parts of a tile than clusters that run at once.";
    max_ctas = int(clusters - clusters % shares) * config.cluster;
  }
  return launch_persistent<Kernel>(args, config.tiles(args.m, args.n, args.batches) * shares, stream, max_ctas,
                                   runtime::DependentLaunch(dependent && config.dependent));
}

}  // namespace warpwright::device

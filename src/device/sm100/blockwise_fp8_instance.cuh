// The body of an instance file.
#pragma once
#include <algorithm>

#include "device/launch_sm100.h"
#include "device/persistent.cuh"
#include "warpwright/kernel/sm100/blockwise_fp8.h"

namespace warpwright::device {

template <int Index>
Status launch_blockwise_fp8_sm100(const BlockwiseFp8Sm100Args& args, void* stream, int max_ctas) {
  constexpr BlockwiseFp8Sm100Config config = kBlockwiseFp8Sm100[Index];
  constexpr DenseGemmSm100Config dense = config.dense();
  int64_t tiles = ceil_div(args.m, dense.tile_m * dense.cluster_m) * ceil_div(args.n, dense.tile_n);
  if constexpr (config.grouped) {
    // Each group may leave a tile unfinished. Also without a tile: somebody writes the status.
    const int64_t groups = std::min(args.groups.groups, args.groups.rows);
    tiles = std::max<int64_t>(1, tiles + groups * ceil_div(args.n, dense.tile_n));
  }
  return launch_persistent<kernel::sm100::BlockwiseFp8<config>>(args, tiles, stream, max_ctas);
}

}  // namespace warpwright::device

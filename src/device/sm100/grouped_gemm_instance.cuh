// The body of an instance file.
#pragma once
#include <algorithm>

#include "device/launch_sm100.h"
#include "device/persistent.cuh"
#include "warpwright/kernel/sm100/grouped_gemm.h"

namespace warpwright::device {

template <int Index>
Status launch_grouped_gemm_sm100(const GroupedGemmSm100Args& args, void* stream, int max_ctas) {
  constexpr GroupedGemmSm100Config config = kGroupedGemmSm100[Index];
  // Also without a tile: somebody writes the status.
  const GroupTable& t = args.groups;
  const int64_t tiles =
      config.pointers ? t.groups * config.tiles(t.rows, 1, t.columns) : config.tiles(t.rows, t.groups, args.n);
  return launch_persistent<kernel::sm100::GroupedGemm<config>>(args, std::max<int64_t>(1, tiles), stream, max_ctas);
}

}  // namespace warpwright::device

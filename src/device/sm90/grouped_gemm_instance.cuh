// The body of an instance file.
#pragma once
#include "device/launch_grouped_sm90.h"
#include "device/persistent.cuh"
#include "warpwright/kernel/sm90/grouped_gemm.h"

namespace warpwright::device {

template <int Index>
Status launch_grouped_gemm_sm90(const GroupedGemmArgs& args, void* stream, int max_ctas) {
  constexpr GroupedGemmConfig config = kGroupedGemmSm90[Index];
  const int64_t columns = ceil_div(args.n / config.column_blocks(), config.out_columns() * config.cluster_n());
  int64_t rows = ceil_div(args.groups.rows, config.tile_m * config.cluster_m());
  if (config.by_depth()) {
    rows *= args.groups.groups;
  } else if ((args.groups.offsets != nullptr || args.groups.counts != nullptr) && args.groups.rows > 0) {
    // How many rows a group has is known on the device only: at most one row of tiles more for each.
    rows += args.groups.groups;
  }
  return launch_persistent<kernel::sm90::GroupedGemm<config>>(args, rows * columns, stream, max_ctas);
}

}  // namespace warpwright::device

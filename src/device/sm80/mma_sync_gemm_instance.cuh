// The body of an instance file.
#pragma once
#include "device/launch_sm80.h"
#include "device/persistent.cuh"
#include "warpwright/kernel/sm80/dense_gemm.h"

namespace warpwright::device {

template <int Index>
Status launch_mma_sync_gemm_sm80(const MmaSyncGemmArgs& args, void* stream, int max_ctas) {
  constexpr MmaSyncGemmConfig config = kMmaSyncGemmSm80[Index];
  return launch_persistent<kernel::sm80::DenseGemm<config>>(
      args, ceil_div(args.m, config.tile_m) * ceil_div(args.n, config.tile_n), stream, max_ctas);
}

}  // namespace warpwright::device

// The body of an instance file.
#pragma once
#include "device/launch_sm100.h"
#include "device/persistent.cuh"
#include "warpwright/kernel/sm100/dense_gemm.h"

namespace warpwright::device {

template <int Index>
Status launch_dense_gemm_sm100(const DenseGemmSm100Args& args, void* stream, int max_ctas) {
  constexpr DenseGemmSm100Config config = kDenseGemmSm100[Index];
  const int64_t tiles =
      ceil_div(args.m, config.tile_m * config.cluster_m) * ceil_div(args.n, config.tile_n * config.cluster_n);
  return launch_persistent<kernel::sm100::DenseGemm<config>>(args, tiles, stream, max_ctas);
}

}  // namespace warpwright::device

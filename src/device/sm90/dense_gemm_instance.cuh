// The body of an instance file.
#pragma once
#include "device/persistent.cuh"
#include "warpwright/kernel/sm90/dense_gemm.h"

namespace warpwright::device {

template <int Index>
Status launch_dense_gemm_sm90(const DenseGemmArgs& args, void* stream, int max_ctas, bool dependent) {
  constexpr DenseGemmConfig config = kDenseGemmSm90[Index];
  const int64_t tiles =
      ceil_div(args.m, config.tile_m * config.cluster_m()) * ceil_div(args.n, config.tile_n * config.cluster_n());
  return launch_persistent<kernel::sm90::DenseGemm<config>>(args, tiles, stream, max_ctas,
                                                            runtime::DependentLaunch(dependent && config.dependent));
}

}  // namespace warpwright::device

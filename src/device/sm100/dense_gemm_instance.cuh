// The body of an instance file.
#pragma once
#include "device/launch_sm100.h"
#include "device/persistent.cuh"
#include "warpwright/kernel/sm100/dense_gemm.h"

namespace warpwright::device {

template <int Index>
Status launch_dense_gemm_sm100(const DenseGemmSm100Args& args, void* stream, int max_ctas) {
  constexpr DenseGemmSm100Config config = kDenseGemmSm100[Index];
  using Kernel = kernel::sm100::DenseGemm<config>;
  constexpr auto dependent = runtime::DependentLaunch(config.dependent);
  const int64_t jobs = config.jobs(args.m, args.n, args.k, args.batches, args.splits);
  if constexpr (config.source == TileSource::clc) {
    // Those that run cancel the launch of the others, so `max_ctas` has nothing to limit.
    if (jobs == 0) return {};
    const auto ctas = unsigned(jobs * config.cluster());
    return describe<Kernel>(runtime::launch<Kernel>(args, ctas, static_cast<cudaStream_t>(stream), dependent));
  } else {
    return launch_persistent<Kernel>(args, jobs, stream, max_ctas, dependent);
  }
}

}  // namespace warpwright::device

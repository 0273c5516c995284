// The body of an instance file.
#pragma once
#include "device/persistent.cuh"
#include "warpwright/kernel/sm90/skinny_gemm.h"

namespace warpwright::device {

template <int Index>
Status launch_skinny_gemm_sm90(const SkinnyGemmArgs& args, void* stream, int max_ctas, bool dependent) {
  constexpr SkinnyGemmConfig config = kSkinnyGemmSm90[Index];
  return launch_persistent<kernel::sm90::SkinnyGemm<config>>(args, config.tiles(args.m, args.n), stream, max_ctas,
                                                             runtime::DependentLaunch(dependent));
}

}  // namespace warpwright::device

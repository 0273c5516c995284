// The body of an instance file.
#pragma once
#include "device/launch_grouped_sm90.h"
#include "device/persistent.cuh"
#include "warpwright/kernel/sm90/skinny_blockwise.h"

namespace warpwright::device {

template <int Index>
Status launch_skinny_blockwise_sm90(const SkinnyBlockwiseArgs& args, void* stream, int max_ctas, bool dependent) {
  constexpr SkinnyBlockwiseConfig config = kSkinnyBlockwiseSm90[Index];
  return launch_persistent<kernel::sm90::SkinnyBlockwise<config>>(
      args, config.tiles(args.product.m, args.product.n), stream, max_ctas,
      runtime::DependentLaunch(dependent));
}

}  // namespace warpwright::device

#include "device/persistent.cuh"
#include "warpwright/kernel/sm100/tmem_lifecycle.h"

namespace warpwright::device {

Status launch_tmem_lifecycle_sm100(int index, const TmemLifecycleArgs& args, void* stream, int max_ctas) {
  return at_index<int(std::size(kTmemLifecycleSm100))>("tmem_lifecycle", index, [&](auto instance) {
    constexpr TmemLifecycleConfig config = kTmemLifecycleSm100[instance()];
    const int64_t tiles = ceil_div(args.m, config.tile_m) * ceil_div(args.n, config.tile_n);
    return launch_persistent<kernel::sm100::TmemLifecycle<config>>(args, tiles, stream, max_ctas);
  });
}

}  // namespace warpwright::device

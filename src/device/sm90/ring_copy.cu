#include "device/persistent.cuh"
#include "warpwright/kernel/sm90/ring_copy.h"

namespace warpwright::device {

Status launch_ring_copy_sm90(int index, const RingCopyArgs& args, void* stream, int max_ctas) {
  return at_index<int(std::size(kRingCopySm90))>("ring_copy", index, [&](auto instance) {
    constexpr RingCopyConfig config = kRingCopySm90[instance()];
    const int64_t tiles = ceil_div(args.rows, config.tile_rows) * ceil_div(args.columns, config.tile_columns);
    return launch_persistent<kernel::sm90::RingCopy<config>>(args, tiles, stream, max_ctas);
  });
}

}  // namespace warpwright::device

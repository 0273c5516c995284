#include "device/pack.h"
#include "device/persistent.cuh"
#include "warpwright/kernel/sm90/pack_rows.h"

namespace warpwright::device {

Status launch_pack_rows_sm90(int element_bytes, const PackRowsArgs& args, void* stream, int max_ctas) {
  return at_index<int(std::size(kPackRowsSm90))>("pack_rows", element_bytes - 1, [&](auto instance) {
    constexpr PackRowsConfig config = kPackRowsSm90[instance()];
    int64_t segments = 0;
    for (const RowsToPack& m : args.list) segments += pack_segments(m, config.element_bytes);
    return launch_persistent<kernel::sm90::PackRows<config>>(args, ceil_div(segments, config.warps), stream, max_ctas);
  });
}

}  // namespace warpwright::device

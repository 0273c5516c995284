#include "device/launch_sm100.h"
#include "device/persistent.cuh"

namespace warpwright::device {

Status launch_blockwise_fp8_sm100(int index, const BlockwiseFp8Sm100Args& args, void* stream, int max_ctas) {
  return at_index<int(std::size(kBlockwiseFp8Sm100))>("blockwise_fp8_sm100", index, [&](auto instance) {
    return launch_blockwise_fp8_sm100<instance()>(args, stream, max_ctas);
  });
}

}  // namespace warpwright::device

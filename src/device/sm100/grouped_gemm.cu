#include "device/launch_sm100.h"
#include "device/persistent.cuh"

namespace warpwright::device {

Status launch_grouped_gemm_sm100(int index, const GroupedGemmSm100Args& args, void* stream, int max_ctas) {
  return at_index<int(std::size(kGroupedGemmSm100))>("grouped_gemm_sm100", index, [&](auto instance) {
    return launch_grouped_gemm_sm100<instance()>(args, stream, max_ctas);
  });
}

}  // namespace warpwright::device

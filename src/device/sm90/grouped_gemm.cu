#include "device/launch_grouped_sm90.h"
#include "device/persistent.cuh"

namespace warpwright::device {

Status launch_grouped_gemm_sm90(int index, const GroupedGemmArgs& args, void* stream, int max_ctas) {
  return at_index<int(std::size(kGroupedGemmSm90))>("grouped_gemm", index, [&](auto instance) {
    return launch_grouped_gemm_sm90<instance()>(args, stream, max_ctas);
  });
}
Status launch_skinny_blockwise_sm90(int index, const SkinnyBlockwiseArgs& args, void* stream, int max_ctas,
                                    bool dependent) {
  return at_index<int(std::size(kSkinnyBlockwiseSm90))>("skinny_blockwise", index, [&](auto instance) {
    return launch_skinny_blockwise_sm90<instance()>(args, stream, max_ctas, dependent);
  });
}

}  // namespace warpwright::device

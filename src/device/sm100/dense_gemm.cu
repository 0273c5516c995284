#include "device/launch_sm100.h"
#include "device/persistent.cuh"

namespace warpwright::device {

Status launch_dense_gemm_sm100(int index, const DenseGemmSm100Args& args, void* stream, int max_ctas) {
  return at_index<int(std::size(kDenseGemmSm100))>("dense_gemm_sm100", index, [&](auto instance) {
    return launch_dense_gemm_sm100<instance()>(args, stream, max_ctas);
  });
}

}  // namespace warpwright::device

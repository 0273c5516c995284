#include "device/sm100/dense_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_dense_gemm_sm100<19>(const DenseGemmSm100Args&, void*, int);
}  // namespace warpwright::device

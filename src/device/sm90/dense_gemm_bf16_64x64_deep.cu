#include "device/sm90/dense_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_dense_gemm_sm90<21>(const DenseGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

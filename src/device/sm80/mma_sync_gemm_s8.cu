#include "device/sm80/mma_sync_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_mma_sync_gemm_sm80<3>(const MmaSyncGemmArgs&, void*, int);
template Status launch_mma_sync_gemm_sm80<4>(const MmaSyncGemmArgs&, void*, int);
}  // namespace warpwright::device

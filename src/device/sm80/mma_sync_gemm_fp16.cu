#include "device/sm80/mma_sync_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_mma_sync_gemm_sm80<2>(const MmaSyncGemmArgs&, void*, int);
}  // namespace warpwright::device

#include "device/launch_sm80.h"
#include "device/persistent.cuh"

namespace warpwright::device {

Status launch_mma_sync_gemm_sm80(int index, const MmaSyncGemmArgs& args, void* stream, int max_ctas) {
  return at_index<int(std::size(kMmaSyncGemmSm80))>("mma_sync_gemm", index, [&](auto instance) -> Status {
    constexpr MmaSyncGemmConfig config = kMmaSyncGemmSm80[instance()];
    if (auto why = refuse_rows(config, args)) return why;
    if constexpr (config.type == DType::e4m3 || config.type == DType::e5m2) {
      int device = 0, major = 0, minor = 0;
      if (cudaGetDevice(&device) != cudaSuccess ||
          cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
          cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
        return std::string("mma_sync_gemm: no CUDA device can be used.");
      }
      if (10 * major + minor < 89) {
        return std::string("mma_sync_gemm: 8-bit floating point needs compute capability 8.9 or higher.");
      }
    }
    return launch_mma_sync_gemm_sm80<instance()>(args, stream, max_ctas);
  });
}

}  // namespace warpwright::device

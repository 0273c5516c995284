#include "device/sm90/grouped_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_grouped_gemm_sm90<10>(const GroupedGemmArgs&, void*, int);
template Status launch_grouped_gemm_sm90<16>(const GroupedGemmArgs&, void*, int);
template Status launch_grouped_gemm_sm90<35>(const GroupedGemmArgs&, void*, int);
}  // namespace warpwright::device

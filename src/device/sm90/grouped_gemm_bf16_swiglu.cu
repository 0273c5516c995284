#include "device/sm90/grouped_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_grouped_gemm_sm90<25>(const GroupedGemmArgs&, void*, int);
template Status launch_grouped_gemm_sm90<28>(const GroupedGemmArgs&, void*, int);
template Status launch_grouped_gemm_sm90<29>(const GroupedGemmArgs&, void*, int);
template Status launch_grouped_gemm_sm90<30>(const GroupedGemmArgs&, void*, int);
}  // namespace warpwright::device

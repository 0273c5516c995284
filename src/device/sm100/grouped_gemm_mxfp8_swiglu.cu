#include "device/sm100/grouped_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_grouped_gemm_sm100<4>(const GroupedGemmSm100Args&, void*, int);
}  // namespace warpwright::device

#include "device/sm90/grouped_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_grouped_gemm_sm90<9>(const GroupedGemmArgs&, void*, int);
}  // namespace warpwright::device

#include "device/sm90/skinny_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_gemm_sm90<8>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<9>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<10>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<11>(const SkinnyGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

#include "device/sm90/skinny_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_gemm_sm90<4>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<5>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<6>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<7>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<27>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<29>(const SkinnyGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

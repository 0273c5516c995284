#include "device/sm90/skinny_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_gemm_sm90<0>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<1>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<2>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<3>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<26>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<28>(const SkinnyGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

#include "device/sm90/skinny_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_gemm_sm90<12>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<13>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<14>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<15>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<20>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<21>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<22>(const SkinnyGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

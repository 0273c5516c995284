#include "device/sm90/skinny_gemm_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_gemm_sm90<16>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<17>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<18>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<19>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<23>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<24>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_gemm_sm90<25>(const SkinnyGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

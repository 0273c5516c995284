#include "device/sm90/skinny_variant_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_variant_sm90<4>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_variant_sm90<5>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_variant_sm90<6>(const SkinnyGemmArgs&, void*, int, bool);
template Status launch_skinny_variant_sm90<7>(const SkinnyGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

#include "device/sm90/skinny_variant_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_variant_sm90<1>(const SkinnyGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

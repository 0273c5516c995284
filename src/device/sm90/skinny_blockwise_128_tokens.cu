#include "device/sm90/skinny_blockwise_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_blockwise_sm90<13>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<14>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<15>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<16>(const SkinnyBlockwiseArgs&, void*, int, bool);
}  // namespace warpwright::device

#include "device/sm90/skinny_blockwise_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_blockwise_sm90<0>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<1>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<2>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<3>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<17>(const SkinnyBlockwiseArgs&, void*, int, bool);
}  // namespace warpwright::device

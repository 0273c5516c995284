#include "device/sm90/skinny_blockwise_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_blockwise_sm90<4>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<5>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<6>(const SkinnyBlockwiseArgs&, void*, int, bool);
}  // namespace warpwright::device

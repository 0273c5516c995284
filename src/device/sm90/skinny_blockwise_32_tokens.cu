#include "device/sm90/skinny_blockwise_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_blockwise_sm90<7>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<8>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<9>(const SkinnyBlockwiseArgs&, void*, int, bool);
}  // namespace warpwright::device

#include "device/sm90/skinny_blockwise_instance.cuh"

namespace warpwright::device {
template Status launch_skinny_blockwise_sm90<10>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<11>(const SkinnyBlockwiseArgs&, void*, int, bool);
template Status launch_skinny_blockwise_sm90<12>(const SkinnyBlockwiseArgs&, void*, int, bool);
}  // namespace warpwright::device

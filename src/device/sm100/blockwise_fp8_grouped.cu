#include "device/sm100/blockwise_fp8_instance.cuh"

namespace warpwright::device {
template Status launch_blockwise_fp8_sm100<3>(const BlockwiseFp8Sm100Args&, void*, int);
}  // namespace warpwright::device

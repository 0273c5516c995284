#include "device/sm90/dense_variant_instance.cuh"

namespace warpwright::device {
template Status launch_dense_variant_sm90<28>(const DenseGemmArgs&, void*, int, bool);
}  // namespace warpwright::device

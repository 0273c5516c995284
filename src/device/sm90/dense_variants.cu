#include "device/persistent.cuh"

namespace warpwright::device {

Status launch_dense_variant_sm90(int index, const DenseGemmArgs& args, void* stream, int max_ctas, bool dependent) {
  return at_index<int(std::size(kDenseVariantsSm90))>("dense_gemm", index, [&](auto instance) {
    return launch_dense_variant_sm90<instance()>(args, stream, max_ctas, dependent);
  });
}

}  // namespace warpwright::device

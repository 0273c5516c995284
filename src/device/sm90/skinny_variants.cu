#include "device/persistent.cuh"

namespace warpwright::device {

Status launch_skinny_variant_sm90(int index, const SkinnyGemmArgs& args, void* stream, int max_ctas, bool dependent) {
  return at_index<int(std::size(kSkinnyVariantsSm90))>("skinny_gemm", index, [&](auto instance) {
    return launch_skinny_variant_sm90<instance()>(args, stream, max_ctas, dependent);
  });
}

}  // namespace warpwright::device

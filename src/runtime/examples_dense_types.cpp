#include "runtime/dense_variant.h"

namespace warpwright::runtime {

void add_dense_type_examples(std::vector<Example>& list) {
  using namespace device::variant;
  add_variant<kFp32Out>(list, "gemm_sm90_fp32", "bf16 operands, fp32 result", "bf16 to fp32 128x128x64, cluster 2",
                        {{256, 256, 192}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kFusedBf16>(list, "gemm_sm90_fused", "alpha * product + beta * C + bias, then gelu",
                          "bf16 128x128x64, cluster 2", {{256, 256, 192}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kQuantizedOut>(list, "gemm_sm90_quantized", "bias, relu, residual and a scale, e4m3 result",
                             "bf16 to e4m3 128x128x64", {{256, 256, 192}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kE4m3>(list, "gemm_sm90_e4m3", "e4m3 operands with a factor each, sums of the tensor core",
                     "e4m3 to bf16 128x256x128, cluster 2", {{256, 512, 640}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kE4m3Promoted>(list, "gemm_sm90_e4m3_promoted",
                             "e4m3 operands, factors of rows and columns, fp32 sums every 128 elements",
                             "e4m3 to bf16 128x128x128, cluster 2", {{256, 256, 640}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kE5m2Mixed>(list, "gemm_sm90_e5m2_e4m3", "e5m2 times e4m3, fp32 sums every 256 elements",
                          "e5m2 and e4m3 to fp32 64x128x128", {{128, 256, 640}, {67, 80, 75}, {9, 16, 0}});
}

}  // namespace warpwright::runtime

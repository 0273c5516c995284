#include "runtime/dense_variant.h"

namespace warpwright::runtime {

void add_skinny_variant_examples(std::vector<Example>& list) {
  using namespace device::variant;
  add_skinny_variant<kSkinnyFp32>(list, "skinny_gemm_fp32", "few rows of A, fp32 result",
                                  "bf16 to fp32 64 weights x 16 tokens, split 2",
                                  {{16, 256, 512}, {13, 80, 331}, {3, 16, 0}});
  add_skinny_variant<kSkinnyFused>(list, "skinny_gemm_fused", "few rows of A; beta * C, bias and gelu",
                                   "bf16 128 weights x 32 tokens", {{32, 256, 512}, {29, 80, 331}, {3, 16, 0}});
  add_skinny_variant<kSkinnyE4m3>(
      list, "skinny_gemm_e4m3", "few rows of A, e4m3 with factors of rows and columns, fp32 sums every 128 elements",
      "e4m3 to bf16 64 weights x 16 tokens, split 4", {{16, 256, 1536}, {13, 80, 331}, {3, 16, 0}});
  add_skinny_variant<kSkinnyTensorE4m3Tiles>(
      list, "skinny_gemm_e4m3_tensor", "few tiles of e4m3, one factor for each operand",
      "e4m3 to bf16 128 weights x 128 tokens, split 2", {{256, 128, 512}, {141, 80, 331}, {3, 16, 0}});
  add_skinny_variant<kSkinnyQuantized>(list, "skinny_gemm_quantized", "few rows of A, e4m3 operands and result",
                                       "e4m3 to e4m3 64 weights x 64 tokens, split 2",
                                       {{64, 256, 1024}, {61, 80, 331}, {3, 16, 0}});
}

}  // namespace warpwright::runtime

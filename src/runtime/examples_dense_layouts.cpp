#include "runtime/dense_variant.h"

namespace warpwright::runtime {

void add_dense_layout_examples(std::vector<Example>& list) {
  using namespace device::variant;
  add_variant<kNn>(list, "gemm_sm90_nn", "B stored [k, n]", "bf16 128x256x64, cluster 2",
                   {{256, 512, 192}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kTn>(list, "gemm_sm90_tn", "A stored [k, m] and B [k, n]; two CTAs along N share A",
                   "bf16 128x128x64, cluster 2", {{256, 256, 192}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kTt>(list, "gemm_sm90_tt", "A stored [k, m]", "fp16 128x192x64, cluster 2",
                   {{256, 384, 192}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kBatched>(list, "gemm_sm90_batched", "three products with gaps between the matrices",
                        "bf16 128x128x64, cluster 2", {{128, 192, 128}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kBatchedTn>(list, "gemm_sm90_batched_tn", "three products with one B, and a fused epilogue",
                          "bf16 128x128x64", {{128, 192, 128}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kOddRows>(list, "gemm_sm90_odd_rows", "rows of any alignment: threads load and store",
                        "bf16 128x128x64, 4 stages", {{128, 192, 192}, {133, 77, 75}, {9, 9, 0}});
  add_variant<kOddRowsTn>(list, "gemm_sm90_odd_rows_tn", "the same for a batch of transposed matrices",
                          "fp16 64x64x64, 4 stages", {{64, 128, 128}, {67, 77, 75}, {9, 9, 0}});
  add_variant<kOddRowsE4m3>(list, "gemm_sm90_odd_rows_e4m3", "the same for e4m3", "e4m3 128x128x128, 4 stages",
                            {{128, 192, 384}, {133, 77, 75}, {9, 9, 0}});
  add_variant<kOddOutput>(list, "gemm_sm90_odd_output", "operands by TMA, a result of any alignment by threads",
                          "bf16 128x256x64, cluster 2", {{256, 256, 192}, {133, 77, 75}, {9, 9, 0}});
}

}  // namespace warpwright::runtime

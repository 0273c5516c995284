#include "runtime/dense_variant.h"

namespace warpwright::runtime {

void add_dense_schedule_examples(std::vector<Example>& list) {
  using namespace device::variant;
  add_variant<kTall>(list, "gemm_sm90_tall", "two MMA warpgroups of 128 rows", "bf16 256x128x64, cluster 2",
                     {{512, 256, 192}, {261, 80, 75}, {9, 16, 0}});
  add_variant<kPingPong>(list, "gemm_sm90_ping_pong", "two MMA warpgroups with a tile each, in turns",
                         "bf16 128x128x64, cluster 2", {{512, 768, 192}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kPingPongSmall>(list, "gemm_sm90_ping_pong_small", "the same with tiles of 64 rows", "bf16 64x256x64",
                              {{128, 1280, 192}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kSplitK>(list, "gemm_sm90_split_k", "three CTAs share the depth of a tile and add through memory",
                       "bf16 128x128x64", {{256, 256, 512}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kStreamK>(list, "gemm_sm90_stream_k", "tiles that do not fill a wave are shared by all clusters",
                        "bf16 128x256x64, cluster 2", {{768, 256, 512}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kDependent>(list, "gemm_sm90_dependent", "may start early; Hilbert curve, cache hints",
                          "bf16 128x128x64, cluster 2", {{512, 384, 128}, {133, 80, 75}, {9, 16, 0}});
  add_variant<kByColumns>(list, "gemm_sm90_by_columns", "bands of columns of tiles", "bf16 64x128x64, cluster 2",
                          {{384, 384, 128}, {133, 80, 75}, {9, 16, 0}});
}

}  // namespace warpwright::runtime

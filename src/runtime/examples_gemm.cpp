#include "device/launch.h"
#include "runtime/examples_list.h"
#include "runtime/gemm_example.h"
#include "warpwright/kernel/sm90/dense_gemm.h"

namespace warpwright::runtime {
namespace {

constexpr DenseGemmConfig kBig{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 2};
constexpr DenseGemmConfig kBigAlone{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 1};
constexpr DenseGemmConfig kThree = deepest({.tile_m = 192, .tile_n = 192});
constexpr DenseGemmConfig kOdd = deepest({.tile_m = 128, .tile_n = 144});
constexpr DenseGemmConfig kAcross = deepest({.tile_m = 128, .tile_n = 64, .axis = ClusterAxis::n});
constexpr DenseGemmConfig kSmall{.tile_m = 64, .tile_n = 64, .stages = 4, .cluster = 1};

template <DenseGemmConfig C>
struct Plain : PlainProduct<C, DenseGemmArgs> {
  using Kernel = kernel::sm90::DenseGemm<C>;
  static constexpr int ctas = 2 * C.cluster;
#if WW_HAVE_CUDA
  static std::optional<std::string> launch(const DenseGemmArgs& args, void* stream) {
    return device::launch_dense_gemm_sm90(device::find_config(device::kDenseGemmSm90, C), args, stream);
  }
#endif
};

template <DenseGemmConfig C>
Example example(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
  return GemmExample<Plain<C>>::make(name, summary, instance, std::move(cases),
                                     {C.tile_m, C.tile_n, C.type, C.out_type(), true});
}

}  // namespace

// From the largest tile to the smallest; a kernel with a cluster comes before the same one without: select() takes the
// first that fits.
void add_dense_gemm_examples(std::vector<Example>& list) {
  list.push_back(example<kBig>(
      "gemm_sm90", "bf16 GEMM: load warp, two MMA warpgroups, two store warps, B multicast in a cluster of two",
      "bf16 128x256x64, 4 stages, cluster 2",
      {{512, 512, 320}, {256, 256, 64}, {300, 520, 200}, {8, 8, 8}, {64, 64, 0}}));
  list.push_back(example<kBigAlone>("gemm_sm90_single", "the same without a cluster", "bf16 128x256x64, 4 stages",
                                    {{256, 512, 320}, {130, 264, 72}}));
  list.push_back(example<kThree>("gemm_sm90_three", "three MMA warpgroups of 160 registers",
                                 "bf16 192x192x64, cluster 2", {{384, 192, 256}, {200, 400, 72}, {64, 64, 0}}));
  list.push_back(example<kOdd>("gemm_sm90_144", "a tile of 144 columns: the output ring passes 16 at a time",
                               "bf16 128x144x64, cluster 2", {{256, 288, 256}, {130, 160, 72}, {64, 64, 0}}));
  list.push_back(example<kAcross>("gemm_sm90_across", "two CTAs along N share a tile of A",
                                  "bf16 128x64x64, 8 stages, cluster 2",
                                  {{256, 256, 576}, {130, 72, 72}, {64, 64, 0}}));
  list.push_back(example<kSmall>("gemm_sm90_small", "one MMA warpgroup on 64x64 tiles", "bf16 64x64x64, 4 stages",
                                 {{128, 192, 512}, {1, 8, 8}, {65, 72, 200}, {64, 64, 0}}));
}

}  // namespace warpwright::runtime

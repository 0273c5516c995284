#include "device/launch.h"
#include "runtime/examples_list.h"
#include "runtime/gemm_example.h"
#include "warpwright/kernel/sm90/skinny_gemm.h"

namespace warpwright::runtime {
namespace {

constexpr SkinnyGemmConfig kAlone = deepest({.rows = 64, .tokens = 16, .split = 1});
constexpr SkinnyGemmConfig kSplit = deepest({.rows = 64, .tokens = 8, .split = 4});
constexpr SkinnyGemmConfig kWide = deepest({.rows = 128, .tokens = 64, .split = 2});
constexpr SkinnyGemmConfig kTiles = deepest({.rows = 128, .tokens = 128, .split = 2});

template <SkinnyGemmConfig C>
struct Skinny : PlainProduct<C, SkinnyGemmArgs> {
  using Kernel = kernel::sm90::SkinnyGemm<C>;
  static constexpr int ctas = 2 * C.split;
#if WW_HAVE_CUDA
  static std::optional<std::string> launch(const SkinnyGemmArgs& args, void* stream) {
    return device::launch_skinny_gemm_sm90(device::find_config(device::kSkinnyGemmSm90, C), args, stream);
  }
#endif
};

template <SkinnyGemmConfig C>
Example example(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
  return GemmExample<Skinny<C>>::make(name, summary, instance, std::move(cases));
}

}  // namespace

void add_skinny_gemm_examples(std::vector<Example>& list) {
  list.push_back(example<kAlone>("skinny_gemm", "GEMM for at most 16 rows of A: the operands change sides",
                                 "bf16 64 weights x 16 tokens, 20 stages",
                                 {{16, 256, 512}, {1, 8, 8}, {13, 200, 328}, {16, 64, 0}}));
  list.push_back(example<kSplit>(
      "skinny_gemm_split", "the same for 8 rows; a cluster of four CTAs splits k and adds through shared memory",
      "bf16 64 weights x 8 tokens, 20 stages, split 4", {{8, 384, 1024}, {1, 8, 8}, {5, 200, 328}, {3, 64, 0}}));
  list.push_back(example<kWide>(
      "skinny_gemm_wide", "the same for 64 rows: two MMA warpgroups, two CTAs split k, each owns half of the tokens",
      "bf16 128 weights x 64 tokens, split 2", {{64, 512, 512}, {1, 8, 8}, {47, 392, 328}, {64, 64, 0}}));
  list.push_back(example<kTiles>(
      "skinny_gemm_tiles", "few tiles, more rows of A than a tile has: two CTAs split k to fill the chip",
      "bf16 128 weights x 128 tokens, split 2", {{256, 256, 256}, {130, 136, 328}, {129, 64, 0}}));
}

}  // namespace warpwright::runtime

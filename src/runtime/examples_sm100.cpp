#include <fmt/format.h>

#include "device/launch_sm100.h"
#include "runtime/blockwise_workload.h"
#include "runtime/examples_list.h"
#include "runtime/problem.h"
#include "runtime/simulate.h"
#include "warpwright/kernel/sm100/blockwise_fp8.h"
#include "warpwright/kernel/sm100/dense_gemm.h"

namespace warpwright::runtime {
namespace {

using device::kBlockwiseFp8Sm100;
using device::kDenseGemmSm100;

template <DenseGemmSm100Config C>
std::optional<std::string> refuse(Case s) {
  Problem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.dtype = C.type;
  p.out_dtype = C.out_type;
  return validate(p);
}
template <DenseGemmSm100Config C>
Workload workload(Case s, Data d, uint64_t seed) {
  return gemm_workload(s, C.type, C.out_type, 1, d, seed);
}
template <DenseGemmSm100Config C>
Outcome run(const Workload& w, const simulator::Options& o, int ctas) {
  const int few = C.cluster() > 2 ? C.cluster() : 2 * C.cluster();
  return simulate<kernel::sm100::DenseGemm<C>>(
      w, o, ctas ? ctas : few, [&](auto& args, const auto& p, const auto& encode) {
        return fill(args, C, p[0], p[1], p[2], int(w.shape.m), int(w.shape.n), int(w.shape.k), float(w.alpha), encode);
      });
}

template <DenseGemmSm100Config C>
Example example(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
  // select() takes the CTAs of a cluster to stand along M; one that stands along N counts for columns instead.
  const GemmTraits traits{C.tile_m / C.cluster_n, C.tile_n * C.cluster_n, C.type, C.out_type, true};
  return {name,        summary, instance, Arch::sm100, &kernel::sm100::DenseGemm<C>::plan, std::move(cases), refuse<C>,
          workload<C>, run<C>,  nullptr,  traits};
}

template <BlockwiseFp8Sm100Config C>
std::optional<std::string> refuse_blockwise(Case s) {
  if (auto e = refuse<C.dense()>(s)) return e;
  if (s.m % 4 == 0) return {};
  return fmt::format("m = {}: the rows of the scales of A must be whole 16-byte units, so m must be a multiple of 4.",
                     s.m);
}
template <BlockwiseFp8Sm100Config C>
Workload workload_blockwise(Case s, Data d, uint64_t seed) {
  return blockwise_workload(s, C.out_type, d, seed);
}
template <BlockwiseFp8Sm100Config C>
Outcome run_blockwise(const Workload& w, const simulator::Options& o, int ctas) {
  return simulate<kernel::sm100::BlockwiseFp8<C>>(
      w, o, ctas ? ctas : 2 * C.cta_group, [&](auto& args, const auto& p, const auto& encode) {
        return fill(args, C, p[0], p[1], p[2], p[3], p[4], int(w.shape.m), int(w.shape.n), int(w.shape.k), encode);
      });
}
template <BlockwiseFp8Sm100Config C>
Example blockwise_example(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
  return {name,
          summary,
          instance,
          Arch::sm100,
          &kernel::sm100::BlockwiseFp8<C>::plan,
          std::move(cases),
          refuse_blockwise<C>,
          workload_blockwise<C>,
          run_blockwise<C>,
          nullptr};
}

}  // namespace

// From the largest tile to the smallest: select() takes the first that fits.
void add_dense_gemm_sm100_examples(std::vector<Example>& list) {
  list.push_back(example<kDenseGemmSm100[0]>(
      "gemm_sm100_cluster",
      "Blackwell GEMM by four pairs of CTAs that send each other slices of A and B (simulator only: never run on "
      "hardware by this project)",
      "bf16 256x128x64 in pairs, 6 stages, 2 accumulators, cluster 4x2", {{520, 264, 200}, {64, 64, 0}}));
  list.push_back(example<kDenseGemmSm100[1]>(
      "gemm_sm100_pair",
      "Blackwell GEMM by pairs of CTAs: load, MMA and epilogue warps, sums in tensor memory (simulator only)",
      "bf16 256x256x64 in pairs, 6 stages, 2 accumulators, cluster 2x1", {{264, 520, 200}, {64, 64, 0}}));
  list.push_back(example<kDenseGemmSm100[2]>("gemm_sm100", "the same by single CTAs (simulator only)",
                                             "bf16 128x128x64, 6 stages, 2 accumulators",
                                             {{256, 384, 520}, {128, 128, 64}, {130, 136, 72}, {64, 64, 0}}));
  list.push_back(example<kDenseGemmSm100[3]>("gemm_sm100_small", "the same on 64x64 tiles (simulator only)",
                                             "bf16 64x64x64, 8 stages, 2 accumulators",
                                             {{128, 192, 200}, {1, 8, 8}, {64, 64, 0}}));
  list.push_back(example<kDenseGemmSm100[4]>("gemm_sm100_fp16", "the same for fp16 (simulator only)",
                                             "fp16 128x128x64, 6 stages, 2 accumulators", {{130, 264, 200}}));
  list.push_back(example<kDenseGemmSm100[5]>("gemm_sm100_fp8", "e4m3 operands and a bf16 result (simulator only)",
                                             "e4m3 256x256x128 in pairs, 6 stages, 2 accumulators, cluster 2x1",
                                             {{264, 264, 400}, {8, 8, 16}}));
  list.push_back(example<kDenseGemmSm100[6]>("gemm_sm100_tf32", "tf32 operands and an fp32 result (simulator only)",
                                             "tf32 128x128x32, 6 stages, 2 accumulators",
                                             {{130, 132, 68}, {64, 64, 0}}));
  list.push_back(blockwise_example<kBlockwiseFp8Sm100[0]>(
      "blockwise_fp8_sm100", "e4m3 operands with a scale for each block of 128 along k (simulator only)",
      "e4m3 256x128x128 in pairs, 6 stages, 2 accumulators, cluster 2x1", {{264, 264, 400}, {4, 8, 0}}));
  list.push_back(
      blockwise_example<kBlockwiseFp8Sm100[1]>("blockwise_fp8_sm100_single", "the same by single CTAs (simulator only)",
                                               "e4m3 128x128x128, 6 stages, 2 accumulators", {{132, 264, 400}}));
  list.push_back(blockwise_example<kBlockwiseFp8Sm100[2]>(
      "blockwise_fp8_sm100_8_epilogue_warps",
      "two warpgroups share the columns of a tile; results leave by TMA (simulator only)",
      "e4m3 256x128x128 in pairs, 5 stages, 2 accumulators, cluster 2x1, 8 epilogue warps, output rings of 2",
      {{264, 264, 400}, {4, 8, 0}}));
}

}  // namespace warpwright::runtime

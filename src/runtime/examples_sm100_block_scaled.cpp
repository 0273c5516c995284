// The Blackwell GEMM with elements whose scale factors the tensor core applies.
#include <fmt/format.h>

#include "device/launch_sm100.h"
#include "runtime/block_scaled_workload.h"
#include "runtime/examples_list.h"
#include "runtime/simulate.h"
#include "warpwright/kernel/sm100/dense_gemm.h"

namespace warpwright::runtime {
namespace {

using device::kDenseGemmSm100;

template <DenseGemmSm100Config C>
struct Scaled {
  static std::optional<std::string> refuse(Case s) {
    if (s.m < 1 || s.n < 1 || s.k < 0) return "m and n: at least 1; k: at least 0.";
    return runtime::refuse(C, int(s.m), int(s.n), int(s.k), nullptr, nullptr);
  }
  static Workload workload(Case s, Data data, uint64_t seed) {
    return block_scaled_workload(s, C.scaling, C.type, C.out_type, data, seed);
  }
  static Outcome simulate(const Workload& w, const simulator::Options& o, int ctas) {
    return runtime::simulate<kernel::sm100::DenseGemm<C>>(
        w, o, ctas ? ctas : 2 * C.cluster(), [&](auto& args, const auto& p, const auto& encode) {
          auto why = fill(args, C, p[0], p[1], p.back(), int(w.shape.m), int(w.shape.n), int(w.shape.k), float(w.alpha),
                          encode);
          return why ? why : fill_block_scales(args, C, p[2], p[3], encode);
        });
  }
  static Example make(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
    return {name,   summary,  instance, Arch::sm100, &kernel::sm100::DenseGemm<C>::plan, std::move(cases),
            refuse, workload, simulate, nullptr};
  }
};

}  // namespace

void add_block_scaled_sm100_examples(std::vector<Example>& list) {
  list.push_back(Scaled<kDenseGemmSm100[17]>::make(
      "gemm_sm100_mxfp8", "e4m3 operands with a ue8m0 factor for 32 elements along k (simulator only)",
      "mxfp8 256x128x128 in pairs, 6 stages, 2 accumulators, cluster 2x1", {{264, 264, 400}, {8, 8, 16}, {64, 64, 0}}));
  list.push_back(Scaled<kDenseGemmSm100[18]>::make(
      "gemm_sm100_mxfp4", "e2m1 operands with a ue8m0 factor for 32 elements along k (simulator only)",
      "mxfp4 256x256x256 in pairs, 5 stages, 1 accumulator, cluster 2x1", {{264, 264, 800}, {8, 8, 32}}));
  list.push_back(Scaled<kDenseGemmSm100[19]>::make(
      "gemm_sm100_nvfp4", "e2m1 operands with a ue4m3 factor for 16 elements along k (simulator only)",
      "nvfp4 256x128x256 in pairs, 6 stages, 2 accumulators, cluster 2x1", {{264, 264, 800}, {8, 8, 32}}));
  list.push_back(Scaled<kDenseGemmSm100[20]>::make(
      "gemm_sm100_w4a8", "e4m3 times e2m1 operands with ue8m0 factors (simulator only)",
      "w4a8 256x128x128 in pairs, 6 stages, 2 accumulators, cluster 2x1", {{264, 264, 384}, {8, 8, 128}}));
}

}  // namespace warpwright::runtime

// The Blackwell GEMM with more in its epilogue than a factor, and with roles that serve it.
#include <fmt/format.h>

#include "device/launch_sm100.h"
#include "runtime/examples_list.h"
#include "runtime/gemm_example.h"
#include "warpwright/kernel/sm100/dense_gemm.h"

namespace warpwright::runtime {
namespace {

using device::kDenseGemmSm100;

template <DenseGemmSm100Config C>
struct Fused {
  using Kernel = kernel::sm100::DenseGemm<C>;
  using Args = DenseGemmSm100Args;
  static constexpr int ctas = 2 * C.cluster();

  static EpilogueConfig nodes() {
    EpilogueConfig e = C.epilogue;
    e.out = C.out_type;
    return e;
  }
  // What the TMA moves has rows of whole 16-byte units.
  static std::optional<std::string> refuse(Case s) {
    if (s.m < 1 || s.n < 1 || s.k < 0) return "m and n: at least 1; k: at least 0.";
    const int unit = 128 / bits(C.type);
    if (s.k % unit != 0) {
      return fmt::format("k = {}: rows of A and B must be whole 16-byte units, so k must be a multiple of {}.", s.k,
                         unit);
    }
    if (s.n % C.operands() != 0) return fmt::format("n = {}: gate and up come in pairs, so n must be even.", s.n);
    if (const int columns = 128 / bits(C.out_type) * C.operands(); C.store_stages > 0 && s.n % columns != 0) {
      return fmt::format("n = {}: rows of D must be whole 16-byte units, so n must be a multiple of {}.", s.n, columns);
    }
    if (C.epilogue_load_stages > 0 && C.result_columns(int(s.n)) % 8 != 0) {
      return fmt::format(
          "n = {}: rows of C, of the residual and of the bias must be whole 16-byte units, so n must be a "
          "multiple of {}.",
          s.n, 8 * C.operands());
    }
    return {};
  }
  static GemmSpec spec(Case s) {
    GemmSpec spec = plain_spec(s, C.type);
    const int columns = C.result_columns(int(s.n));
    spec.d = C.store_stages > 0 ? aligned_layout(s.m, columns, C.out_type) : odd_layout(s.m, columns);
    spec.epilogue = nodes();
    // Powers of two keep every sum exact.
    spec.alpha = 0.5;
    spec.beta = 2;
    spec.scale = 0.0625;
    return spec;
  }
  template <class Encode>
  static std::optional<std::string> fill(Args& args, const Workload& w, const std::vector<void*>& p,
                                         const Encode& encode) {
    const GemmSpec s = spec(w.shape);
    const int m = int(w.shape.m), n = int(w.shape.n), k = int(w.shape.k);
    DenseGemmSm100Config operands = C;  // the maps of the epilogue follow when it knows its matrices
    operands.store_stages = operands.epilogue_load_stages = 0;
    auto* const d = static_cast<uint8_t*>(p.back()) + s.d.offset * bits(C.out_type) / 8;
    if (auto why = runtime::fill(args, operands, p[0], p[1], d, m, n, k, float(s.alpha), encode)) return why;
    args.d_row_stride = s.d.row_stride;
    EpilogueArgs& e = args.epilogue;
    e.beta = float(s.beta);
    e.scale = float(s.scale);
    e.c = pointer_of(w, p, "C");
    e.residual = pointer_of(w, p, "residual");
    e.bias = pointer_of(w, p, "bias");
    e.up_bias = pointer_of(w, p, "up_bias");
    e.c_row_stride = e.residual_row_stride = C.result_columns(n);
    return fill_epilogue_maps(args, C, 1, 0, encode);
  }
  static std::optional<std::string> launch(const Args&, void*) { return "This kernel runs in the simulator only."; }

  static Example make(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
    Example e = GemmExample<Fused>::make(name, summary, instance, std::move(cases));
    e.launch = nullptr;
    return e;
  }
};

}  // namespace

void add_dense_gemm_sm100_epilogue_examples(std::vector<Example>& list) {
  list.push_back(Fused<kDenseGemmSm100[2]>::make(
      "gemm_sm100_any_columns", "any number of columns, rows of D that begin anywhere (simulator only)",
      "bf16 128x128x64, 6 stages, 2 accumulators", {{130, 263, 72}, {1, 1, 8}, {40, 17, 0}}));
  list.push_back(Fused<kDenseGemmSm100[12]>::make(
      "gemm_sm100_tma_store",
      "the Blackwell GEMM whose results leave through a ring in shared memory, by TMA (simulator only)",
      "bf16 256x256x64 in pairs, 6 stages, 2 accumulators, cluster 2x1, output ring of 2",
      {{264, 520, 200}, {64, 64, 0}}));
  list.push_back(Fused<kDenseGemmSm100[13]>::make(
      "gemm_sm100_residual",
      "gelu(alpha A B^T + beta C + bias) + residual; a warp loads C, bias and residual ahead of the sums (simulator "
      "only)",
      "bf16 128x128x64, 4 stages, 2 accumulators, output ring of 2, epilogue-load ring of 1",
      {{130, 264, 136}, {64, 64, 0}}));
  list.push_back(Fused<kDenseGemmSm100[14]>::make(
      "gemm_sm100_swiglu", "silu(gate) * up, whose columns alternate in the product (simulator only)",
      "bf16 256x256x64 in pairs, 6 stages, 2 accumulators, cluster 2x1, output ring of 2",
      {{264, 528, 136}, {8, 16, 8}}));
  list.push_back(Fused<kDenseGemmSm100[15]>::make(
      "gemm_sm100_8_epilogue_warps", "two warpgroups share the columns of a tile in the epilogue (simulator only)",
      "bf16 256x256x64 in pairs, 5 stages, 2 accumulators, cluster 2x1, 8 epilogue warps, output rings of 2",
      {{264, 520, 136}, {64, 64, 0}}));
  list.push_back(Fused<kDenseGemmSm100[16]>::make(
      "gemm_sm100_quantized", "e4m3 operands and a scaled e4m3 result, saturated (simulator only)",
      "e4m3 256x256x128 in pairs, 6 stages, 2 accumulators, cluster 2x1, output ring of 2",
      {{264, 272, 144}, {8, 16, 16}}));
}

}  // namespace warpwright::runtime

#include "device/launch_sm80.h"
#include "runtime/examples_list.h"
#include "runtime/gemm_example.h"
#include "warpwright/kernel/sm80/dense_gemm.h"

namespace warpwright::runtime {
namespace {

using device::kMmaSyncGemmSm80;

// How the operands of an example lie in memory: rows without gaps, or at odd places.
enum class Rows : uint8_t { aligned, dense, odd };

template <int Index, Rows R>
struct MmaSync {
  static constexpr MmaSyncGemmConfig C = kMmaSyncGemmSm80[Index];
  using Kernel = kernel::sm80::DenseGemm<C>;
  using Args = MmaSyncGemmArgs;
  static constexpr int ctas = 2;

  static std::optional<std::string> refuse(Case s) { return device::refuse_mma_sync_gemm(s.m, s.n, s.k); }
  static GemmSpec spec(Case s) {
    const auto layout = [](int64_t rows, int64_t columns, DType type) {
      return R == Rows::aligned ? aligned_layout(rows, columns, type)
             : R == Rows::dense ? dense_layout(rows, columns)
                                : odd_layout(rows, columns);
    };
    GemmSpec spec;
    spec.shape = s;
    spec.a_type = spec.b_type = C.type;
    spec.a = layout(s.m, s.k, C.type);
    spec.b = layout(s.n, s.k, C.type);
    spec.d = layout(s.m, s.n, C.out_type());
    spec.epilogue = C.epilogue;
    if (C.epilogue.source) spec.beta = -2;
    return spec;
  }
  template <class Encode>
  static std::optional<std::string> fill(Args& args, const Workload& w, const std::vector<void*>& p, const Encode&) {
    const GemmSpec s = spec(w.shape);
    const auto at = [&](const char* name, const MatrixLayout& l, DType type) {
      auto* const first = static_cast<uint8_t*>(pointer_of(w, p, name));
      return first == nullptr ? nullptr : first + l.offset * bits(type) / 8;
    };
    args = {};
    args.a = at("A", s.a, C.type);
    args.b = at("B", s.b, C.type);
    args.d = at("D", s.d, C.out_type());
    args.a_stride = s.a.row_stride;
    args.b_stride = s.b.row_stride;
    args.d_stride = s.d.row_stride;
    args.m = int(w.shape.m);
    args.n = int(w.shape.n);
    args.k = int(w.shape.k);
    args.epilogue.alpha = float(w.alpha);
    args.epilogue.beta = float(w.beta);
    args.epilogue.c = pointer_of(w, p, "C");
    args.epilogue.c_row_stride = w.shape.n;
    args.epilogue.bias = pointer_of(w, p, "bias");
    return device::refuse_rows(C, args);
  }
#if WW_HAVE_CUDA
  static std::optional<std::string> launch(const Args& args, void* stream) {
    return device::launch_mma_sync_gemm_sm80(Index, args, stream);
  }
#endif
};

template <int Index, Rows R = Rows::aligned>
Example example(const char* name, const char* summary, const char* instance, std::vector<Case> cases,
                bool chosen = true) {
  constexpr MmaSyncGemmConfig c = kMmaSyncGemmSm80[Index];
  const GemmTraits traits{c.tile_m, c.tile_n, c.type, c.out_type(), true};
  return GemmExample<MmaSync<Index, R>>::make(name, summary, instance, std::move(cases),
                                              chosen ? traits : GemmTraits{});
}

}  // namespace

void add_mma_sync_gemm_examples(std::vector<Example>& list) {
  list.push_back(example<0>("gemm_sm80", "cp.async, ldmatrix and mma.sync in the order of a compiled, proven schedule",
                            "bf16 128x256x32, 8 warps",
                            {{256, 512, 256}, {1, 1, 1}, {129, 257, 95}, {7, 300, 33}, {64, 64, 0}}));
  list.push_back(example<1>("gemm_sm80_small", "the same with four warps on 64x64 tiles", "bf16 64x64x32, 4 warps",
                            {{128, 192, 512}, {1, 8, 8}, {65, 70, 201}, {64, 64, 0}}));
  list.push_back(example<2>("gemm_sm80_fp16", "the same for fp16", "fp16 128x128x32, 4 warps",
                            {{128, 256, 96}, {100, 130, 70}, {3, 5, 0}}));
  list.push_back(example<3>("gemm_sm80_s8", "whole numbers: s8 operands, sums in s32, result in fp32",
                            "s8 128x128x64, 4 warps", {{128, 128, 256}, {65, 200, 130}, {1, 3, 1}}));
  list.push_back(example<4>("gemm_sm80_s8_scaled", "s8 operands, result scaled and rounded to bf16",
                            "s8 128x128x64, 4 warps, bf16 out", {{128, 128, 192}, {33, 72, 80}}));
  list.push_back(example<5>("gemm_sm80_e4m3", "8-bit floating point (from sm_89 on)", "e4m3 64x64x64, 4 warps",
                            {{128, 128, 256}, {65, 200, 130}}));
  list.push_back(example<6, Rows::dense>("gemm_sm80_words", "rows at multiples of 4 bytes: cp.async of 4 bytes",
                                         "bf16 64x64x32, 4 warps, 4-byte copies", {{70, 66, 102}, {65, 33, 2}}, false));
  list.push_back(example<7, Rows::odd>("gemm_sm80_odd", "rows that begin anywhere: copies through registers",
                                       "bf16 64x64x32, 4 warps, copies through registers", {{70, 65, 101}, {65, 33, 1}},
                                       false));
  list.push_back(example<8>("gemm_sm80_source", "D = relu(alpha A B^T + beta C + bias)",
                            "bf16 64x64x32, 4 warps, C, bias and relu", {{70, 72, 96}, {129, 65, 33}}, false));
}

}  // namespace warpwright::runtime

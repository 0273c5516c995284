// The Hopper GEMMs as templates, for tests that run configurations too small to be shipped, and mutants of them. Any m
// and k are legal: matrices are laid out as the configuration's movers need, with NaN between their rows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "launch/host_kernels.h"
#include "problem/refused.h"
#include "reference/workload.h"
#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm90/dense/dense_gemm.h"
#include "warpwright/kernel/sm90/skinny/skinny_gemm.h"

namespace warpwright::dense_variant {

inline constexpr EpilogueConfig kFused{.out = DType::bf16,
                                       .alpha = true,
                                       .source = true,
                                       .source_type = DType::bf16,
                                       .bias = Bias::per_column,
                                       .bias_type = DType::fp32,
                                       .activation = Activation::gelu_tanh};
inline constexpr EpilogueConfig kSwiglu{.out = DType::bf16,
                                        .alpha = true,
                                        .bias = Bias::per_column,
                                        .bias_type = DType::bf16,
                                        .activation = Activation::swiglu,
                                        .residual = true,
                                        .residual_type = DType::fp32};
inline constexpr EpilogueConfig kQuantized{.out = DType::e4m3,
                                           .alpha = true,
                                           .bias = Bias::per_row,
                                           .bias_type = DType::bf16,
                                           .activation = Activation::relu,
                                           .residual = true,
                                           .residual_type = DType::bf16,
                                           .quantize = true};

// Powers of two keep every result exact.
inline void set_factors(reference::GemmSpec& g) {
  g.alpha = 0.5;
  g.beta = 2;
  g.scale = 0.0625;
}
inline Status takes_variant(reference::Case s, DType out, Mover store) {
  if (s.m < 1 || s.n < 1 || s.k < 0) return problem::refused("m and n: at least 1; k: at least 0.");
  if (store == Mover::tma && s.n * bits(out) % 128 != 0) {
    return problem::refused("n = " + std::to_string(s.n) + ": the TMA stores rows of whole 16-byte units.");
  }
  return {};
}
inline MatrixArgs matrix_args(void* data, const reference::ArrayLayout& l, DType type) {
  return {static_cast<uint8_t*>(data) + l.offset * bits(type) / 8, l.row_stride, l.batch_stride};
}
inline EpilogueArgs epilogue_args(const reference::GemmSpec& g, const reference::Workload& w,
                                  const std::vector<void*>& p) {
  const int64_t m = w.shape.m, n = w.shape.n, columns = g.epilogue.pair() ? n / 2 : n;
  EpilogueArgs e;
  e.alpha = float(g.alpha);
  e.beta = float(g.beta);
  e.scale = float(g.scale);
  e.c = reference::pointer_of(w, p, "C");
  e.residual = reference::pointer_of(w, p, "residual");
  e.bias = reference::pointer_of(w, p, "bias");
  e.up_bias = e.bias;
  if (g.epilogue.bias == Bias::per_column)
    e.up_bias = static_cast<const uint8_t*>(e.bias) + n / 2 * bits(g.epilogue.bias_type) / 8;
  e.c_row_stride = e.residual_row_stride = columns;
  e.c_batch_stride = e.residual_batch_stride = m * columns;
  e.bias_batch_stride = g.epilogue.bias == Bias::per_row ? m : n;
  return e;
}

template <DenseGemmConfig C>
struct DenseVariant {
  using Kernel = kernel::sm90::DenseGemm<C>;
  using Args = DenseGemmArgs;
  static constexpr int ctas = 2 * C.cluster;
  static constexpr int splits = 3;
  // As many clusters as any launch here has: a workspace belongs to a number of them.
  static constexpr int most_ctas = 132;

  static Status takes(reference::Case s) { return takes_variant(s, C.out_type(), C.store); }
  static reference::ArrayLayout layout(int64_t rows, int64_t columns, DType type, Mover mover) {
    if (mover == Mover::threads) return reference::odd_layout(rows, columns);
    return C.batched || columns * bits(type) % 128 != 0 ? reference::aligned_layout(rows, columns, type)
                                                        : reference::dense_layout(rows, columns);
  }
  static reference::GemmSpec spec(reference::Case s) {
    reference::GemmSpec g;
    g.shape = s;
    g.batch = C.batched ? 3 : 1;
    g.a_type = C.type;
    g.b_type = C.b_type();
    g.a_major = C.a_major;
    g.b_major = C.b_major;
    g.a = C.a_major == Major::K ? layout(s.m, s.k, g.a_type, C.load) : layout(s.k, s.m, g.a_type, C.load);
    g.b = C.b_major == Major::K ? layout(s.n, s.k, g.b_type, C.load) : layout(s.k, s.n, g.b_type, C.load);
    g.d = layout(s.m, s.n / C.operands(), C.out_type(), C.store);
    if (C.batched && C.b_major == Major::MN) g.b.batch_stride = 0;  // one B for all
    g.epilogue = C.epilogue;
    g.scaling = C.scaling;
    if (!C.plain_epilogue() || C.scaling != Scaling::none) set_factors(g);
    if (C.split != DepthSplit::none) {
      g.workspace_bytes = C.workspace_bytes(int(s.m), int(s.n), int(g.batch), splits, most_ctas / C.cluster);
    }
    return g;
  }
  template <class Encode>
  static Status fill(Args& args, const reference::Workload& w, const std::vector<void*>& p, const Encode& encode) {
    const reference::GemmSpec g = spec(w.shape);
    const auto floats = [&](const char* name) { return static_cast<const float*>(reference::pointer_of(w, p, name)); };
    launch::DenseGemmOperands o;
    o.a = matrix_args(p[0], g.a, g.a_type);
    o.b = matrix_args(p[1], g.b, g.b_type);
    o.d = matrix_args(p.back(), g.d, C.out_type());
    o.m = int(w.shape.m);
    o.n = int(w.shape.n);
    o.k = int(w.shape.k);
    o.batches = int(g.batch);
    o.epilogue = epilogue_args(g, w, p);
    o.a_scales = floats("a_scales");
    o.b_scales = floats("b_scales");
    o.a_scales_batch_stride = C.scaling == Scaling::row_column ? w.shape.m : 0;
    o.b_scales_batch_stride = C.scaling == Scaling::row_column ? w.shape.n : 0;
    o.workspace = reference::pointer_of(w, p, "workspace");
    o.splits = splits;
    return launch::fill(args, C, o, encode);
  }
};

template <SkinnyGemmConfig C>
struct SkinnyVariant {
  using Kernel = kernel::sm90::SkinnyGemm<C>;
  using Args = SkinnyGemmArgs;
  static constexpr int ctas = 2 * C.split;

  static Status takes(reference::Case s) { return takes_variant(s, C.out_type(), Mover::tma); }
  static reference::GemmSpec spec(reference::Case s) {
    reference::GemmSpec g;
    g.shape = s;
    g.a_type = g.b_type = C.type;
    g.a = reference::aligned_layout(s.m, s.k, C.type);
    g.b = reference::aligned_layout(s.n, s.k, C.type);
    g.d = reference::aligned_layout(s.m, s.n / C.operands(), C.out_type());
    g.epilogue = C.epilogue;
    g.scaling = C.scaling;
    if (!C.plain_epilogue() || C.scaling != Scaling::none) set_factors(g);
    return g;
  }
  template <class Encode>
  static Status fill(Args& args, const reference::Workload& w, const std::vector<void*>& p, const Encode& encode) {
    const reference::GemmSpec g = spec(w.shape);
    const int64_t m = w.shape.m, n = w.shape.n, k = w.shape.k;
    if (Status s = launch::fill(args, C, matrix_args(p[0], g.a, C.type), matrix_args(p[1], g.b, C.type),
                                matrix_args(p.back(), g.d, C.out_type()), int(m), int(n), int(k),
                                epilogue_args(g, w, p), encode);
        !s) {
      return s;
    }
    args.x_scales = static_cast<const float*>(reference::pointer_of(w, p, "a_scales"));
    args.w_scales = static_cast<const float*>(reference::pointer_of(w, p, "b_scales"));
    return {};
  }
};

}  // namespace warpwright::dense_variant

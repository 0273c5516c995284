// The GEMM of mma.sync.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/grid.h"
#include "launch/refuse_sm80.h"
#include "simulate/families.h"
#include "simulate/run.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Data;
using reference::GemmSpec;
using reference::Workload;
using Pointers = std::vector<void*>;

// The operands lie where the copies of the instance can read them, and no better.
reference::ArrayLayout layout_of(const MmaSyncGemmConfig& c, int64_t rows, int64_t columns, DType type) {
  if (c.copy == RowCopy::bytes16) return reference::aligned_layout(rows, columns, type);
  if (c.copy == RowCopy::registers) return reference::odd_layout(rows, columns);
  const int64_t word = 32 / bits(type), unit = 128 / bits(type);
  int64_t stride = (columns + word - 1) / word * word;
  if (stride % unit == 0) stride += word;
  return {rows, columns, stride, rows * stride, 0};
}
GemmSpec spec_of(const MmaSyncGemmConfig& c, Case s) {
  GemmSpec spec;
  spec.shape = s;
  spec.a_type = spec.b_type = c.type;
  spec.a = layout_of(c, s.m, s.k, c.type);
  spec.b = layout_of(c, s.n, s.k, c.type);
  spec.d = layout_of(c, s.m, s.n, c.out_type());
  spec.epilogue = c.epilogue;
  if (c.epilogue.source) spec.beta = -2;
  return spec;
}

auto fill_of(const MmaSyncGemmConfig& c, const Workload& w) {
  return [&](MmaSyncGemmArgs& args, const Pointers& p, const EncodeMaps&) {
    const GemmSpec s = spec_of(c, w.shape);
    const auto at = [&](const char* name, const reference::ArrayLayout& l, DType type) {
      auto* const first = static_cast<uint8_t*>(reference::pointer_of(w, p, name));
      return first == nullptr ? nullptr : first + l.offset * bits(type) / 8;
    };
    args = {};
    args.a = at("A", s.a, c.type);
    args.b = at("B", s.b, c.type);
    args.d = at("D", s.d, c.out_type());
    args.a_stride = s.a.row_stride;
    args.b_stride = s.b.row_stride;
    args.d_stride = s.d.row_stride;
    args.m = int(w.shape.m);
    args.n = int(w.shape.n);
    args.k = int(w.shape.k);
    EpilogueArgs& e = args.epilogue;
    e.alpha = float(w.alpha);
    e.beta = float(w.beta);
    e.scale = float(s.scale);
    e.c = reference::pointer_of(w, p, "C");
    e.residual = reference::pointer_of(w, p, "residual");
    e.c_row_stride = e.residual_row_stride = w.shape.n;
    e.bias = reference::pointer_of(w, p, "bias");
    return launch::refuse_rows(c, args);
  };
}

}  // namespace

bool complete(Example& e, const catalog::Instance& instance, const MmaSyncGemmConfig& c) {
  e.refuse = [](Case s) { return launch::refuse_mma_sync_gemm(s.m, s.n, s.k); };
  e.workload = [c](Case s, Data data, uint64_t seed) { return reference::gemm_workload(spec_of(c, s), data, seed); };
  e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int ctas) {
    return run_filled<MmaSyncGemmArgs>(instance, w, o, ctas ? ctas : 2, fill_of(c, w));
  };
  e.launch = [instance, c](const Workload& w, const Pointers& p, void* stream) {
    return launch_filled<MmaSyncGemmArgs>(instance, p, stream, fill_of(c, w),
                                          [&](const MmaSyncGemmArgs& args) { return launch::work_of(c, args); });
  };
  // Plain products may be chosen.
  if (c.copy == RowCopy::bytes16 && c.epilogue == factor_and_conversion(c.out_type())) {
    e.gemm = {c.tile_m, c.tile_n, c.type, c.out_type(), true};
  }
  const Known known[] = {
      {"sm80/mma-128x256-w2x4/bf16",
       "cp.async, ldmatrix and mma.sync in the order of a compiled, proven schedule",
       {{256, 512, 256}, {1, 1, 1}, {129, 257, 95}, {7, 300, 33}, {64, 64, 0}}},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16",
       "the same with four warps on 64x64 tiles",
       {{128, 192, 512}, {1, 8, 8}, {65, 70, 201}, {64, 64, 0}}},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/fp16", "the same for fp16", {{128, 256, 96}, {100, 130, 70}, {3, 5, 0}}},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/s8",
       "whole numbers: s8 operands, sums in s32, result in fp32",
       {{128, 128, 256}, {65, 200, 130}, {1, 3, 1}}},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/s8-to_bf16",
       "s8 operands, result scaled and rounded to bf16",
       {{128, 128, 192}, {33, 72, 80}}},
      {"sm80/mma-64x64-w2x2-d3-p1-early-l2400-b2/e4m3",
       "8-bit floating point (from sm_89 on)",
       {{128, 128, 256}, {65, 200, 130}}},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-by_words",
       "rows at multiples of 4 bytes: cp.async of 4 bytes",
       {{70, 66, 102}, {65, 33, 2}}},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-by_registers",
       "rows that begin anywhere: copies through registers",
       {{70, 65, 101}, {65, 33, 1}}},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-c-bias-relu",
       "D = relu(alpha A B^T + beta C + bias)",
       {{70, 72, 96}, {129, 65, 33}}},
  };
  // Rows of an even number of elements, for copies of words.
  describe(e, known, "cp.async, ldmatrix and mma.sync in the order of a compiled, proven schedule",
           {{2 * c.tile_m, 2 * c.tile_n, 8 * c.tile_k()}, {c.tile_m + 1, c.tile_n + 4, 3 * c.tile_k() + 4}, {3, 8, 0}});
  return true;
}

}  // namespace warpwright::simulate

// What the problems of dense instances are made of.
#pragma once
#include <algorithm>
#include <cstdint>

#include "catalog/instance.h"
#include "reference/workload.h"
#include "warpwright/gemm.h"

namespace warpwright::simulate {

inline int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

inline GemmProblem blank(const catalog::Instance& instance, reference::Case s) {
  GemmProblem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.plan = catalog::name_of(instance);
  return p;
}

// Rows that begin at multiples of 16 bytes, as the TMA wants.
inline int64_t aligned_stride(int64_t columns, DType type) {
  return std::max<int64_t>(round_up(columns, 128 / bits(type)), 128 / bits(type));
}
// Rows that begin anywhere; of one element without a gap.
inline int64_t odd_stride(int64_t columns) { return columns == 1 ? 1 : columns + (columns % 2 == 0 ? 3 : 2); }

inline void set_features(GemmProblem& p, const EpilogueConfig& e, Scaling scaling, bool promoted) {
  p.d.type = e.out;
  p.scaling = scaling;
  p.accumulation = promoted ? Accumulation::promoted : Accumulation::fast;
  p.epilogue.bias = e.bias;
  p.epilogue.bias_type = e.bias_type;
  p.epilogue.activation = e.activation;
  p.epilogue.residual = e.residual;
  p.epilogue.residual_layout.type = e.residual_type;
  p.epilogue.quantize = e.quantize;
  const bool plain = e == factor_and_conversion(e.out);
  // Powers of two keep every result exact.
  if (e.alpha && (!plain || scaling != Scaling::none)) p.alpha = 0.5f;
  if (e.source) {
    p.beta = 2;
    p.c.type = e.source_type;
  }
}

// A problem for a kernel for AMD.
GemmProblem cdna_dense(const catalog::Instance& instance, const CdnaMatmulConfig& config, reference::Case shape);

}  // namespace warpwright::simulate

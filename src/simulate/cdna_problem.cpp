#include <algorithm>
#include <cstdint>

#include "simulate/dense_parts.h"
#include "simulate/instance_problem.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Condition;

// What a general kernel for AMD does with a sum is decided by the launch: the rows of a case say which of these it is.
EpilogueConfig nodes_of(Case s) {
  const EpilogueConfig lists[] = {
      {.out = DType::bf16,
       .source = true,
       .source_type = DType::fp32,
       .bias = Bias::per_column,
       .activation = Activation::relu,
       .residual = true,
       .residual_type = DType::bf16},
      {.out = DType::fp32,
       .source = true,
       .source_type = DType::bf16,
       .bias = Bias::per_row,
       .bias_type = DType::bf16,
       .activation = Activation::gelu_tanh,
       .residual = true,
       .residual_type = DType::fp16},
      {.out = DType::fp16,
       .source = true,
       .source_type = DType::fp16,
       .bias = Bias::per_column,
       .bias_type = DType::bf16,
       .activation = Activation::gelu_erf,
       .residual = true,
       .residual_type = DType::fp32},
      {.out = DType::e4m3,
       .bias = Bias::per_row,
       .bias_type = DType::fp16,
       .activation = Activation::silu,
       .quantize = true},
      {.out = DType::e5m2, .bias = Bias::per_column, .bias_type = DType::fp16, .quantize = true},
      {.out = DType::bf16}};
  static_assert(sizeof lists / sizeof lists[0] == kNodeLists);
  EpilogueConfig nodes = lists[s.m % kNodeLists];
  if (s.condition == Condition::in_place) {
    nodes.out = nodes.source_type = DType::bf16;
    nodes.source = true;
    nodes.quantize = false;
  }
  nodes.alpha = true;
  return nodes;
}

}  // namespace

GemmProblem cdna_dense(const catalog::Instance& instance, const CdnaMatmulConfig& c, Case s) {
  GemmProblem p = blank(instance, s);
  p.a.type = p.b.type = c.type;
  p.d.type = c.out_type;
  if (!c.general) return p;
  const EpilogueConfig nodes = nodes_of(s);
  set_features(p, nodes, Scaling::none, false);
  if (c.split == DepthSplit::split_k && instance.splits == 0) p.plan = catalog::name_of({instance.config, 3});
  const auto stride = [&](int64_t columns, DType type) {
    return c.by_elements ? odd_stride(columns) : aligned_stride(columns, type) + 128 / bits(type);
  };
  const auto layout = [&](MatrixLayout& m, Major major, int64_t rows) {
    m.major = major;
    m.stride = stride(major == Major::K ? s.k : rows, c.type);
    return major == Major::K ? rows : s.k;
  };
  // All four layouts, a gap between the matrices, and one B for both under every second list.
  const auto along = [&](int64_t turn) { return c.by_elements && turn % 2 == 1 ? Major::MN : Major::K; };
  const int64_t a_rows = layout(p.a, along(s.m), s.m), b_rows = layout(p.b, along(s.m / 2), s.n);
  // With three products not all counters of shared depth lie in the first line of memory.
  p.batch = c.split == DepthSplit::split_k && s.condition == Condition::real ? 3 : 2;
  p.a.batch_stride = (a_rows + 1) * p.a.stride;
  p.b.batch_stride = s.m % 2 == 0 ? 0 : (b_rows + 1) * p.b.stride;
  p.d.stride = s.n % 8 == 0 ? aligned_stride(s.n, nodes.out) : odd_stride(s.n);
  p.d.batch_stride = (s.m + 1) * p.d.stride;
  if (c.by_elements) p.alignment = std::max(bits(c.type), bits(nodes.out)) / 8;
  return p;
}

}  // namespace warpwright::simulate

#include "problem/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "api/refused.h"
#include "problem/check_formula.h"
#include "problem/check_layout.h"
#include "problem/lower.h"

namespace warpwright {
namespace {

constexpr int64_t kSmallestTile = 64;
constexpr int64_t kMostTiles = INT32_MAX;

bool wide(DType t) { return t == DType::fp32 || t == DType::bf16 || t == DType::fp16; }
bool narrow(DType t) { return t == DType::e4m3 || t == DType::e5m2; }

Status check_types(const GemmProblem& p) {
  const DType a = p.a.type, b = p.b.type;
  if (a != DType::bf16 && a != DType::fp16 && !narrow(a)) {
    return refused("a.type = {}: A must be bf16, fp16, e4m3 or e5m2.", name(a));
  }
  if (a != b && !(narrow(a) && narrow(b))) {
    return refused("b.type = {}: A is {}, and B must have its type, or be the other 8-bit type.", name(b), name(a));
  }
  if (!wide(p.d.type) && p.d.type != DType::e4m3) {
    return refused("d.type = {}: D must be fp32, bf16, fp16 or e4m3.", name(p.d.type));
  }
  if (problem::reads_c(p) && !wide(p.c.type))
    return refused("c.type = {}: C must be fp32, bf16 or fp16.", name(p.c.type));
  if (narrow(a) && (p.a.major != Major::K || p.b.major != Major::K)) {
    return refused("{}.major = MN: {} operands must be stored along k.", p.a.major != Major::K ? "a" : "b", name(a));
  }
  if (p.c.major != Major::K || p.d.major != Major::K) {
    return refused("{}.major = MN: C and D are stored [m, n].", p.c.major != Major::K ? "c" : "d");
  }
  if (p.scaling != Scaling::none && !narrow(a)) {
    return refused("scaling = {}: {} operands have no factors, so scaling must be none.",
                   p.scaling == Scaling::tensor ? "tensor" : "row_column", name(a));
  }
  if (p.accumulation == Accumulation::promoted && !narrow(a)) {
    return refused("accumulation = promoted: sums of {} products are fp32 already.", name(a));
  }
  return {};
}

Status check_epilogue(const GemmProblem& p) {
  const Epilogue& e = p.epilogue;
  if (e.bias != Bias::none && !wide(e.bias_type)) {
    return refused("epilogue.bias_type = {}: the bias must be fp32, bf16 or fp16.", name(e.bias_type));
  }
  if (Status s = problem::check_pairs(p); !s) return s;
  if (e.residual && !wide(e.residual_layout.type)) {
    return refused("epilogue.residual_layout.type = {}: the residual must be fp32, bf16 or fp16.",
                   name(e.residual_layout.type));
  }
  return {};
}

}  // namespace

Status validate(const GemmProblem& p) {
  if (p.block_scaling != BlockScaling::none) {
    return refused("block_scaling = {}: Hopper has no block-scaled products, so it must be none.",
                   name(p.block_scaling));
  }
  if (Status s = check_extent("m", p.m, kLargestExtent); !s) return s;
  if (Status s = check_extent("n", p.n, kLargestExtent); !s) return s;
  if (Status s = check_extent("k", p.k, kLargestExtent); !s) return s;
  if (Status s = check_extent("batch", p.batch, problem::kLargestBatch); !s) return s;
  const auto tiles = [](int64_t extent) { return (extent + kSmallestTile - 1) / kSmallestTile; };
  if (tiles(p.m) * tiles(p.n) > kMostTiles / std::max<int64_t>(p.batch, 1)) {
    return refused("m = {}, n = {}, batch = {}: the result has more than {} tiles of {} x {}.", p.m, p.n, p.batch,
                   kMostTiles, kSmallestTile, kSmallestTile);
  }
  if (Status s = problem::check_formula(p); !s) return s;
  if (Status s = check_types(p); !s) return s;
  if (!std::isfinite(p.alpha)) return refused("alpha = {}: it must be finite.", p.alpha);
  if (!std::isfinite(p.beta)) return refused("beta = {}: it must be finite.", p.beta);
  if (Status s = check_epilogue(p); !s) return s;
  if (Status s = problem::check_layouts(p); !s) return s;
  if (Status s = problem::check_alignment(p); !s) return s;
  if (p.sm_limit < 0) return refused("sm_limit = {}: it must not be negative.", p.sm_limit);
  return {};
}

}  // namespace warpwright

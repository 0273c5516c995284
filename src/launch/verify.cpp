#include "launch/verify.h"

#include <algorithm>
#include <cstdint>

namespace warpwright::launch {
namespace {

// Multiplications of a comparison that are made at most: seconds on a GPU.
constexpr int64_t kMostProducts = int64_t(1) << 33;

VerifyMatrix operand(const problem::StoredMatrix& m, Major major, const void* data) {
  const bool rows = major == Major::K;
  return {data, m.type, rows ? m.stride : 1, rows ? 1 : m.stride, m.count == 1 ? 0 : m.batch_stride};
}

VerifyMatrix result(const problem::StoredMatrix& m, const void* data) { return operand(m, Major::K, data); }

}  // namespace

std::optional<VerifyArgs> verify_arguments(const GemmProblem& p, const problem::Lowered& low,
                                           const GemmPointers& pointers) {
  if (p.block_scaling != BlockScaling::none || p.epilogue.activation == Activation::swiglu ||
      !p.epilogue.formula.empty())
    return std::nullopt;
  VerifyArgs args;
  args.a = operand(low.a, p.a.major, pointers.a);
  args.b = operand(low.b, p.b.major, pointers.b);
  args.d = result(low.d, pointers.d);
  if (low.reads_c) args.c = result(low.c, pointers.c);
  if (p.epilogue.residual) args.residual = result(low.residual, pointers.residual);
  if (p.epilogue.bias != Bias::none) {
    const bool per_row = p.epilogue.bias == Bias::per_row;
    args.bias = {pointers.bias, p.epilogue.bias_type, per_row ? 1 : 0, per_row ? 0 : 1, p.epilogue.bias_batch_stride};
  }
  args.m = p.m;
  args.n = p.n;
  args.k = p.k;
  args.batch = p.batch;
  args.alpha = p.alpha;
  args.beta = p.beta;
  if (p.scaling != Scaling::none) {
    args.a_scales = pointers.a_scales;
    args.b_scales = pointers.b_scales;
    args.a_scales_step = args.b_scales_step = p.scaling == Scaling::row_column ? 1 : 0;
  }
  if (p.epilogue.quantize) args.d_scale = pointers.d_scale;
  args.activation = p.epilogue.activation;
  args.promoted = p.accumulation == Accumulation::promoted;
  // Odd, so that it meets rows and columns of every kind.
  const int64_t most = std::max<int64_t>(1, kMostProducts / std::max<int64_t>(1, p.k));
  args.step = args.elements() <= most ? 1 : (args.elements() / most + 1) | 1;
  return args;
}

}  // namespace warpwright::launch

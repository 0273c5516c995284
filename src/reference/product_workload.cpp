#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "problem/lower.h"
#include "reference/problem_workload.h"

namespace warpwright::reference {
namespace {

// The factor of a quantized result; a power of two keeps integers exact.
constexpr float kResultScale = 0.5f;

ArrayLayout layout_of(const problem::StoredMatrix& m, int64_t offset) {
  // A matrix that the whole batch uses has no step.
  return {m.rows, m.columns, m.stride, m.count == 1 ? 0 : m.batch_stride, offset};
}

GemmSpec spec_of(const GemmProblem& p, Offset offset) {
  const problem::Lowered low = problem::lower(p);
  GemmSpec spec;
  spec.shape = {p.m, p.n, p.k};
  spec.batch = p.batch;
  spec.a_type = p.a.type;
  spec.b_type = p.b.type;
  spec.a_major = p.a.major;
  spec.b_major = p.b.major;
  spec.a = layout_of(low.a, offset.operands);
  spec.b = layout_of(low.b, offset.operands);
  spec.d = layout_of(low.d, offset.result);
  spec.c = layout_of(low.c, 0);
  spec.residual = layout_of(low.residual, 0);
  spec.epilogue = low.shape.epilogue;
  spec.alpha = double(p.alpha);
  spec.beta = double(p.beta);
  spec.scale = double(kResultScale);
  spec.scaling = p.scaling;
  spec.formula = p.epilogue.formula;
  return spec;
}

template <class T>
T* shifted(T* pointer, int64_t elements, DType type) {
  if (pointer == nullptr) return nullptr;
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + uintptr_t(elements * bits(type) / 8));
}

}  // namespace

GemmProblem with_packed_addends(GemmProblem p) {
  p.c.stride = p.c.batch_stride = kPacked;
  p.epilogue.residual_layout.stride = p.epilogue.residual_layout.batch_stride = kPacked;
  if (p.epilogue.bias != Bias::none) {
    p.epilogue.bias_batch_stride = p.epilogue.bias == Bias::per_row ? p.m : p.n;
  }
  return p;
}

Workload product_workload(const GemmProblem& problem, Offset offset, Data data, uint64_t seed) {
  Workload w = gemm_workload(spec_of(problem, offset), data, seed);
  if (problem.epilogue.quantize) {
    Array scale{"d_scale", DType::fp32, 1, 1, false, std::vector<uint8_t>(sizeof kResultScale), false};
    std::memcpy(scale.bytes.data(), &kResultScale, sizeof kResultScale);
    w.arrays.insert(w.arrays.end() - 1, std::move(scale));
  }
  return w;
}

void expect_again(const GemmProblem& problem, Offset offset, Workload& workload) {
  GemmSpec spec = spec_of(problem, offset);
  for (const Array& array : workload.arrays)
    if (array.name == "d_scale") spec.scale = element(array, 0);
  expect_product(spec, workload);
}

GemmPointers pointers_of(const GemmProblem& problem, Offset offset, const Workload& w,
                         const std::vector<void*>& arrays) {
  const auto at = [&](const char* name) { return pointer_of(w, arrays, name); };
  GemmPointers p;
  p.a = shifted(at("A"), offset.operands, problem.a.type);
  p.b = shifted(at("B"), offset.operands, problem.b.type);
  p.c = at("C");
  p.d = shifted(at("D"), offset.result, problem.d.type);
  p.bias = at("bias");
  p.residual = at("residual");
  if (problem.block_scaling != BlockScaling::none) {
    p.a_block_scales = at("a_scales");
    p.b_block_scales = at("b_scales");
  } else {
    p.a_scales = static_cast<const float*>(at("a_scales"));
    p.b_scales = static_cast<const float*>(at("b_scales"));
  }
  p.d_scale = static_cast<const float*>(at("d_scale"));
  return p;
}

}  // namespace warpwright::reference

#include "warpwright/quantize.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "api/refused.h"
#include "gpu/executor.h"
#include "gpu/quantize.h"
#include "launch/quantize_rules.h"

namespace warpwright {
namespace {

constexpr int64_t kLargestSide = int64_t(1) << 31;

constexpr const char* kKinds[] = {"token", "block", "mx", "nvfp4"};

Status check_type(const QuantizeProblem& p) {
  const bool byte = p.type == DType::e4m3 || p.type == DType::e5m2;
  if (p.kind == Quantization::nvfp4 && p.type != DType::e2m1) {
    return refused("type = {}: elements of nvfp4 are e2m1.", name(p.type));
  }
  if (p.kind == Quantization::mx && !byte && p.type != DType::e2m1) {
    return refused("type = {}: elements of mx are e4m3, e5m2 or e2m1.", name(p.type));
  }
  if ((p.kind == Quantization::token || p.kind == Quantization::block) && !byte) {
    return refused("type = {}: elements with factors of a {} are e4m3 or e5m2.", name(p.type), kKinds[int(p.kind)]);
  }
  return {};
}

Status check_pointer(const char* argument, const void* pointer, uintptr_t alignment) {
  if (pointer == nullptr) return refused("{} = null: the problem needs it.", argument);
  if (reinterpret_cast<uintptr_t>(pointer) % alignment != 0) {
    return refused("{} = {}: it must be a multiple of {} bytes.", argument, fmt::ptr(pointer), alignment);
  }
  return {};
}

bool aligned(const void* pointer, uintptr_t bytes) { return reinterpret_cast<uintptr_t>(pointer) % bytes == 0; }

}  // namespace

Status validate(const QuantizeProblem& p) {
  if (int(p.kind) > int(Quantization::nvfp4)) return refused("kind = {}: there is no such kind.", int(p.kind));
  if (int(p.layout) > int(ScaleLayout::tiles)) return refused("layout = {}: there is no such layout.", int(p.layout));
  if (Status s = check_extent("rows", p.rows, kLargestSide); !s) return s;
  if (Status s = check_extent("columns", p.columns, kLargestSide); !s) return s;
  if (p.stride != 0 && p.stride < p.columns) {
    return refused(
        "stride = {}: rows of {} elements would overlap; it must be "
        "0 or at least columns.",
        p.stride, p.columns);
  }
  if (p.stride > kLargestSide) return refused("stride = {}: it must be at most {}.", p.stride, kLargestSide);
  if (p.source != DType::bf16 && p.source != DType::fp16 && p.source != DType::fp32) {
    return refused("source = {}: it must be bf16, fp16 or fp32.", name(p.source));
  }
  if (Status s = check_type(p); !s) return s;
  if (p.type == DType::e2m1 && p.columns % 2 != 0) {
    return refused("columns = {}: it must be even, since two e2m1 share a byte.", p.columns);
  }
  const bool bytes = bits(scale_dtype(p.kind)) == 8;
  if (p.layout == ScaleLayout::tiles && !bytes) {
    return refused(
        "layout = tiles: the factors of a {} are fp32; those of mx "
        "and nvfp4 have tiles.",
        kKinds[int(p.kind)]);
  }
  if (p.layout == ScaleLayout::columns && bytes) {
    return refused(
        "layout = columns: the factors of {} have 8 bits; those of "
        "a token or a block may lie by columns.",
        kKinds[int(p.kind)]);
  }
  if (p.given_tensor_scale && p.kind != Quantization::nvfp4) {
    return refused(
        "given_tensor_scale = true: only nvfp4 has a factor for the whole "
        "tensor, not {}.",
        kKinds[int(p.kind)]);
  }
  return {};
}

Status validate(const QuantizeProblem& problem, const QuantizePointers& pointers) {
  if (Status s = validate(problem); !s) return s;
  if (problem.kind == Quantization::nvfp4) {
    if (Status s = check_pointer("tensor_scale", pointers.tensor_scale, sizeof(float)); !s) return s;
  }
  if (problem.rows == 0 || problem.columns == 0) return {};
  if (Status s = check_pointer("source", pointers.source, uintptr_t(bits(problem.source) / 8)); !s) return s;
  if (Status s = check_pointer("values", pointers.values, 1); !s) return s;
  return check_pointer("scales", pointers.scales, uintptr_t(bits(scale_dtype(problem.kind)) / 8));
}

int64_t value_bytes(const QuantizeProblem& p) { return p.rows * p.columns * bits(p.type) / 8; }
int64_t scale_bytes(const QuantizeProblem& p) {
  return ScaleExtents::of(p.kind, p.layout, p.rows, p.columns).count() * bits(scale_dtype(p.kind)) / 8;
}

QuantizeArgs quantize_args(const QuantizeProblem& p, const QuantizePointers& pointers) {
  const int64_t stride = p.stride == 0 ? p.columns : p.stride;
  const bool by_vectors = p.columns % quantizing::kElements == 0 && stride * bits(p.source) % 128 == 0 &&
                          aligned(pointers.source, 16) && aligned(pointers.values, 8);
  return {.source = pointers.source,
          .values = static_cast<uint8_t*>(pointers.values),
          .scales = pointers.scales,
          .tensor_scale = pointers.tensor_scale,
          .rows = p.rows,
          .columns = p.columns,
          .stride = stride,
          .source_type = p.source,
          .layout = p.layout,
          .by_vectors = by_vectors};
}

Status quantize(const QuantizeProblem& problem, const QuantizePointers& pointers, void* stream) {
  if (Status s = validate(problem, pointers); !s) return s;
  if (const auto device = gpu::this_device(); !device) return device.status();
  return gpu::quantize(problem.kind, problem.type, problem.given_tensor_scale, quantize_args(problem, pointers),
                       stream);
}

}  // namespace warpwright

#include "launch/grouped.h"

#include <fmt/format.h>

#include "launch/grouped_arguments.h"
#include "launch/tensor_map.h"

namespace warpwright::launch {
namespace {

GroupedProductOperands operands_of(const GroupedProblem& p, const GroupedPointers& pointers) {
  GroupedProductOperands o;
  o.a = const_cast<void*>(pointers.a);
  o.b = const_cast<void*>(pointers.b);
  o.a_scales = pointers.a_scales;
  o.b_scales = pointers.b_scales;
  o.d = pointers.d;
  o.n = int(p.n);
  o.k = int(p.k);
  if (p.bias != Bias::none) o.bias = pointers.bias;
  o.bias_type = p.bias_type;
  o.shared_bias = p.shared_bias;
  o.beta = p.beta;
  if (p.out == DType::e4m3) o.d_scales = pointers.d_scales;
  o.accumulate = p.accumulate;
  if (p.gathered) {
    o.index = pointers.index;
    o.a_rows = int(p.a_rows);
  }
  o.groups = table_of(p, pointers);
  return o;
}

}  // namespace

Status check_operand(const char* argument, const void* pointer, uintptr_t alignment) {
  if (pointer == nullptr) {
    return Status(Code::invalid_argument, fmt::format("{} = null: the problem needs it.", argument));
  }
  if (reinterpret_cast<uintptr_t>(pointer) % alignment != 0) {
    return Status(Code::invalid_argument,
                  fmt::format("{} = {}: it must be a multiple of {} bytes.", argument, fmt::ptr(pointer), alignment));
  }
  return {};
}

GroupTable table_of(const GroupedProblem& p, const GroupedPointers& pointers) {
  GroupTable t;
  t.rows = int(p.m);
  t.groups = int(p.group_count);
  t.matrix_count = int(matrices_of(p));
  if (p.groups == Groups::contiguous || p.groups == Groups::by_depth) t.offsets = pointers.rows;
  if (p.groups == Groups::by_depth) t.depth = int(p.k);
  if (p.groups == Groups::masked) {
    t.counts = pointers.rows;
    t.slot_rows = int(p.m / p.group_count);
  }
  if (p.groups != Groups::by_depth) t.matrices = pointers.matrices;
  t.status = pointers.status;
  return t;
}

int64_t matrices_of(const GroupedProblem& p) {
  if (p.groups == Groups::none || p.groups == Groups::by_depth) return 1;
  return p.matrix_count > 0 ? p.matrix_count : p.group_count;
}

Status check_pointers(const GroupedProblem& p, const GroupedPointers& pointers, Arch arch) {
  if (arch == Arch::sm90 && pointers.matrix_alpha != nullptr) {
    return Status(Code::invalid_argument,
                  fmt::format("matrix_alpha = {}: on sm90 matrices have no factors, so it must be null.",
                              fmt::ptr(pointers.matrix_alpha)));
  }
  if (p.k > 0) {
    if (Status s = check_operand("a", pointers.a, kTmaAlignment); !s) return s;
    if (Status s = check_operand("b", pointers.b, kTmaAlignment); !s) return s;
    if (p.scaling != BlockScaling::none) {
      if (Status s = check_operand("a_block_scales", pointers.a_block_scales, kTmaAlignment); !s) return s;
      if (Status s = check_operand("b_block_scales", pointers.b_block_scales, kTmaAlignment); !s) return s;
    } else if (p.type == DType::e4m3) {
      if (Status s = check_operand("a_scales", pointers.a_scales, sizeof(float)); !s) return s;
      if (Status s = check_operand("b_scales", pointers.b_scales, sizeof(float)); !s) return s;
    }
  }
  if (Status s = check_operand("d", pointers.d, kTmaAlignment); !s) return s;
  if (p.groups != Groups::none) {
    if (Status s = check_operand("rows", pointers.rows, sizeof(uint32_t)); !s) return s;
  }
  if (p.gathered) {
    if (Status s = check_operand("index", pointers.index, sizeof(int32_t)); !s) return s;
  }
  if (p.bias != Bias::none) {
    if (Status s = check_operand("bias", pointers.bias, uintptr_t(bits(p.bias_type)) / 4); !s) return s;
  }
  if (p.out_scaling != BlockScaling::none) {
    if (Status s = check_operand("d_block_scales", pointers.d_block_scales, kTmaAlignment); !s) return s;
  } else if (p.out == DType::e4m3) {
    if (Status s = check_operand("d_scales", pointers.d_scales, sizeof(float)); !s) return s;
  }
  return {};
}

Status fill_arguments(Arguments& args, const catalog::Instance& instance, const GroupedProblem& problem,
                      const GroupedPointers& pointers, const MapEncoder& maps) {
  if (catalog::arch_of(instance) == Arch::sm100) return fill_sm100(args, instance, problem, pointers, maps);
  const GroupedProductOperands operands = operands_of(problem, pointers);
  if (const auto* few = instance.as<SkinnyBlockwiseConfig>()) {
    return fill(args.emplace<SkinnyBlockwiseArgs>(), *few, operands, maps);
  }
  return fill(args.emplace<GroupedGemmArgs>(), *instance.as<GroupedGemmConfig>(), operands, maps);
}

}  // namespace warpwright::launch

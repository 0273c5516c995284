#include "launch/moe.h"

#include <cstdint>

#include "launch/grouped.h"
#include "launch/tensor_map.h"
#include "warpwright/kernel/sm90/grouped/config.h"

namespace warpwright::launch {
namespace {

constexpr size_t kPart = 128;  // bytes at whose multiples a part of the workspace begins

int64_t pairs_of(const MoeProblem& p) { return p.tokens * (p.top_k + p.shared); }

// Where the parts of the workspace begin, and its end.
struct Parts {
  size_t offsets, index, slots, between, scales, rows, end;
};
Parts parts_of(const MoeProblem& p, Arch arch) {
  size_t at = 0;
  const auto part = [&](int64_t bytes) {
    const size_t begin = at;
    at += (size_t(bytes) + kPart - 1) / kPart * kPart;
    return begin;
  };
  const int64_t pairs = pairs_of(p);
  Parts parts{};
  parts.offsets = part((p.experts + 1) * 4);
  parts.index = part(pairs * 4);
  parts.slots = part(pairs * 4);
  parts.between = part(pairs * p.intermediate * bits(p.type) / 8);
  // By rows on Hopper, by columns on Blackwell, as the second product takes them there.
  const int64_t scaled = arch == Arch::sm100 ? (pairs + 3) / 4 * 4 : pairs;
  parts.scales = part(p.type == DType::e4m3 ? scaled * (p.intermediate / kScaleBlock) * 4 : 0);
  parts.rows = part(pairs * p.hidden * 2);
  parts.end = at;
  return parts;
}

GroupedProblem grouped_problem(const MoeProblem& p, int64_t n, int64_t k) {
  GroupedProblem g;
  g.groups = Groups::contiguous;
  g.m = pairs_of(p);
  g.n = n;
  g.k = k;
  g.group_count = p.experts;
  g.type = p.type;
  g.sm_limit = p.sm_limit;
  return g;
}

}  // namespace

GroupedProblem gate_up_problem(const MoeProblem& p) {
  GroupedProblem g = grouped_problem(p, 2 * p.intermediate, p.hidden);
  g.activation = Activation::swiglu;
  g.out = p.type;
  g.gathered = true;
  g.a_rows = p.tokens;
  g.plan = p.gate_up_plan;
  return g;
}
GroupedProblem down_problem(const MoeProblem& p) {
  GroupedProblem g = grouped_problem(p, p.hidden, p.intermediate);
  g.plan = p.down_plan;
  return g;
}
RouteConfig route_config(const MoeProblem& p, Arch arch) {
  return {.id_bytes = p.id_bytes, .shared = p.shared > 0, .arch = arch};
}
CombineConfig combine_config(const MoeProblem& p, Arch arch) { return {.shared = p.shared > 0, .arch = arch}; }

Status check_pointers(const MoeProblem& p, const MoePointers& pointers) {
  const struct {
    const char* name;
    const void* pointer;
    uintptr_t alignment;
  } all[] = {{"x", pointers.x, kTmaAlignment},
             {"w_gate_up", pointers.w_gate_up, kTmaAlignment},
             {"w_down", pointers.w_down, kTmaAlignment},
             {"ids", pointers.ids, uintptr_t(p.id_bytes)},
             {"weights", pointers.weights, sizeof(float)},
             {"out", pointers.out, kTmaAlignment}};
  for (const auto& one : all) {
    if (Status s = check_operand(one.name, one.pointer, one.alignment); !s) return s;
  }
  if (p.shared > 0 && pointers.shared_weights != nullptr) {
    if (Status s = check_operand("shared_weights", pointers.shared_weights, sizeof(float)); !s) return s;
  }
  if (p.type != DType::e4m3) return {};
  if (Status s = check_operand("x_scales", pointers.x_scales, sizeof(float)); !s) return s;
  if (Status s = check_operand("w_gate_up_scales", pointers.w_gate_up_scales, sizeof(float)); !s) return s;
  return check_operand("w_down_scales", pointers.w_down_scales, sizeof(float));
}

size_t workspace_bytes(const MoeProblem& p, Arch arch) { return parts_of(p, arch).end; }

MoeLaunches moe_launches(const MoeProblem& p, Arch arch, const MoePointers& pointers, void* workspace) {
  const Parts parts = parts_of(p, arch);
  auto* const base = static_cast<uint8_t*>(workspace);
  auto* const offsets = reinterpret_cast<uint32_t*>(base + parts.offsets);
  auto* const index = reinterpret_cast<int32_t*>(base + parts.index);
  auto* const slots = reinterpret_cast<int32_t*>(base + parts.slots);
  auto* const scales = reinterpret_cast<float*>(base + parts.scales);
  MoeLaunches l;
  l.route = {pointers.ids,
             pointers.weights,
             pointers.token_count,
             int32_t(p.tokens),
             int32_t(p.top_k),
             int32_t(p.experts),
             offsets,
             index,
             slots,
             pointers.status,
             int32_t(p.shared),
             pointers.shared_weights};
  l.gate_up.a = pointers.x;
  l.gate_up.b = pointers.w_gate_up;
  l.gate_up.a_scales = pointers.x_scales;
  l.gate_up.b_scales = pointers.w_gate_up_scales;
  l.gate_up.d = base + parts.between;
  l.gate_up.d_scales = scales;
  l.gate_up.rows = offsets;
  l.gate_up.index = index;
  l.down.a = base + parts.between;
  l.down.b = pointers.w_down;
  l.down.a_scales = scales;
  l.down.b_scales = pointers.w_down_scales;
  l.down.d = base + parts.rows;
  l.down.rows = offsets;
  l.combine = {base + parts.rows, slots,
               pointers.weights,  pointers.token_count,
               pointers.out,      int32_t(p.tokens),
               int32_t(p.top_k),  int32_t(p.hidden),
               int32_t(p.shared), pointers.shared_weights};
  return l;
}

}  // namespace warpwright::launch

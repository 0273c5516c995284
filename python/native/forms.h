// The calls that have a warm way, as tables: the arguments of each function in _torch.py, _torch_grouped.py and
// _torch_moe.py in their order, which of them are tensors, and where the library's structure wants their addresses.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "warpwright/c_api.h"

namespace warpwright::native {

// A tensor among the arguments.
struct Operand {
  int place;
  size_t address;             // of the structure, in bytes
  bool decides_plan = false;  // by how its address is aligned
};

constexpr size_t kNoWorkspace = size_t(-1);

struct Form {
  int arguments;
  std::span<const Operand> operands;
  std::span<const int> settings;  // all other arguments
  size_t needed;                  // this many operands at the beginning are always given
  int out;                        // which operand is the result
  size_t structure;               // bytes
  size_t workspace;               // where its address stands; its size stands behind it
};

#define WW_AT(structure, field) offsetof(structure, field)

enum class Gemm {
  a,
  b,
  out,
  out_dtype,
  c,
  alpha,
  beta,
  bias,
  activation,
  residual,
  a_scale,
  b_scale,
  out_scale,
  accumulation,
  deterministic,
  sm_limit,
  plan,
  epilogue,
  count
};
constexpr std::array kGemmOperands{
    Operand{int(Gemm::a), WW_AT(ww_gemm_pointers, a), true},
    Operand{int(Gemm::b), WW_AT(ww_gemm_pointers, b), true},
    Operand{int(Gemm::out), WW_AT(ww_gemm_pointers, d), true},
    Operand{int(Gemm::c), WW_AT(ww_gemm_pointers, c)},
    Operand{int(Gemm::bias), WW_AT(ww_gemm_pointers, bias)},
    Operand{int(Gemm::residual), WW_AT(ww_gemm_pointers, residual)},
    Operand{int(Gemm::a_scale), WW_AT(ww_gemm_pointers, a_scales)},
    Operand{int(Gemm::b_scale), WW_AT(ww_gemm_pointers, b_scales)},
    Operand{int(Gemm::out_scale), WW_AT(ww_gemm_pointers, d_scale)},
};
constexpr std::array kGemmSettings{int(Gemm::out_dtype),  int(Gemm::alpha),        int(Gemm::beta),
                                   int(Gemm::activation), int(Gemm::accumulation), int(Gemm::deterministic),
                                   int(Gemm::sm_limit),   int(Gemm::plan),         int(Gemm::epilogue)};

enum class Grouped {
  a,
  b,
  offsets,
  counts,
  depths,
  experts,
  index,
  a_scale,
  b_scale,
  bias,
  activation,
  out,
  out_dtype,
  scales_out,
  accumulate,
  status,
  usual_rows,
  sm_limit,
  plan,
  epilogue,
  beta,
  count
};
constexpr std::array kGroupedOperands{
    Operand{int(Grouped::a), WW_AT(ww_grouped_pointers, a)},
    Operand{int(Grouped::b), WW_AT(ww_grouped_pointers, b)},
    Operand{int(Grouped::out), WW_AT(ww_grouped_pointers, d)},
    Operand{int(Grouped::offsets), WW_AT(ww_grouped_pointers, rows)},  // one of these three is given
    Operand{int(Grouped::counts), WW_AT(ww_grouped_pointers, rows)},
    Operand{int(Grouped::depths), WW_AT(ww_grouped_pointers, rows)},
    Operand{int(Grouped::experts), WW_AT(ww_grouped_pointers, matrices)},
    Operand{int(Grouped::index), WW_AT(ww_grouped_pointers, index)},
    Operand{int(Grouped::a_scale), WW_AT(ww_grouped_pointers, a_scales)},
    Operand{int(Grouped::b_scale), WW_AT(ww_grouped_pointers, b_scales)},
    Operand{int(Grouped::bias), WW_AT(ww_grouped_pointers, bias)},
    Operand{int(Grouped::scales_out), WW_AT(ww_grouped_pointers, d_scales)},
    Operand{int(Grouped::status), WW_AT(ww_grouped_pointers, status)},
};
constexpr std::array kGroupedSettings{int(Grouped::activation), int(Grouped::out_dtype), int(Grouped::accumulate),
                                      int(Grouped::usual_rows), int(Grouped::sm_limit),  int(Grouped::plan),
                                      int(Grouped::epilogue),   int(Grouped::beta)};

enum class Moe {
  x,
  w_gate_up,
  w_down,
  topk_ids,
  topk_weights,
  x_scale,
  w_gate_up_scale,
  w_down_scale,
  shared,
  shared_weights,
  token_count,
  out,
  status,
  sm_limit,
  count
};
constexpr std::array kMoeOperands{
    Operand{int(Moe::x), WW_AT(ww_moe_pointers, x)},
    Operand{int(Moe::w_gate_up), WW_AT(ww_moe_pointers, w_gate_up)},
    Operand{int(Moe::w_down), WW_AT(ww_moe_pointers, w_down)},
    Operand{int(Moe::topk_ids), WW_AT(ww_moe_pointers, ids)},
    Operand{int(Moe::topk_weights), WW_AT(ww_moe_pointers, weights)},
    Operand{int(Moe::out), WW_AT(ww_moe_pointers, out)},
    Operand{int(Moe::x_scale), WW_AT(ww_moe_pointers, x_scales)},
    Operand{int(Moe::w_gate_up_scale), WW_AT(ww_moe_pointers, w_gate_up_scales)},
    Operand{int(Moe::w_down_scale), WW_AT(ww_moe_pointers, w_down_scales)},
    Operand{int(Moe::shared_weights), WW_AT(ww_moe_pointers, shared_weights)},
    Operand{int(Moe::token_count), WW_AT(ww_moe_pointers, token_count)},
    Operand{int(Moe::status), WW_AT(ww_moe_pointers, status)},
};
constexpr std::array kMoeSettings{int(Moe::shared), int(Moe::sm_limit)};

// In the order of the addresses that Python hands over.
enum FormIndex { kGemm, kGrouped, kMoe, kForms };
constexpr std::array<Form, kForms> kFormOf{
    Form{int(Gemm::count), kGemmOperands, kGemmSettings, 2, 2, sizeof(ww_gemm_pointers),
         WW_AT(ww_gemm_pointers, workspace)},
    Form{int(Grouped::count), kGroupedOperands, kGroupedSettings, 2, 2, sizeof(ww_grouped_pointers), kNoWorkspace},
    Form{int(Moe::count), kMoeOperands, kMoeSettings, 5, 5, sizeof(ww_moe_pointers), WW_AT(ww_moe_pointers, workspace)},
};
static_assert(offsetof(ww_gemm_pointers, workspace_bytes) == offsetof(ww_gemm_pointers, workspace) + sizeof(void*));
static_assert(offsetof(ww_moe_pointers, workspace_bytes) == offsetof(ww_moe_pointers, workspace) + sizeof(void*));

#undef WW_AT

constexpr size_t most(size_t (*size_of)(const Form&)) {
  size_t found = 0;
  for (const Form& form : kFormOf) found = size_of(form) > found ? size_of(form) : found;
  return found;
}
constexpr size_t kMostOperands = most([](const Form& f) { return f.operands.size(); });
constexpr size_t kMostSettings = most([](const Form& f) { return f.settings.size(); });
constexpr size_t kMostArguments = most([](const Form& f) { return size_t(f.arguments); });
constexpr size_t kMostBytes = most([](const Form& f) { return f.structure; });

constexpr bool every_argument_has_its_place() {
  for (const Form& form : kFormOf) {
    if (form.operands.size() + form.settings.size() != size_t(form.arguments)) return false;
    uint64_t seen = 0;
    for (const Operand& operand : form.operands) seen |= uint64_t(1) << operand.place;
    for (const int place : form.settings) seen |= uint64_t(1) << place;
    if (seen + 1 != uint64_t(1) << form.arguments) return false;
  }
  return true;
}
static_assert(every_argument_has_its_place(), "every argument is an operand or a setting");

}  // namespace warpwright::native

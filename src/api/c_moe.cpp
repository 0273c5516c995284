#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>

#include "api/c_error.h"
#include "warpwright/c_api.h"
#include "warpwright/moe.h"

using namespace warpwright;

static_assert(uint32_t(WW_EXPERT_OUT_OF_RANGE) == kExpertOutOfRange &&
              uint32_t(WW_WEIGHT_NOT_A_NUMBER) == kWeightNotANumber &&
              uint32_t(WW_TOKENS_OUT_OF_RANGE) == kTokensOutOfRange);

struct ww_moe_plan {
  MoePlan plan;
  std::string explanation;
};

namespace {

// A caller compiled against another version has another size. It may be smaller; the rest then has its defaults.
template <class T>
Status take_moe(const char* argument, const T* from, T& to) {
  if (from == nullptr) return Status(Code::invalid_argument, fmt::format("{} = null: it must be given.", argument));
  if (from->size < sizeof from->size || from->size > sizeof(T)) {
    return Status(
        Code::invalid_argument,
        fmt::format(
            "{0}->size = {1}: it must be set by ww_moe_{0}_init, and the library must not be older than its header.",
            argument, from->size));
  }
  std::memcpy(&to, from, from->size);
  return {};
}

Status convert_moe(const ww_moe_problem* given, MoeProblem& p) {
  ww_moe_problem from;
  ww_moe_problem_init(&from);
  if (Status s = take_moe("problem", given, from); !s) return s;
  p.tokens = from.tokens;
  p.hidden = from.hidden;
  p.intermediate = from.intermediate;
  p.experts = from.experts;
  p.top_k = from.top_k;
  p.id_bytes = from.id_bytes;
  p.sm_limit = from.sm_limit;
  p.shared = from.shared;
  if (from.gate_up_plan != nullptr) p.gate_up_plan = from.gate_up_plan;
  if (from.down_plan != nullptr) p.down_plan = from.down_plan;
  return api::word("type", from.type, kDTypes, p.type);
}

}  // namespace

extern "C" {

void ww_moe_problem_init(ww_moe_problem* problem) {
  if (problem == nullptr) return;
  *problem = {};
  problem->size = sizeof *problem;
  problem->experts = problem->top_k = 1;
  problem->type = WW_BF16;
  problem->id_bytes = 4;
}

void ww_moe_pointers_init(ww_moe_pointers* pointers) {
  if (pointers == nullptr) return;
  *pointers = {};
  pointers->size = sizeof *pointers;
}

int32_t ww_moe_validate(const ww_moe_problem* problem) {
  return api::guarded([&] {
    MoeProblem p;
    if (Status s = convert_moe(problem, p); !s) return s;
    return validate(p);
  });
}

int32_t ww_moe_plan_create(const ww_moe_problem* problem, ww_moe_plan** plan) {
  return api::guarded([&] {
    if (plan == nullptr) return Status(Code::invalid_argument, "plan = null: it must be given.");
    *plan = nullptr;
    MoeProblem p;
    if (Status s = convert_moe(problem, p); !s) return s;
    auto made = make_plan(p);
    if (!made) return made.status();
    std::string explanation = made->explanation();
    *plan = new ww_moe_plan{std::move(*made), std::move(explanation)};
    return Status();
  });
}

void ww_moe_plan_destroy(ww_moe_plan* plan) { delete plan; }

int32_t ww_moe_plan_run(const ww_moe_plan* plan, const ww_moe_pointers* pointers, void* stream) {
  return api::guarded([&] {
    if (plan == nullptr) return Status(Code::invalid_argument, "plan = null: it must be given.");
    ww_moe_pointers from = {};
    if (Status s = take_moe("pointers", pointers, from); !s) return s;
    return plan->plan.run({from.x, from.w_gate_up, from.w_down, from.ids, from.weights, from.out, from.token_count,
                           from.status, from.x_scales, from.w_gate_up_scales, from.w_down_scales, from.shared_weights,
                           from.workspace, from.workspace_bytes},
                          stream);
  });
}

size_t ww_moe_plan_workspace_bytes(const ww_moe_plan* plan) {
  return plan == nullptr ? 0 : plan->plan.workspace_bytes();
}
const char* ww_moe_plan_explanation(const ww_moe_plan* plan) {
  return plan == nullptr ? "" : plan->explanation.c_str();
}

}  // extern "C"

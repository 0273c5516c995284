#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>

#include "api/c_error.h"
#include "api/c_texts.h"
#include "warpwright/c_api.h"
#include "warpwright/grouped.h"

using namespace warpwright;

static_assert(int(WW_GROUPS_CONTIGUOUS) == int(Groups::contiguous) && int(WW_GROUPS_MASKED) == int(Groups::masked) &&
              int(WW_GROUPS_BY_DEPTH) == int(Groups::by_depth));

struct ww_grouped_plan {
  GroupedPlan plan;
  mutable api::CTexts texts;
};

namespace {

using api::word;

// A caller compiled against another version has another size. It may be smaller; the rest then has its defaults.
template <class T>
Status take_grouped(const char* argument, const T* from, T& to) {
  if (from == nullptr) return Status(Code::invalid_argument, fmt::format("{} = null: it must be given.", argument));
  if (from->size < sizeof from->size || from->size > sizeof(T)) {
    return Status(
        Code::invalid_argument,
        fmt::format("{0}->size = {1}: it must be set by ww_grouped_{0}_init, and the library must not be older than "
                    "its header.",
                    argument, from->size));
  }
  std::memcpy(&to, from, from->size);
  return {};
}

Status convert(const ww_grouped_problem* given, GroupedProblem& p) {
  ww_grouped_problem from;
  ww_grouped_problem_init(&from);
  if (Status s = take_grouped("problem", given, from); !s) return s;
  p.m = from.m;
  p.n = from.n;
  p.k = from.k;
  p.group_count = from.group_count;
  p.matrix_count = from.matrix_count;
  p.usual_rows = from.usual_rows;
  if (Status s = word("groups", from.groups, Groups::by_depth, p.groups); !s) return s;
  if (Status s = word("type", from.type, kDTypes, p.type); !s) return s;
  if (Status s = word("out", from.out, kDTypes, p.out); !s) return s;
  p.sm_limit = from.sm_limit;
  p.a_scales = {from.a_scales_rows, from.a_scales_columns};
  p.b_scales = {from.b_scales_rows, from.b_scales_columns};
  if (from.plan != nullptr) p.plan = from.plan;
  p.b_scale_rows = from.b_scale_rows;
  if (Status s = word("activation", from.activation, kActivations, p.activation); !s) return s;
  if (Status s = word("bias", from.bias, kBiases, p.bias); !s) return s;
  if (Status s = word("bias_type", from.bias_type, kDTypes, p.bias_type); !s) return s;
  p.shared_bias = from.shared_bias != 0;
  p.accumulate = from.accumulate != 0;
  if (Status s = word("scaling", from.scaling, kBlockScalings, p.scaling); !s) return s;
  p.clamped_swiglu = from.clamped_swiglu != 0;
  p.gathered = from.gathered != 0;
  p.a_rows = from.a_rows;
  p.beta = from.beta;
  if (from.formula != nullptr) p.formula = from.formula;
  if (Status s = word("tuning", from.tuning, kTunings, p.tuning); !s) return s;
  if (Status s = word("a_major", from.a_major, Major::MN, p.a_major); !s) return s;
  if (Status s = word("b_major", from.b_major, Major::MN, p.b_major); !s) return s;
  return word("out_scaling", from.out_scaling, kBlockScalings, p.out_scaling);
}

}  // namespace

extern "C" {

void ww_grouped_problem_init(ww_grouped_problem* problem) {
  if (problem == nullptr) return;
  *problem = {};
  problem->size = sizeof *problem;
  problem->group_count = 1;
  problem->type = WW_E4M3;
  problem->out = WW_BF16;
  problem->b_scale_rows = 128;
  problem->bias_type = WW_FP32;
  problem->a_scales_rows = problem->a_scales_columns = problem->b_scales_rows = problem->b_scales_columns = -1;
}

void ww_grouped_pointers_init(ww_grouped_pointers* pointers) {
  if (pointers == nullptr) return;
  *pointers = {};
  pointers->size = sizeof *pointers;
}

int32_t ww_grouped_validate(const ww_grouped_problem* problem) {
  return api::guarded([&] {
    GroupedProblem p;
    if (Status s = convert(problem, p); !s) return s;
    return validate(p);
  });
}

int32_t ww_grouped_plan_create(const ww_grouped_problem* problem, ww_grouped_plan** plan) {
  return api::guarded([&] {
    if (plan == nullptr) return Status(Code::invalid_argument, "plan = null: it must be given.");
    *plan = nullptr;
    GroupedProblem p;
    if (Status s = convert(problem, p); !s) return s;
    auto made = make_plan(p);
    if (!made) return made.status();
    *plan = new ww_grouped_plan{std::move(*made), {}};
    return Status();
  });
}

void ww_grouped_plan_destroy(ww_grouped_plan* plan) { delete plan; }

int32_t ww_grouped_plan_run(const ww_grouped_plan* plan, const ww_grouped_pointers* pointers, void* stream) {
  return api::guarded([&] {
    if (plan == nullptr) return Status(Code::invalid_argument, "plan = null: it must be given.");
    ww_grouped_pointers from = {};
    if (Status s = take_grouped("pointers", pointers, from); !s) return s;
    return plan->plan.run({from.a, from.b, from.a_scales, from.b_scales, from.d, from.rows, from.matrices, from.status,
                           from.bias, from.d_scales, from.a_block_scales, from.b_block_scales, from.d_block_scales,
                           from.a_block_rows, from.d_block_rows, from.matrix_alpha, from.index},
                          stream);
  });
}

const char* ww_grouped_plan_name(const ww_grouped_plan* plan) {
  return plan == nullptr ? "" : plan->texts.keep(plan->plan.name());
}
const char* ww_grouped_plan_explanation(const ww_grouped_plan* plan) {
  return plan == nullptr ? "" : plan->texts.keep(plan->plan.explanation());
}

}  // extern "C"

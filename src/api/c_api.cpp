#include "warpwright/c_api.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "api/c_error.h"
#include "api/c_texts.h"
#include "formula/formula.h"
#include "warpwright/core/words.h"
#include "warpwright/gemm.h"

#ifndef WARPWRIGHT_VERSION
#define WARPWRIGHT_VERSION "unknown"
#endif

using namespace warpwright;

static_assert(int(WW_MAJOR_K) == int(Major::K) && int(WW_MAJOR_MN) == int(Major::MN));
static_assert(int(WW_FAILED) == int(Code::failed) && int(WW_MISSING) == int(Code::missing));
static_assert(WW_PACKED == kPacked);

std::string& api::last_error() {
  thread_local std::string sentence;
  return sentence;
}

struct ww_plan {
  GemmPlan plan;
  mutable api::CTexts texts;
};

namespace {

using api::guarded;
using api::word;

Status layout(const char* argument, const ww_matrix_layout& from, MatrixLayout& to) {
  if (Status s = word(argument, from.type, kDTypes, to.type); !s) return s;
  if (Status s = word(argument, from.major, Major::MN, to.major); !s) return s;
  to.stride = from.stride;
  to.batch_stride = from.batch_stride;
  return {};
}

// A caller compiled against another version has another size. It may be smaller; the rest then has its defaults.
template <class T>
Status take(const char* argument, const T* from, T& to) {
  if (from == nullptr) return Status(Code::invalid_argument, fmt::format("{} = null: it must be given.", argument));
  if (from->size < offsetof(T, size) + sizeof from->size || from->size > sizeof(T)) {
    return Status(
        Code::invalid_argument,
        fmt::format("{}->size = {}: it must be set by {}, and the library must not be older than its header.", argument,
                    from->size, std::is_same_v<T, ww_gemm_problem> ? "ww_gemm_problem_init" : "ww_gemm_pointers_init"));
  }
  std::memcpy(&to, from, from->size);
  return {};
}

Status convert(const ww_gemm_problem* given, GemmProblem& p) {
  ww_gemm_problem from;
  ww_gemm_problem_init(&from);
  if (Status s = take("problem", given, from); !s) return s;
  p.m = from.m;
  p.n = from.n;
  p.k = from.k;
  p.batch = from.batch;
  if (Status s = layout("a", from.a, p.a); !s) return s;
  if (Status s = layout("b", from.b, p.b); !s) return s;
  if (Status s = layout("c", from.c, p.c); !s) return s;
  if (Status s = layout("d", from.d, p.d); !s) return s;
  p.alpha = from.alpha;
  p.beta = from.beta;
  if (Status s = word("scaling", from.scaling, kScalings, p.scaling); !s) return s;
  if (Status s = word("accumulation", from.accumulation, kAccumulations, p.accumulation); !s) return s;
  if (Status s = word("bias", from.bias, kBiases, p.epilogue.bias); !s) return s;
  if (Status s = word("bias_type", from.bias_type, kDTypes, p.epilogue.bias_type); !s) return s;
  p.epilogue.bias_batch_stride = from.bias_batch_stride;
  if (Status s = word("activation", from.activation, kActivations, p.epilogue.activation); !s) return s;
  p.epilogue.residual = from.residual != 0;
  if (Status s = layout("residual_layout", from.residual_layout, p.epilogue.residual_layout); !s) return s;
  p.epilogue.quantize = from.quantize != 0;
  p.alignment = from.alignment;
  p.sm_limit = from.sm_limit;
  p.deterministic = from.deterministic != 0;
  p.dependent = from.dependent != 0;
  p.b_is_constant = from.b_is_constant != 0;
  if (from.plan != nullptr) p.plan = from.plan;
  if (from.formula != nullptr) p.epilogue.formula = from.formula;
  if (Status s = word("tuning", from.tuning, kTunings, p.tuning); !s) return s;
  return word("block_scaling", from.block_scaling, kBlockScalings, p.block_scaling);
}

Status convert(const ww_gemm_pointers* given, GemmPointers& p) {
  ww_gemm_pointers from = {};
  if (Status s = take("pointers", given, from); !s) return s;
  p = {from.a,        from.b,        from.c,       from.d,         from.bias,           from.residual,
       from.a_scales, from.b_scales, from.d_scale, from.workspace, from.workspace_bytes};
  p.a_block_scales = from.a_block_scales;
  p.b_block_scales = from.b_block_scales;
  return {};
}

#define WW_WORD_AND_VALUE(name_, NAME, value, word) " " word "=" #value
#define WW_TABLE_ROW(name_, TABLE) {name_, &(TABLE(WW_WORD_AND_VALUE))[1]},
constexpr struct {
  const char* name;
  const char* words;
} kWordTables[] = {WW_WORD_TABLES(WW_TABLE_ROW)};

ww_matrix_layout packed_bf16() { return {WW_BF16, WW_MAJOR_K, WW_PACKED, WW_PACKED}; }

// Sums in host memory and what a formula is told about them.
struct FormulaOperands {
  float* sums;
  int64_t batch, rows, columns;
  const float *c, *bias, *row_bias, *residual;
  float beta;
  int64_t first_row = 0, first_batch = 0;
};

Status apply(const char* text, const FormulaOperands& o) {
  if (text == nullptr) return Status(Code::invalid_argument, "formula = null: it must be given.");
  const auto formula = formula::parse(text);
  if (!formula) return formula.status();
  if (o.batch < 0 || o.rows < 0 || o.columns < 0) {
    return Status(Code::invalid_argument, "batch, rows, columns: they must not be negative.");
  }
  if (o.sums == nullptr && o.batch * o.rows * o.columns > 0) {
    return Status(Code::invalid_argument, "sums = null: they must be given.");
  }
  const struct {
    formula::Name name;
    const float* given;
  } operands[] = {{formula::Name::c, o.c},
                  {formula::Name::bias, o.bias},
                  {formula::Name::row_bias, o.row_bias},
                  {formula::Name::residual, o.residual}};
  for (const auto& [name, given] : operands) {
    if (formula->uses(name) && given == nullptr) {
      return Status(Code::invalid_argument, std::string(formula::word(name)) + " = null: the formula names it.");
    }
  }
  const auto at = [](const float* p, int64_t i) { return p == nullptr ? 0.f : p[i]; };
  for (int64_t i = 0; i < o.batch * o.rows * o.columns; ++i) {
    const int64_t row = i / o.columns % o.rows, column = i % o.columns;
    o.sums[i] = formula->value(formula::Values<float>{.x = o.sums[i],
                                                      .c = at(o.c, i),
                                                      .bias = at(o.bias, column),
                                                      .row_bias = at(o.row_bias, row),
                                                      .residual = at(o.residual, i),
                                                      .beta = o.beta,
                                                      .row = int32_t(o.first_row + row),
                                                      .column = int32_t(column),
                                                      .batch = int32_t(o.first_batch + i / o.columns / o.rows)});
  }
  return {};
}

}  // namespace

extern "C" {

void ww_gemm_problem_init(ww_gemm_problem* problem) {
  if (problem == nullptr) return;
  *problem = {};
  problem->size = sizeof *problem;
  problem->batch = 1;
  problem->a = problem->b = problem->c = problem->d = problem->residual_layout = packed_bf16();
  problem->alpha = 1;
  problem->bias_type = WW_FP32;
  problem->alignment = 16;
  problem->dependent = 1;
}

void ww_gemm_pointers_init(ww_gemm_pointers* pointers) {
  if (pointers == nullptr) return;
  *pointers = {};
  pointers->size = sizeof *pointers;
}

const char* ww_words(const char* table) {
  for (const auto& row : kWordTables)
    if (table != nullptr && std::strcmp(table, row.name) == 0) return row.words;
  return nullptr;
}

int32_t ww_gemm_validate(const ww_gemm_problem* problem) {
  return guarded([&] {
    GemmProblem p;
    if (Status s = convert(problem, p); !s) return s;
    return validate(p);
  });
}

int32_t ww_plan_create(const ww_gemm_problem* problem, ww_plan** plan) {
  return guarded([&] {
    if (plan == nullptr) return Status(Code::invalid_argument, "plan = null: it must be given.");
    *plan = nullptr;
    GemmProblem p;
    if (Status s = convert(problem, p); !s) return s;
    auto made = make_plan(p);
    if (!made) return made.status();
    *plan = new ww_plan{std::move(*made), {}};
    return Status();
  });
}

void ww_plan_destroy(ww_plan* plan) { delete plan; }

int32_t ww_plan_run(const ww_plan* plan, const ww_gemm_pointers* pointers, void* stream) {
  return guarded([&] {
    if (plan == nullptr) return Status(Code::invalid_argument, "plan = null: it must be given.");
    GemmPointers p;
    if (Status s = convert(pointers, p); !s) return s;
    return plan->plan.run(p, stream);
  });
}

size_t ww_plan_workspace_bytes(const ww_plan* plan) { return plan == nullptr ? 0 : plan->plan.workspace_bytes(); }
size_t ww_plan_kept_bytes(const ww_plan* plan) { return plan == nullptr ? 0 : plan->plan.kept_bytes(); }
int32_t ww_plan_device(const ww_plan* plan) { return plan == nullptr ? -1 : plan->plan.device(); }
const char* ww_plan_name(const ww_plan* plan) { return plan == nullptr ? "" : plan->texts.keep(plan->plan.name()); }
const char* ww_plan_explanation(const ww_plan* plan) {
  return plan == nullptr ? "" : plan->texts.keep(plan->plan.explanation());
}

const char* ww_formula_names(const char* text) {
  thread_local std::string names;
  const int32_t code = guarded([&] {
    if (text == nullptr) return Status(Code::invalid_argument, "formula = null: it must be given.");
    const auto formula = formula::parse(text);
    if (formula) names = formula->names();
    return formula.status();
  });
  return code == WW_OK ? names.c_str() : nullptr;
}

int32_t ww_formula_apply(const char* text, float* sums, int64_t batch, int64_t rows, int64_t columns, const float* c,
                         const float* bias, const float* row_bias, const float* residual, float beta) {
  return guarded([&] { return apply(text, {sums, batch, rows, columns, c, bias, row_bias, residual, beta}); });
}

int32_t ww_formula_apply_group(const char* text, float* sums, int64_t rows, int64_t columns, int64_t first_row,
                               int64_t batch, const float* bias, const float* row_bias, float beta) {
  return guarded([&] {
    return apply(text, {sums, 1, rows, columns, nullptr, bias, row_bias, nullptr, beta, first_row, batch});
  });
}

int32_t ww_gemm(const ww_gemm_problem* problem, const ww_gemm_pointers* pointers, void* stream) {
  return guarded([&] {
    GemmProblem p;
    if (Status s = convert(problem, p); !s) return s;
    GemmPointers where;
    if (Status s = convert(pointers, where); !s) return s;
    return gemm(p, where, stream);
  });
}

const char* ww_last_error(void) { return api::last_error().c_str(); }
const char* ww_version(void) { return WARPWRIGHT_VERSION; }

}  // extern "C"

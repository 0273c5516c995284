/* The C interface, compiled as C: defaults, refusals and their sentences, and what is reported without a GPU. */
#include "warpwright/c_api.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  printf("FAILED: %s (last error: %s)\n", what, ww_last_error());
  ++failures;
}
static void expect_refused(int32_t code, const char* word) {
  expect(code == WW_INVALID_ARGUMENT, word);
  expect(strstr(ww_last_error(), word) != NULL, word);
}

int main(void) {
  ww_gemm_problem problem;
  ww_gemm_pointers pointers;
  ww_plan* plan = NULL;
  int32_t code;

  expect(strlen(ww_version()) >= 5, "a version");
  expect(strcmp(ww_last_error(), "") == 0, "no error before the first");

  expect(strcmp(ww_words("scaling"), "none=0 tensor=1 row_column=2") == 0, "words with their values");
  expect(ww_words("colour") == NULL && ww_words(NULL) == NULL, "words of no table");

  ww_gemm_problem_init(&problem);
  expect(problem.size == sizeof problem && problem.batch == 1 && problem.alpha == 1.0f && problem.alignment == 16,
         "defaults");
  expect(problem.dependent == 1 && problem.b_is_constant == 0, "early starts are allowed, early reads are not");
  problem.m = 64;
  problem.n = 64;
  problem.k = 64;
  expect(ww_gemm_validate(&problem) == WW_OK, "an ordinary problem");

  problem.k = -1;
  expect_refused(ww_gemm_validate(&problem), "k = -1");
  problem.k = 64;
  problem.a.type = 77;
  expect_refused(ww_gemm_validate(&problem), "a = 77");
  problem.a.type = WW_BF16;
  problem.activation = WW_ACTIVATION_SWIGLU;
  problem.beta = 2.0f;
  expect_refused(ww_gemm_validate(&problem), "swiglu");
  problem.beta = 0.0f;
  problem.activation = 77;
  expect_refused(ww_gemm_validate(&problem), "activation = 77");
  problem.activation = WW_ACTIVATION_NONE;
  problem.formula = "30 * tanh(x / 30)";
  expect(ww_gemm_validate(&problem) == WW_OK, "an epilogue of one's own");
  problem.formula = "x +\n  rely(x)";
  expect_refused(ww_gemm_validate(&problem), "epilogue, line 2, column 3: 'rely' is not known; did you mean 'relu'?");
  /* A caller from before there were formulas has a smaller structure. */
  problem.size = offsetof(ww_gemm_problem, formula);
  expect(ww_gemm_validate(&problem) == WW_OK, "a structure without a formula");
  problem.size = sizeof problem;
  problem.formula = NULL;
  expect(strcmp(ww_formula_names("bias * x + row"), "x bias row") == 0, "what a formula names");
  expect(ww_formula_names("x x") == NULL && strstr(ww_last_error(), "line 1, column 3") != NULL, "where it is wrong");
  float sums[4] = {1, 2, 3, 4}, bias[2] = {10, 20};
  expect(ww_formula_apply("x * bias + row", sums, 1, 2, 2, NULL, bias, NULL, NULL, 0) == 0, "a formula on the host");
  expect(sums[0] == 10 && sums[1] == 40 && sums[2] == 31 && sums[3] == 81, "what it makes of sums");
  expect_refused(ww_formula_apply("x + c", sums, 1, 2, 2, NULL, bias, NULL, NULL, 0), "c = null");
  expect_refused(ww_formula_apply("x", sums, 1, -2, 2, NULL, NULL, NULL, NULL, 0), "negative");
  expect_refused(ww_formula_apply("x", NULL, 1, 2, 2, NULL, NULL, NULL, NULL, 0), "sums = null");
  expect_refused(ww_formula_apply("x x", sums, 1, 2, 2, NULL, NULL, NULL, NULL, 0), "column 3");
  expect(ww_formula_names(NULL) == NULL && strstr(ww_last_error(), "null") != NULL, "no formula");
  problem.size = sizeof problem + 8;
  expect_refused(ww_gemm_validate(&problem), "size");
  problem.size = 0;
  expect_refused(ww_gemm_validate(&problem), "ww_gemm_problem_init");
  problem.size = sizeof problem;
  expect_refused(ww_gemm_validate(NULL), "problem = null");

  expect_refused(ww_plan_create(&problem, NULL), "plan = null");
  ww_gemm_pointers_init(&pointers);
  expect_refused(ww_plan_run(NULL, &pointers, NULL), "plan = null");
  expect_refused(ww_gemm(&problem, NULL, NULL), "pointers = null");
  expect(ww_plan_workspace_bytes(NULL) == 0 && ww_plan_kept_bytes(NULL) == 0 && ww_plan_device(NULL) == -1,
         "queries of no plan");
  ww_plan_destroy(NULL);

  code = ww_plan_create(&problem, &plan);
  if (code == WW_OK) {
    expect(strlen(ww_plan_name(plan)) > 0 && strlen(ww_plan_explanation(plan)) > 0, "a plan has a name and a reason");
    expect_refused(ww_plan_run(plan, &pointers, NULL), "d = null");
  } else {
    expect(code == WW_MISSING && plan == NULL && strlen(ww_last_error()) > 20, "without a GPU: missing");
  }
  ww_plan_destroy(plan);

  if (failures == 0) printf("ok\n");
  return failures == 0 ? 0 : 1;
}

/* The host API of warpwright/gemm.h for C and for languages that call C. A function that returns int32_t returns a
 * ww_code; ww_last_error() then has the sentence. Nothing throws, and everything may be called from several threads. */
#ifndef WARPWRIGHT_C_API_H
#define WARPWRIGHT_C_API_H
#include <stddef.h>
#include <stdint.h>

#include "warpwright/core/words.h"

#if defined(__GNUC__)
#define WW_API __attribute__((visibility("default")))
#else
#define WW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended; the same numbers as warpwright::Code. */
typedef enum ww_code {
  WW_OK = 0,
  WW_INVALID_ARGUMENT = 1, /* the sentence names the argument, its value and the rule */
  WW_UNSUPPORTED = 2,      /* legal, but no kernel of this version serves it */
  WW_MISSING = 3,          /* the machine lacks a driver, a GPU with kernels, a compiler, memory */
  WW_FAILED = 4            /* CUDA or a compiler failed on a legal call */
} ww_code;

/* WW_BF16, WW_E4M3, ...: the tables of warpwright/core/words.h, which also say what the words mean. */
#define WW_C_DTYPE(name, NAME, value, word) WW_##NAME = value,
typedef enum ww_dtype { WW_DTYPES(WW_C_DTYPE) } ww_dtype;
/* Of A and B. K: stored [m, k] and [n, k]. MN: stored [k, m] and [k, n]. */
typedef enum ww_major { WW_MAJOR_K = 0, WW_MAJOR_MN = 1 } ww_major;
/* WW_SCALING_NONE, WW_SCALING_TENSOR, ... */
#define WW_C_SCALING(name, NAME, value, word) WW_SCALING_##NAME = value,
typedef enum ww_scaling { WW_SCALINGS(WW_C_SCALING) } ww_scaling;
/* WW_ACCUMULATE_FAST, ... */
#define WW_C_ACCUMULATION(name, NAME, value, word) WW_ACCUMULATE_##NAME = value,
typedef enum ww_accumulation { WW_ACCUMULATIONS(WW_C_ACCUMULATION) } ww_accumulation;

/* WW_TUNING_USUAL, ... */
#define WW_C_TUNING(name, NAME, value, word) WW_TUNING_##NAME = value,
typedef enum ww_tuning { WW_TUNINGS(WW_C_TUNING) } ww_tuning;
/* WW_BIAS_NONE, ... */
#define WW_C_BIAS(name, NAME, value, word) WW_BIAS_##NAME = value,
typedef enum ww_bias { WW_BIASES(WW_C_BIAS) } ww_bias;
/* WW_ACTIVATION_NONE, ...; with WW_ACTIVATION_SWIGLU B is [gate; up], and D has n / 2 columns. */
#define WW_C_ACTIVATION(name, NAME, value, word) WW_ACTIVATION_##NAME = value,
typedef enum ww_activation { WW_ACTIVATIONS(WW_C_ACTIVATION) } ww_activation;

/* WW_BLOCK_SCALING_NONE, ...: for Blackwell only. */
#define WW_C_BLOCK_SCALING(name, NAME, value, word) WW_BLOCK_SCALING_##NAME = value,
typedef enum ww_block_scaling { WW_BLOCK_SCALINGS(WW_C_BLOCK_SCALING) } ww_block_scaling;

/* A stride without a gap. */
#define WW_PACKED INT64_MIN

/* Strides count elements. A batch_stride of 0 uses one matrix for the whole batch. */
typedef struct ww_matrix_layout {
  int32_t type;  /* ww_dtype */
  int32_t major; /* ww_major */
  int64_t stride;
  int64_t batch_stride;
} ww_matrix_layout;

/* D = epilogue(alpha * A * B^T + beta * C). Fill it with ww_gemm_problem_init() first: a field added later then has its
 * default. */
typedef struct ww_gemm_problem {
  uint64_t size; /* sizeof(ww_gemm_problem), set by ww_gemm_problem_init() */
  int64_t m, n, k, batch;
  ww_matrix_layout a, b, c, d;
  float alpha, beta;
  int32_t scaling;      /* ww_scaling */
  int32_t accumulation; /* ww_accumulation */
  int32_t bias;         /* ww_bias */
  int32_t bias_type;    /* ww_dtype */
  int64_t bias_batch_stride;
  int32_t activation; /* ww_activation */
  int32_t residual;   /* 0 or 1 */
  ww_matrix_layout residual_layout;
  int32_t quantize;  /* 0 or 1 */
  int32_t alignment; /* every pointer to A, B and D is a multiple of this many bytes; 16 for full speed */
  int32_t sm_limit;  /* 0: all SMs */
  int32_t deterministic;
  int32_t dependent;     /* 1: it may start before the previous launch on the stream has ended, and waits for that */
  int32_t b_is_constant; /* 1: no earlier launch that may still run writes B, so B may be read without waiting */
  const char* plan;      /* NULL: the best one */
  int32_t block_scaling; /* ww_block_scaling */
  const char* formula;   /* an epilogue of your own, "30 * tanh(x / 30)" (docs/own-epilogue.md); NULL: none */
  /* ww_tuning. WW_TUNING_MEASURE: the first run times the best plans and keeps the fastest. WW_TUNING_AHEAD: only kernels
   * that are in the library, where one serves. */
  int32_t tuning;
} ww_gemm_problem;

/* Pointers to device memory. Those that a problem does not use are ignored. */
typedef struct ww_gemm_pointers {
  uint64_t size; /* sizeof(ww_gemm_pointers), set by ww_gemm_pointers_init() */
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* bias;
  const void* residual;
  const float* a_scales;
  const float* b_scales;
  const float* d_scale;
  void* workspace; /* of ww_plan_workspace_bytes(); NULL: the plan's own */
  size_t workspace_bytes;
  const void* a_block_scales; /* block_scaling: tiles of factors, as ww_quantize makes them with WW_SCALES_TILES */
  const void* b_block_scales;
} ww_gemm_pointers;

/* A plan for a dense product, made by ww_plan_create(). */
typedef struct ww_plan ww_plan;

/* Fill a structure with its defaults and its size. Call them before setting any field. */
WW_API void ww_gemm_problem_init(ww_gemm_problem* problem);
WW_API void ww_gemm_pointers_init(ww_gemm_pointers* pointers);

/* Whether the problem obeys the rules; needs no GPU. */
WW_API int32_t ww_gemm_validate(const ww_gemm_problem* problem);

/* For the current device. `*plan` is NULL on failure. */
WW_API int32_t ww_plan_create(const ww_gemm_problem* problem, ww_plan** plan);
/* NULL is allowed. */
WW_API void ww_plan_destroy(ww_plan* plan);
/* `stream` is a cudaStream_t. Legal during stream capture. */
WW_API int32_t ww_plan_run(const ww_plan* plan, const ww_gemm_pointers* pointers, void* stream);
WW_API size_t ww_plan_workspace_bytes(const ww_plan* plan);
/* So many at its beginning are zeroed once and serve all runs on a stream; the others belong to one run. */
WW_API size_t ww_plan_kept_bytes(const ww_plan* plan);
WW_API int32_t ww_plan_device(const ww_plan* plan);
/* The texts live as long as the plan. For a plan that is measured they change when that has happened. */
WW_API const char* ww_plan_name(const ww_plan* plan);
WW_API const char* ww_plan_explanation(const ww_plan* plan);

/* The names that a formula uses, such as "x bias", in the order of docs/own-epilogue.md. NULL if the formula has a
 * mistake; ww_last_error() then says where and why. Valid until the thread's next call of it. Needs no GPU. */
WW_API const char* ww_formula_names(const char* formula);
/* Applies a formula in place to sums [batch][rows][columns] in host memory, with the same bits as the kernels. C and
 * the residual have the shape of the sums, the biases a number for each column or row; NULL: none. Needs no GPU. */
WW_API int32_t ww_formula_apply(const char* formula, float* sums, int64_t batch, int64_t rows, int64_t columns,
                                const float* c, const float* bias, const float* row_bias, const float* residual,
                                float beta);
/* The same of what one group has in a product by groups: sums [rows][columns], the first of which is row `first_row` of
 * D, and the number that the formula knows as `batch`. `bias` and `row_bias` begin where the sums begin. */
WW_API int32_t ww_formula_apply_group(const char* formula, float* sums, int64_t rows, int64_t columns,
                                      int64_t first_row, int64_t batch, const float* bias, const float* row_bias,
                                      float beta);

/* Computes one product, with a plan that is kept for the next call with an equal problem. */
WW_API int32_t ww_gemm(const ww_gemm_problem* problem, const ww_gemm_pointers* pointers, void* stream);

/* Products with blockwise scales and products by groups of rows: the host API of warpwright/grouped.h. */
typedef enum ww_groups {
  WW_GROUPS_NONE = 0,
  WW_GROUPS_CONTIGUOUS = 1,
  WW_GROUPS_MASKED = 2,
  WW_GROUPS_BY_DEPTH = 3
} ww_groups;

/* A product by groups. Fill it with ww_grouped_problem_init() first. */
typedef struct ww_grouped_problem {
  uint64_t size; /* sizeof(ww_grouped_problem), set by ww_grouped_problem_init() */
  int64_t m, n, k;
  int64_t group_count;  /* 1 without groups */
  int64_t matrix_count; /* 0: as many as groups */
  int64_t usual_rows;   /* 0: m / group_count */
  int32_t groups;       /* ww_groups */
  int32_t type;         /* WW_E4M3 with blockwise scales, or WW_BF16 */
  int32_t out;          /* WW_BF16, WW_FP32, or WW_E4M3 with scales */
  int32_t sm_limit;     /* 0: all SMs */
  /* Compared with what the problem needs; -1: not known. */
  int64_t a_scales_rows, a_scales_columns, b_scales_rows, b_scales_columns;
  const char* plan;     /* NULL: the best one */
  int32_t b_scale_rows; /* rows of B that share a scale: 128 or 1 */
  int32_t activation;   /* ww_activation: none, or swiglu with B = [gate; up] */
  int32_t bias;         /* ww_bias: none or per column; with a formula per row too */
  int32_t bias_type;    /* ww_dtype: WW_FP32 or WW_BF16 */
  int32_t shared_bias;  /* 1: one bias for all B */
  int32_t accumulate;   /* 1: one product, or groups along k, is added to D */
  /* Blackwell: factors for blocks along k of the operands, and of D after swiglu. */
  int32_t scaling;        /* ww_block_scaling */
  int32_t out_scaling;    /* ww_block_scaling */
  int32_t clamped_swiglu; /* 1: gates and ups are kept within bounds */
  int32_t gathered;       /* 1: row i of the product is row index[i] of A; contiguous groups */
  int64_t a_rows;         /* how many rows A has if they are gathered, otherwise 0 */
  int32_t a_major;        /* ww_major: WW_MAJOR_MN for groups along k of A [k, m] and B [k, n] in bf16 */
  int32_t b_major;        /* ww_major: WW_MAJOR_MN for every B stored [k, n] in bf16; groups of rows on Hopper only */
  int32_t tuning;         /* ww_tuning */
  float beta;             /* the number that a formula names */
  const char* formula;    /* an epilogue of your own instead of an activation (docs/own-epilogue.md); NULL: none */
} ww_grouped_problem;

/* Pointers to device memory. Those that a problem does not use are ignored. */
typedef struct ww_grouped_pointers {
  uint64_t size; /* sizeof(ww_grouped_pointers), set by ww_grouped_pointers_init() */
  const void* a;
  const void* b;
  const float* a_scales;
  const float* b_scales;
  void* d;
  const uint32_t* rows;
  const int32_t* matrices;
  uint32_t* status;
  const void* bias;
  float* d_scales; /* if D is e4m3 */
  const void* a_block_scales;
  const void* b_block_scales;
  void* d_block_scales;      /* out_scaling */
  int64_t a_block_rows;      /* rows of tiles that a_block_scales has */
  int64_t d_block_rows;      /* and d_block_scales */
  const float* matrix_alpha; /* Blackwell only: a factor for each matrix of B; NULL: 1 */
  const int32_t* index;      /* for gathered rows */
} ww_grouped_pointers;

/* A plan for a product by groups, made by ww_grouped_plan_create(). */
typedef struct ww_grouped_plan ww_grouped_plan;

/* As the functions for dense products above. */
WW_API void ww_grouped_problem_init(ww_grouped_problem* problem);
WW_API void ww_grouped_pointers_init(ww_grouped_pointers* pointers);
WW_API int32_t ww_grouped_validate(const ww_grouped_problem* problem);
WW_API int32_t ww_grouped_plan_create(const ww_grouped_problem* problem, ww_grouped_plan** plan);
WW_API void ww_grouped_plan_destroy(ww_grouped_plan* plan);
WW_API int32_t ww_grouped_plan_run(const ww_grouped_plan* plan, const ww_grouped_pointers* pointers, void* stream);
WW_API const char* ww_grouped_plan_name(const ww_grouped_plan* plan);
WW_API const char* ww_grouped_plan_explanation(const ww_grouped_plan* plan);

/* A mixture of experts: the host API of warpwright/moe.h. */
typedef struct ww_moe_problem {
  uint64_t size; /* sizeof(ww_moe_problem), set by ww_moe_problem_init() */
  int64_t tokens, hidden, intermediate, experts, top_k;
  int32_t type;             /* of x and the weights: WW_BF16, or WW_E4M3 with blockwise scales */
  int32_t id_bytes;         /* of an expert's number: 4 or 8 */
  int32_t sm_limit;         /* 0: all SMs */
  const char* gate_up_plan; /* of the first product; NULL: the best one */
  const char* down_plan;    /* of the second one */
  int64_t shared;           /* this many experts, the last ones, are taken by every token */
} ww_moe_problem;

/* What was found wrong in the routing: bits of the status word. */
enum { WW_EXPERT_OUT_OF_RANGE = 1, WW_WEIGHT_NOT_A_NUMBER = 2, WW_TOKENS_OUT_OF_RANGE = 4 };

/* Pointers to device memory. Those that a problem does not use are ignored. */
typedef struct ww_moe_pointers {
  uint64_t size; /* sizeof(ww_moe_pointers), set by ww_moe_pointers_init() */
  const void* x;
  const void* w_gate_up;
  const void* w_down;
  const void* ids;
  const float* weights;
  void* out;
  const uint32_t* token_count; /* NULL: all tokens are valid */
  uint32_t* status;            /* may be NULL */
  const float* x_scales;
  const float* w_gate_up_scales;
  const float* w_down_scales;
  void* workspace; /* of ww_moe_plan_workspace_bytes(); NULL: the run takes its own */
  size_t workspace_bytes;
  const float* shared_weights; /* [tokens, shared]; NULL: 1 */
} ww_moe_pointers;

/* A plan for a layer of experts, made by ww_moe_plan_create(). */
typedef struct ww_moe_plan ww_moe_plan;

/* As the functions for dense products above. */
WW_API void ww_moe_problem_init(ww_moe_problem* problem);
WW_API void ww_moe_pointers_init(ww_moe_pointers* pointers);
WW_API int32_t ww_moe_validate(const ww_moe_problem* problem);
WW_API int32_t ww_moe_plan_create(const ww_moe_problem* problem, ww_moe_plan** plan);
WW_API void ww_moe_plan_destroy(ww_moe_plan* plan);
WW_API int32_t ww_moe_plan_run(const ww_moe_plan* plan, const ww_moe_pointers* pointers, void* stream);
WW_API size_t ww_moe_plan_workspace_bytes(const ww_moe_plan* plan);
/* The instances that it launches, one on each line. */
WW_API const char* ww_moe_plan_explanation(const ww_moe_plan* plan);

/* From bf16, fp16 or fp32 to narrow elements with scale factors: the host API of warpwright/quantize.h. */
/* WW_QUANTIZE_TOKEN, ... */
#define WW_C_QUANTIZATION(name, NAME, value, word) WW_QUANTIZE_##NAME = value,
typedef enum ww_quantization { WW_QUANTIZATIONS(WW_C_QUANTIZATION) } ww_quantization;
/* WW_SCALES_ROWS, ... */
#define WW_C_SCALE_LAYOUT(name, NAME, value, word) WW_SCALES_##NAME = value,
typedef enum ww_scale_layout { WW_SCALE_LAYOUTS(WW_C_SCALE_LAYOUT) } ww_scale_layout;

/* A matrix to quantize. Fill it with ww_quantize_problem_init() first. */
typedef struct ww_quantize_problem {
  uint64_t size; /* sizeof(ww_quantize_problem), set by ww_quantize_problem_init() */
  int64_t rows, columns;
  int64_t stride;             /* elements from one row of the source to the next; 0: no gap */
  int32_t source;             /* WW_BF16, WW_FP16 or WW_FP32 */
  int32_t kind;               /* ww_quantization */
  int32_t type;               /* WW_E4M3, WW_E5M2 or WW_E2M1 */
  int32_t layout;             /* ww_scale_layout */
  int32_t given_tensor_scale; /* 1: the factor of the whole tensor is read; 0: it is computed and written */
  int32_t on_host;            /* 1: all memory is the host's, no GPU is needed and the stream is ignored */
} ww_quantize_problem;

/* Fills the structure with its defaults; says whether a problem obeys the rules, which needs no GPU. */
WW_API void ww_quantize_problem_init(ww_quantize_problem* problem);
WW_API int32_t ww_quantize_validate(const ww_quantize_problem* problem);
/* The bytes that the results of a legal problem take; 0 for one that is not legal. */
WW_API size_t ww_quantize_value_bytes(const ww_quantize_problem* problem);
WW_API size_t ww_quantize_scale_bytes(const ww_quantize_problem* problem);
/* `tensor_scale` is for WW_QUANTIZE_NVFP4 and NULL otherwise. Legal during stream capture. */
WW_API int32_t ww_quantize(const ww_quantize_problem* problem, const void* source, void* values, void* scales,
                           float* tensor_scale, void* stream);

/* The words of a table and their values, "none=0 relu=1 ...". The tables are dtype, activation, bias, scaling,
 * accumulation, quantization and scale_layout; NULL for any other. */
WW_API const char* ww_words(const char* table);

/* The sentence of the last failure in this thread; empty before the first. Valid until the thread's next call. */
WW_API const char* ww_last_error(void);
/* "0.2.0" */
WW_API const char* ww_version(void);

#ifdef __cplusplus
}
#endif
#endif

/* The words that users write for the types and options of a product, with their values. The enumerations of C++ and C,
 * the options of the tool, the names of instances and the Python package (by ww_words() of c_api.h) are made from these
 * tables; the values are part of the C interface and stay. C reads this file too.
 *
 *   X(enumerator of C++, end of the enumerator of C, value, word) */
#ifndef WARPWRIGHT_CORE_WORDS_H
#define WARPWRIGHT_CORE_WORDS_H

/* ue8m0 and ue4m3 are types of scale factors; tf32 lies in memory as fp32. */
#define WW_DTYPES(X)          \
  X(bf16, BF16, 0, "bf16")    \
  X(fp16, FP16, 1, "fp16")    \
  X(tf32, TF32, 2, "tf32")    \
  X(fp32, FP32, 3, "fp32")    \
  X(e4m3, E4M3, 4, "e4m3")    \
  X(e5m2, E5M2, 5, "e5m2")    \
  X(e2m1, E2M1, 6, "e2m1")    \
  X(ue8m0, UE8M0, 7, "ue8m0") \
  X(ue4m3, UE4M3, 8, "ue4m3") \
  X(s8, S8, 9, "s8")

/* gelu_tanh and gelu_erf are the two customary forms; swiglu takes a pair of sums: silu(gate) * up. */
#define WW_ACTIVATIONS(X)              \
  X(none, NONE, 0, "none")             \
  X(relu, RELU, 1, "relu")             \
  X(gelu_tanh, GELU_TANH, 2, "gelu")   \
  X(gelu_erf, GELU_ERF, 3, "gelu_erf") \
  X(silu, SILU, 4, "silu")             \
  X(swiglu, SWIGLU, 5, "swiglu")

#define WW_BIASES(X)                 \
  X(none, NONE, 0, "none")           \
  X(per_row, PER_ROW, 1, "row_bias") \
  X(per_column, PER_COLUMN, 2, "bias")

/* Factors of the product, in device memory: one for A and one for B, or one for each row of A and each row of B (a
 * column of D). */
#define WW_SCALINGS(X)           \
  X(none, NONE, 0, "none")       \
  X(tensor, TENSOR, 1, "tensor") \
  X(row_column, ROW_COLUMN, 2, "row_column")

/* How products of 8-bit operands are summed. The tensor core keeps 14 bits of fraction; `promoted` adds its sums of 128
 * elements in fp32. */
#define WW_ACCUMULATIONS(X) \
  X(fast, FAST, 0, "fast")  \
  X(promoted, PROMOTED, 1, "promoted")

/* How a plan is found. usual: as WARPWRIGHT_TUNING says, without it by the tables and the model. measure: the first run
 * times the model's best plans, and the fastest is kept for this process and the next. ahead: as usual, but only among
 * plans whose kernels are in the library, where one serves: no call waits for a compiler. */
#define WW_TUNINGS(X)               \
  X(usual, USUAL, 0, "usual")       \
  X(measure, MEASURE, 1, "measure") \
  X(ahead, AHEAD, 2, "ahead")

/* mxfp8: e4m3 or e5m2, a ue8m0 factor for 32 elements. mxfp4: e2m1, the same factors. nvfp4: e2m1, a ue4m3 factor for
 * 16 elements. w4a8: A as mxfp8, B as mxfp4. */
#define WW_BLOCK_SCALINGS(X)  \
  X(none, NONE, 0, "none")    \
  X(mxfp8, MXFP8, 1, "mxfp8") \
  X(mxfp4, MXFP4, 2, "mxfp4") \
  X(nvfp4, NVFP4, 3, "nvfp4") \
  X(w4a8, W4A8, 4, "w4a8")

/* token: fp32 factors of 1 x 128 elements. block: fp32 factors of 128 x 128. mx: ue8m0 factors of 1 x 32. nvfp4: ue4m3
 * factors of 1 x 16, and one fp32 factor of the tensor. */
#define WW_QUANTIZATIONS(X)   \
  X(token, TOKEN, 0, "token") \
  X(block, BLOCK, 1, "block") \
  X(mx, MX, 2, "mx")          \
  X(nvfp4, NVFP4, 3, "nvfp4")

/* rows: [scale rows][scale columns]. columns, of fp32 factors: [scale columns][scale rows], the rows padded with zeros
 * to a multiple of 4 (16 bytes). tiles, of 8-bit factors: those of core/block_scaling.h. */
#define WW_SCALE_LAYOUTS(X)         \
  X(rows, ROWS, 0, "rows")          \
  X(columns, COLUMNS, 1, "columns") \
  X(tiles, TILES, 2, "tiles")

/* The tables that ww_words() of the C interface knows, and its name for each. */
#define WW_WORD_TABLES(X)             \
  X("dtype", WW_DTYPES)               \
  X("activation", WW_ACTIVATIONS)     \
  X("bias", WW_BIASES)                \
  X("scaling", WW_SCALINGS)           \
  X("accumulation", WW_ACCUMULATIONS) \
  X("tuning", WW_TUNINGS)             \
  X("quantization", WW_QUANTIZATIONS) \
  X("scale_layout", WW_SCALE_LAYOUTS) \
  X("block_scaling", WW_BLOCK_SCALINGS)

#endif

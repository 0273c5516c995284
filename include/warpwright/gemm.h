// The host API: D = epilogue(alpha * A * B^T + beta * C) on a GPU. Hopper serves all of it. Blackwell (10.0, 10.3),
// mma.sync (8.0, 8.6, 8.9, 12.0) and AMD's gfx942 and gfx950 serve less, and refuse the rest with a sentence
// (docs/devices.md).
//
//   warpwright::GemmProblem problem{.m = 4096, .n = 4096, .k = 7168};
//   if (auto plan = warpwright::make_plan(problem)) {
//     warpwright::Status status = plan->run({.a = a, .b = b, .d = d}, stream);
//   }
//
// A plan is made once: the problem is validated, and a kernel chosen and, if it was not compiled ahead, compiled.
// Running it then allocates and compiles nothing. Nothing throws; a failure is a Status with a sentence, nothing was
// launched, and CUDA holds no error. Everything here may be called from several threads and for several devices, and
// run() during stream capture.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "warpwright/core/block_scaling.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/word_enum.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/kernel/config.h"
#include "warpwright/status.h"

namespace warpwright {

// A stride without a gap: rows, then matrices of a batch, follow each other directly.
inline constexpr int64_t kPacked = std::numeric_limits<int64_t>::min();

// How a matrix lies in device memory. Strides count elements.
struct MatrixLayout {
  DType type = DType::bf16;
  // A and B only. K: A is stored [m, k], B [n, k]. MN: A is stored [k, m], B [k, n]. C and D are stored [m, n].
  Major major = Major::K;
  int64_t stride = kPacked;        // from one stored row to the next
  int64_t batch_stride = kPacked;  // from one matrix to the next; 0 (not for D): all share one matrix
};

// How 8-bit products are summed; core/words.h explains the words.
WW_WORDS(Accumulation, kAccumulations, WW_ACCUMULATIONS)

// How a plan is found; core/words.h explains the words, docs/cpp.md what measuring does.
WW_WORDS(Tuning, kTunings, WW_TUNINGS)

// The nodes between a sum and D, in the order of epilogue/config.h, after alpha and beta * C.
struct Epilogue {
  Bias bias = Bias::none;
  DType bias_type = DType::fp32;
  int64_t bias_batch_stride = 0;  // 0: one bias for all matrices of a batch
  // swiglu: B is [gate; up] with n / 2 rows each, a bias of columns likewise, and D has n / 2 columns, silu(gate) * up.
  Activation activation = Activation::none;
  bool residual = false;  // adds a matrix of the shape of D
  MatrixLayout residual_layout = {};
  bool quantize = false;  // multiplies by the factor at GemmPointers::d_scale before the conversion
  // A C++ expression that takes the place of beta * C, bias, activation and residual: "30 * tanh(x / 30)". It may name
  // x, which is alpha times the sum, c, bias or row_bias, residual, beta, row, column and batch
  // (docs/own-epilogue.md). C is read if it names c. Empty: no expression.
  std::string formula = {};
};

// One product, or a batch of equal ones: extents, layouts, factors and epilogue. Every default is legal, so only the
// extents must be given.
struct GemmProblem {
  int64_t m = 0;  // any extent may be 0: if m, n or batch is 0, nothing is written; if k is 0, the sums are 0
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  MatrixLayout a = {};  // bf16, fp16, e4m3 or e5m2
  MatrixLayout b = {};  // the type of A, or the other 8-bit type
  MatrixLayout c = {};  // fp32, bf16 or fp16; read if beta is not 0
  MatrixLayout d = {};  // fp32, bf16, fp16 or e4m3
  float alpha = 1;
  float beta = 0;
  Scaling scaling = Scaling::none;  // factors of A and B in device memory
  Accumulation accumulation = Accumulation::fast;
  Epilogue epilogue = {};
  // Every pointer to A, B and D is a multiple of this many bytes, a power of two. Below 16, as for rows that do not
  // start at multiples of 16 bytes, the TMA cannot be used: A and B are copied into the workspace first, or, where that
  // would not pay, a slower kernel is used.
  int alignment = 16;
  int sm_limit = 0;            // SMs the kernel may occupy; 0: all
  bool deterministic = false;  // the same bits on any number of SMs; if false, the same bits on one device and limit
  // The kernel may start before the previous launch on the stream has ended, and does so where that pays off; it waits
  // for that launch to end before it reads or writes anything.
  bool dependent = true;
  // No earlier launch on the stream that may still be running writes B, which is true of a model's weights: with
  // `dependent` the kernel may then read B without waiting.
  bool b_is_constant = false;
  std::string plan = {};  // take this plan, as plan.name() or `warpwright explain` prints it; empty: the best one
  // Blackwell only: elements of A and B have factors for blocks along k, which the tensor core applies.
  BlockScaling block_scaling = BlockScaling::none;
  // measure: the first run that is not captured times the plans that the model likes best, with these operands and on
  // its stream, waits for them, and uses the fastest from then on. ahead: no kernel is compiled where one that is in the
  // library serves, for programs whose extents change all the time. A plan that is given by name is used as it is.
  Tuning tuning = Tuning::usual;
};

// Pointers to device memory. Those that a problem does not use are ignored.
struct GemmPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  // may be d itself, with the layout of d
  void* d = nullptr;
  const void* bias = nullptr;
  const void* residual = nullptr;
  const float* a_scales = nullptr;  // one factor, or m for row_column (times batch)
  const float* b_scales = nullptr;  // one factor, or n
  const float* d_scale = nullptr;
  // plan.workspace_bytes() bytes for this run alone, of which the first plan.kept_bytes() were zeroed once before the
  // first run that uses them. Without a workspace the plan allocates what it needs for sums at the first run on each
  // stream, and takes memory for copies of operands from the device's pool in every run; in a captured run both belong
  // to the graph.
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  const void* a_block_scales = nullptr;  // block_scaling: tiles of factors (core/block_scaling.h)
  const void* b_block_scales = nullptr;
};

// Checks Hopper's rules; make_plan() checks the device's. The sentence names the argument, its value and the rule.
// Needs no GPU; a problem it accepts may still be unsupported.
Status validate(const GemmProblem& problem);

// A validated problem with its kernel chosen and ready to run. It can be moved but not copied, and several threads may
// run it at once.
class GemmPlan {
 public:
  GemmPlan(GemmPlan&&) noexcept;
  GemmPlan& operator=(GemmPlan&&) noexcept;
  ~GemmPlan();

  // Puts the product on a stream, a cudaStream_t, of the device the plan was made for, which must be current.
  Status run(const GemmPointers& pointers, void* stream = nullptr) const;

  size_t workspace_bytes() const;
  // The first bytes of the workspace, this many, are sums: they are zeroed once, and serve one run after the other on a
  // stream. After them come copies of operands: no two threads that launch on a stream may share those.
  size_t kept_bytes() const;
  // "dense-128x256-c2-s4": for GemmProblem::plan.
  std::string name() const;
  // "sm90/dense-128x256-c2-s4/bf16-nt": the plan with everything that the problem fixes, as it is compiled and checked.
  std::string instance() const;
  // For people to read: the instance, why it was chosen and whether it was compiled ahead.
  std::string explanation() const;
  // Where it came from: "model", "table", "name", or "measured on NVIDIA H200: 41.2 us".
  std::string origin() const;
  int device() const;

 private:
  struct State;
  explicit GemmPlan(std::unique_ptr<State> state);
  friend Result<GemmPlan> make_plan(const GemmProblem& problem);
  std::unique_ptr<State> state_;
};

// Makes a plan for the current device. This takes microseconds if the kernel was compiled ahead, and seconds if it has
// to be compiled now.
Result<GemmPlan> make_plan(const GemmProblem& problem);

// Computes one product, with a plan that is kept for the next call with an equal problem. `alignment` is taken from the
// pointers.
Status gemm(const GemmProblem& problem, const GemmPointers& pointers, void* stream = nullptr);

}  // namespace warpwright

// The host API for products with blockwise scales, and for products by groups, on a Hopper or Blackwell GPU. Groups of
// rows have a B each: D[m, n] = sum over k of A[m, k] * B[n, k], where B is that of the row's group. Groups along k
// have a D each: D[g][m, n] = the sum over the columns k of group g, as in the gradient of an expert's weights.
//
//   warpwright::GroupedProblem problem{.m = 4096, .n = 7168, .k = 2048};      e4m3, one product
//   if (auto plan = warpwright::make_plan(problem)) {
//     warpwright::Status status = plan->run({.a = a, .b = b, .a_scales = sa, .b_scales = sb, .d = d}, stream);
//   }
//
// Plans, statuses, threads, devices and capture are as in warpwright/gemm.h. The table of the groups is in device
// memory, and the host does not look at it: a kernel replaces a wrong number by the nearest legal one, never reads or
// writes beyond a matrix, and reports what it found in a status word.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "warpwright/core/block_scaling.h"
#include "warpwright/core/dtype.h"
#include "warpwright/gemm.h"
#include "warpwright/status.h"
#include "warpwright/tile/group_mode.h"
#include "warpwright/tile/group_table.h"

namespace warpwright {

// The extents of a tensor of scales, for callers that know them: -1 is not compared.
struct ScaleShape {
  int64_t rows = -1;
  int64_t columns = -1;
};

// A product by groups, or a single one with blockwise scales. The comments of the fields say what each kind of group
// needs.
struct GroupedProblem {
  Groups groups = Groups::none;  // none: one product, only for e4m3 (gemm.h has the other types)
  int64_t m = 0;                 // rows of A and D: all groups together, with the rows that belong to no group
  int64_t n = 0;                 // rows of a B; may be 0, like m and k: if k is 0, the sums are 0
  int64_t k = 0;                 // columns of A; with groups along k those of all groups together
  int64_t group_count = 1;       // masked: each group has room for m / group_count rows
  int64_t matrix_count = 0;      // how many B there are; 0: one for each group, or a single one for groups along k
  int64_t usual_rows = 0;        // how many rows a group usually has, to choose a kernel; 0: m / group_count
  DType type = DType::e4m3;      // the type of A and B: e4m3 with blockwise scales, or bf16 without scales
  DType out = DType::bf16;  // the type of D: bf16, fp32, or e4m3 with a scale for each 1x128, which the kernel computes
  int b_scale_rows = 128;   // rows of B that share a scale: 128, or 1 as for A
  // swiglu: B is [gate; up] with n / 2 rows each, and D has n / 2 columns, silu(gate) * up.
  Activation activation = Activation::none;
  Bias bias = Bias::none;         // per_column: n numbers for each B, added before the activation; per_row: below
  DType bias_type = DType::fp32;  // or bf16
  bool shared_bias = false;       // one bias for all B
  bool accumulate = false;        // for one product and for groups along k: adds to D, which is fp32
  // An epilogue of your own instead of an activation, as in Epilogue::formula (docs/own-epilogue.md): it is given x,
  // the sum, and may name a bias, which may then be per_row, one number for each of the m rows of D.
  std::string formula = {};
  float beta = 0;  // the number of the call that the formula names
  // For contiguous groups: row i of the product is row index[i] of A, which has a_rows rows; a row may be used any
  // number of times, as the tokens of experts are. A is not copied: the kernel gathers the rows while it loads them.
  bool gathered = false;
  int64_t a_rows = 0;
  ScaleShape a_scales = {};  // a row for each row of A, a column for each 128 along k; row-major without gaps
  ScaleShape b_scales = {};  // [matrices * n / b_scale_rows (each rounded up), blocks of 128 along k]
  int sm_limit = 0;          // SMs the kernel may occupy; 0: all
  std::string plan = {};     // take this plan, as plan.name() prints it; empty: the best one
  // Blackwell only. Elements of groups of rows have factors for blocks along k, which the tensor core applies.
  // After swiglu, which combines neighbouring columns there, out_scaling gives the type of D's elements and
  // factors.
  BlockScaling scaling = BlockScaling::none;
  BlockScaling out_scaling = BlockScaling::none;
  bool clamped_swiglu = false;  // gates and ups are kept within bounds
  // bf16 groups. MN: every B is stored [k, n], and A is stored [k, m] for groups along k, still [m, k] for groups of
  // rows, which only Hopper has.
  Major a_major = Major::K;
  Major b_major = Major::K;
  Tuning tuning = Tuning::usual;  // as in GemmProblem
};

// Pointers to device memory, where rows follow each other without gaps. Those that a problem does not use are ignored.
struct GroupedPointers {
  const void* a = nullptr;          // [m, k] or [k, m], gathered [a_rows, k], 16-byte aligned like b and d
  const void* b = nullptr;          // [matrices][n, k], or [matrices][k, n]
  const float* a_scales = nullptr;  // fp32, as they are: no transposition, no padding
  const float* b_scales = nullptr;
  // [m, n], or [m, n / 2] with swiglu; rows that belong to no group are not written. For groups along k it is
  // [group_count][m, n], and 0 for a group without columns.
  void* d = nullptr;
  // contiguous: group_count + 1 offsets; masked: group_count counts; by_depth: group_count + 1 offsets along k, of any
  // alignment for bf16, multiples of 128 for e4m3.
  const uint32_t* rows = nullptr;
  const int32_t* matrices = nullptr;  // the matrix of each group, negative: none; null: group g has matrix g
  uint32_t* status = nullptr;         // receives the GroupFault bits that a run found; may be null
  const void* bias = nullptr;         // [matrices][n], or [n] if it is shared, or [m]; aligned to two elements
  float* d_scales = nullptr;          // the scales of D in e4m3: [m, columns of D / 128], written where D is
  // Blackwell. Without block scaling a_scales is [blocks along k][m, rounded up to 4] (ScaleLayout::columns), except
  // for gathered rows, b_scales of groups along k lies the same way, and d_scales is
  // [columns of D / 128][m, rounded up to 4]. With block scaling the factors lie in tiles (core/block_scaling.h); every
  // group, or slot, and every matrix begins a new row of tiles.
  const void* a_block_scales = nullptr;
  const void* b_block_scales = nullptr;
  void* d_block_scales = nullptr;  // out_scaling
  int64_t a_block_rows = 0;        // rows of tiles that a_block_scales has
  int64_t d_block_rows = 0;        // rows of tiles that d_block_scales has
  // Blackwell only, elsewhere it must be null: a factor for each matrix of B; null: 1.
  const float* matrix_alpha = nullptr;
  // For gathered rows: for each of the m rows of the product its row of A. A row that A does not have counts as zeros
  // and is reported in the status word.
  const int32_t* index = nullptr;
};

// Checks Hopper's rules; make_plan() checks the device's. The sentence names the argument, its value and the rule.
// Needs no GPU.
Status validate(const GroupedProblem& problem);

// A validated problem with its kernel chosen and ready to run, like GemmPlan for dense products.
class GroupedPlan {
 public:
  GroupedPlan(GroupedPlan&&) noexcept;
  GroupedPlan& operator=(GroupedPlan&&) noexcept;
  ~GroupedPlan();

  // Puts the product on a stream, a cudaStream_t, of the device the plan was made for, which must be current.
  Status run(const GroupedPointers& pointers, void* stream = nullptr) const;

  // "grouped-128x192-c2-s4" or "blockwise-64x8-split4-s20".
  std::string name() const;
  // "sm90/grouped-128x192-c2-s4/e4m3-contiguous": the plan with everything that the problem fixes.
  std::string instance() const;
  // For people to read: the instance and why it was chosen.
  std::string explanation() const;
  // As in GemmPlan.
  std::string origin() const;
  int device() const;

 private:
  struct State;
  explicit GroupedPlan(std::unique_ptr<State> state);
  friend Result<GroupedPlan> make_plan(const GroupedProblem& problem);
  std::unique_ptr<State> state_;
};

// Makes a plan for the current device.
Result<GroupedPlan> make_plan(const GroupedProblem& problem);

// Makes a plan and computes one product with it.
Status grouped_gemm(const GroupedProblem& problem, const GroupedPointers& pointers, void* stream = nullptr);

}  // namespace warpwright

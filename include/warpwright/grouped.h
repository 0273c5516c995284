// The host API for products with blockwise scales, and for products by groups, on a Hopper or Blackwell GPU. Groups of
// rows have a B each: D[m, n] = sum over k of A[m, k] * B[n, k], B that of the row's group. Groups along k have a D
// each: D[g][m, n] = the sum over the columns k of group g, as for the gradient of an expert's weights.
//
//   warpwright::GroupedProblem problem{.m = 4096, .n = 7168, .k = 2048};      e4m3, one product
//   if (auto plan = warpwright::make_plan(problem)) {
//     warpwright::Status status = plan->run({.a = a, .b = b, .a_scales = sa, .b_scales = sb, .d = d}, stream);
//   }
//
// Plans, statuses, threads, devices and capture are as in warpwright/gemm.h. The numbers of the groups are in device
// memory, where the host does not look: a kernel replaces a wrong number by the nearest legal one, never reads or
// writes beyond a matrix, and reports in a status word what it found.
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
  Groups groups = Groups::none;  // none: one product, e4m3 only (gemm.h has the others)
  int64_t m = 0;                 // rows of A and D: of all groups together, rows of no group included
  int64_t n = 0;                 // rows of a B; may be 0, like m and k: without k the sums are 0
  int64_t k = 0;                 // of all groups along k together
  int64_t group_count = 1;       // masked: m / group_count rows have room in each
  int64_t matrix_count = 0;      // of B; 0: as many as groups, or one for groups along k
  int64_t usual_rows = 0;        // that a group has, for the choice of a kernel; 0: m / group_count
  DType type = DType::e4m3;      // of A and B: e4m3 with blockwise scales, or bf16 without scales
  DType out = DType::bf16;       // of D: bf16, fp32, or e4m3 with a scale for each 1x128 that the kernel makes
  int b_scale_rows = 128;        // rows of B that share a scale: 128, or 1 (as those of A do)
  // swiglu: B is [gate; up] with n / 2 rows each, and D has n / 2 columns, silu(gate) * up.
  Activation activation = Activation::none;
  Bias bias = Bias::none;         // per_column: n numbers for each B, added before the activation
  DType bias_type = DType::fp32;  // or bf16
  bool shared_bias = false;       // one bias for all B
  bool accumulate = false;        // one product, and groups along k: adds to D, which is fp32
  // Contiguous groups: row i of the product is row index[i] of A, which has a_rows rows, any number of times
  // each (the tokens of experts). Nothing of A is copied: the kernel gathers the rows while it loads them.
  bool gathered = false;
  int64_t a_rows = 0;
  ScaleShape a_scales = {};  // a row for each of A, blocks of 128 along k; row-major without gaps
  ScaleShape b_scales = {};  // [matrices * n / b_scale_rows (each rounded up), blocks of 128 along k]
  int sm_limit = 0;          // SMs the kernel may occupy; 0: all
  std::string plan = {};     // take this plan, as plan.name() prints it; empty: the best one
  // Blackwell only. Elements of groups of rows have factors for blocks along k, which the tensor core applies.
  // After swiglu, which combines neighbouring columns there, out_scaling gives the type of D's elements and
  // factors.
  BlockScaling scaling = BlockScaling::none;
  BlockScaling out_scaling = BlockScaling::none;
  bool clamped_swiglu = false;  // gates and ups are kept within bounds
  // bf16. MN: B is stored [k, n]; groups along k have A stored [k, m] then, groups of rows, on Hopper only, [m, k].
  Major a_major = Major::K;
  Major b_major = Major::K;
  Tuning tuning = Tuning::usual;  // as of GemmProblem
};

// Device memory, rows without gaps. What a problem does not use is ignored.
struct GroupedPointers {
  const void* a = nullptr;          // [m, k] or [k, m], gathered [a_rows, k], 16-byte aligned like b and d
  const void* b = nullptr;          // [matrices][n, k], or [matrices][k, n]
  const float* a_scales = nullptr;  // fp32, as they are: no transposition, no padding
  const float* b_scales = nullptr;
  // [m, n], n / 2 with swiglu; rows of no group are not written. Groups along k: [group_count][m, n], 0 for a group
  // without columns.
  void* d = nullptr;
  // contiguous: group_count + 1 offsets; masked: group_count counts; by_depth: group_count + 1 offsets along k, of any
  // alignment for bf16, multiples of 128 for e4m3.
  const uint32_t* rows = nullptr;
  const int32_t* matrices = nullptr;  // of each group, negative: none; null: group g has matrix g
  uint32_t* status = nullptr;         // the GroupFault bits that a run found; may be null
  const void* bias = nullptr;         // [matrices][n], or [n] if it is shared; aligned to two elements
  float* d_scales = nullptr;          // of D in e4m3: [m, columns of D / 128], written where D is
  // Blackwell. Without block scaling a_scales is [blocks along k][m, rounded up to 4] (ScaleLayout::columns), but for
  // gathered rows, d_scales [columns of D / 128][m, rounded up to 4], b_scales of groups along k as a_scales. With it
  // factors lie in tiles (core/block_scaling.h), of which every group, or slot, and every matrix begins a new row.
  const void* a_block_scales = nullptr;
  const void* b_block_scales = nullptr;
  void* d_block_scales = nullptr;       // out_scaling
  int64_t a_block_rows = 0;             // rows of tiles that a_block_scales has
  int64_t d_block_rows = 0;             // and d_block_scales
  const float* matrix_alpha = nullptr;  // a factor for each matrix of B; null: 1
  // Of gathered rows: m numbers of rows of A. A row that A does not have is taken as zeros, and said in the status
  // word.
  const int32_t* index = nullptr;
};

// Checks Hopper's rules; make_plan() checks the device's. The sentence names the argument, its value and the rule.
// Needs no GPU.
Status validate(const GroupedProblem& problem);

// A problem that was validated, with its kernel chosen and ready to run, as GemmPlan is for dense products.
class GroupedPlan {
 public:
  GroupedPlan(GroupedPlan&&) noexcept;
  GroupedPlan& operator=(GroupedPlan&&) noexcept;
  ~GroupedPlan();

  // Puts the product on a stream, a cudaStream_t, of the device the plan was made for, which must be current.
  Status run(const GroupedPointers& pointers, void* stream = nullptr) const;

  // "grouped-128x192-c2-s4" or "blockwise-64x8-split4-s20".
  std::string name() const;
  // "sm90/grouped-128x192-c2-s4/e4m3-contiguous": the plan with all that the problem fixes.
  std::string instance() const;
  // For people: the instance and why it was chosen.
  std::string explanation() const;
  // As that of GemmPlan.
  std::string origin() const;
  int device() const;

 private:
  struct State;
  explicit GroupedPlan(std::unique_ptr<State> state);
  friend Result<GroupedPlan> make_plan(const GroupedProblem& problem);
  std::unique_ptr<State> state_;
};

// For the current device.
Result<GroupedPlan> make_plan(const GroupedProblem& problem);

// One product by a plan made for it.
Status grouped_gemm(const GroupedProblem& problem, const GroupedPointers& pointers, void* stream = nullptr);

}  // namespace warpwright

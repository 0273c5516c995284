// Operands, tables and reference of grouped products.
#pragma once
#include <vector>

#include "launch/host_grouped.h"
#include "reference/block_scaled_workload.h"
#include "warpwright/grouped.h"

namespace warpwright::reference {

struct GroupedSpec {
  std::vector<int> tokens;        // tokens of each group
  std::vector<int32_t> matrices;  // the matrix of each group; empty: group g has matrix g
  int matrix_count = 0;
  int n = 0, k = 0;
  BlockScaling scaling = BlockScaling::mxfp8;
  DType type = DType::e4m3, out_type = DType::bf16;
  // Not none: D has SwiGLU results in this format, n / 2 columns of them.
  BlockScaling out_scaling = BlockScaling::none;
  bool clamped_swiglu = false;
  int slot_rows = 0;  // > 0: groups are in slots of this many rows, and the table has counts
  // The table has offsets that decrease where a group has no rows, and a last one beyond the rows: kernels take them
  // for what the legal ones are, and say so in the status word.
  bool illegal = false;

  int rows() const;
  std::vector<uint32_t> starts() const;  // where the groups or slots begin, and the end of the last one
  bool has_matrix(size_t group) const;
  uint32_t faults() const;  // the GroupFault bits that the kernel finds
};

// The matrix that D with out_scaling and its factors stand for; rows that no matrix multiplies are zero. `sums` are the
// products, NaN in such rows.
ScaledMatrix quantized_results(const GroupedSpec& spec, const std::vector<double>& sums);

// Arrays: A, B, a_scales, b_scales (where scaled), offsets or counts, matrices (where given), matrix_alpha, status,
// d_scales (out_scaling), D. Rows of D that belong to no group, or to one without a matrix, must not be written. What
// is expected of D with out_scaling are its elements without their factors; of 4-bit elements nobody can see that one
// was not written. `sums`, if asked for, are the products.
Workload grouped_workload(const GroupedSpec& spec, Data data, uint64_t seed, std::vector<double>* sums = nullptr);
// The same for e4m3 operands with fp32 factors of 1 x 128 elements of A and 128 x 128 of B: a_scales is [blocks of
// k][rows, padded to a multiple of 4], b_scales [matrix][blocks of n][blocks of k].
Workload grouped_blockwise_workload(const GroupedSpec& spec, Data data, uint64_t seed);
// The product of a problem for Blackwell with its table: offsets, or counts of masked groups, and the matrix of each
// group (empty: group g has matrix g).
GroupedSpec spec_of(const GroupedProblem& problem, const std::vector<uint32_t>& rows,
                    const std::vector<int32_t>& matrices);
// The arrays of such a workload, or of blockwise_workload(), as the API takes them.
GroupedPointers grouped_pointers(const GroupedProblem& problem, const Workload& w, const std::vector<void*>& pointers);
// The operands for the kernel, from pointers parallel to the arrays.
launch::GroupedOperands grouped_operands(const GroupedSpec& spec, const Workload& w,
                                         const std::vector<void*>& pointers);

}  // namespace warpwright::reference

// Operands, scales, tables and reference of products with blockwise scales and of products by groups of rows, for the
// Hopper kernels.
#pragma once
#include "runtime/host_grouped_sm90.h"
#include "runtime/workload.h"

namespace warpwright::runtime {

struct GroupedProduct {
  Case shape;  // m: rows of A and D, of all groups together
  DType type = DType::e4m3;
  DType out = DType::bf16;
  Groups groups = Groups::none;
  std::vector<uint32_t> rows = {};     // contiguous: an offset for each group and the end; masked: a count for each
  std::vector<int32_t> matrices = {};  // of each group; empty: group g has matrix g
  int matrix_count = 0;                // 0: as many as groups

  int group_count() const;
  int matrices_given() const;
};

// Arrays: A [m, k] and B [matrices][n, k]; for e4m3 a_scales [m, blocks of k] and b_scales [matrices][blocks of n,
// blocks of k] in fp32; with groups rows, matrices and status, of 32-bit integers; D. With Data::integers the scales
// are 0.5, 1 or 2, so that every sum is exact. Rows that no group has are NaN in A and a_scales and must not be written
// in D. A table that is not legal is taken as the kernels take it.
Workload grouped_product_workload(const GroupedProduct& product, Data data, uint64_t seed);

// The operands of such a workload at the addresses of its arrays.
GroupedProductOperands grouped_operands(const GroupedProduct& product, const Workload& w, const std::vector<void*>& p);

}  // namespace warpwright::runtime

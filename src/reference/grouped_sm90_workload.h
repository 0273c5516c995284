// Operands, scales, tables and reference of products with blockwise scales and of products by groups, for the Hopper
// kernels, and for those of Blackwell that take the same arrays.
#pragma once
#include <string>
#include <vector>

#include "launch/grouped_arguments.h"
#include "reference/workload.h"
#include "warpwright/grouped.h"

namespace warpwright::reference {

// Whether its arrays are stored on Blackwell as on Hopper: plain elements and gathered rows.
bool is_of_all(const GroupedProblem& problem);

struct GroupedProduct {
  Case shape;  // m: rows of A and D, of all groups together; k: of all groups along k together
  DType type = DType::e4m3;
  DType out = DType::bf16;
  Groups groups = Groups::none;
  // contiguous and by_depth: an offset for each group and the end; masked: a count for each.
  std::vector<uint32_t> rows = {};
  std::vector<int32_t> matrices = {};  // the matrix of each group; empty: group g has matrix g
  int matrix_count = 0;                // 0: as many as groups
  int b_scale_rows = kScaleBlock;
  bool swiglu = false;
  bool bias = false;
  DType bias_type = DType::fp32;
  bool shared_bias = false;
  std::string formula = {};  // the text of an epilogue of the user's own, which `bias` and `row_bias` are for
  bool row_bias = false;     // one for each of the m rows
  float beta = 0;
  bool accumulate = false;
  bool reports = true;              // there is a status word
  bool spoiled = false;             // an element of A is NaN
  bool illegal = false;             // Blackwell: the table says the same by values that are not legal (GroupedSpec)
  std::vector<int32_t> index = {};  // for gathered rows: which of A's a_rows each row of the product is
  int64_t a_rows = 0;
  Major a_major = Major::K;  // MN: A is stored [k, m], every B [k, n]
  Major b_major = Major::K;
  // Blackwell: a factor for each matrix, and d_scales [columns of D / 128][m, rounded up to 4]; of groups along k
  // a_scales and b_scales [blocks of k][m or n, rounded up to 4].
  bool matrix_alpha = false;
  bool scales_by_columns = false;
  bool judge_scales = false;  // for D in e4m3: the output that is judged is d_scales

  int group_count() const;
  int matrices_given() const;
  bool gathered() const { return a_rows > 0; }
  bool has_bias() const { return bias || row_bias; }
  int64_t columns() const { return swiglu ? shape.n / 2 : shape.n; }  // of D
};

// Arrays: A [m, k] and B [matrices][n, k], or as they are stored; for e4m3 a_scales [m, blocks of k] and b_scales
// [matrices][n or its blocks, blocks of k] in fp32; with groups rows, matrices and status, of 32-bit integers;
// matrix_alpha; bias; d_scales and D, the judged one last. With Data::integers the scales are 0.5, 1 or 2 or, for
// every other block, a little more, and every sum is exact. Rows that no group has are NaN in A and a_scales and must
// not be written in D; columns that no group has are NaN in A and B, as is a B that none has. A table that is not legal
// is taken as the kernels take it.
Workload grouped_product_workload(const GroupedProduct& product, Data data, uint64_t seed);

// The reference of other operands of real numbers that were put into such a workload; every row that a group has
// counts. Returns the element of D that is farthest from 0, NaN if one is not a number.
double expect_again(const GroupedProduct& product, Workload& w);

// The operands of such a workload at the addresses of its arrays.
launch::GroupedProductOperands grouped_operands(const GroupedProduct& product, const Workload& w,
                                                const std::vector<void*>& p);
// The same as the API takes them.
GroupedPointers grouped_pointers(const GroupedProduct& product, const Workload& w, const std::vector<void*>& p);

}  // namespace warpwright::reference

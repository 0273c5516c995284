// Pieces that workloads are made of.
#pragma once
#include <vector>

#include "reference/workload.h"

namespace warpwright::reference {

// Zeros, rows without gaps.
Array new_array(const char* name, DType type, int64_t rows, int64_t columns);
// fp32 factors, positive and around 1: powers of two with whole numbers, so that results stay exact.
Array new_scales(const char* name, int64_t rows, int64_t columns, Data data, uint64_t seed);
// Gives every other block along k, from block `first` on, factors with one bit more than bf16 has; blocks are the rows
// of the array, or its columns. If A and B take turns, sums of products of whole numbers stay exact.
void refine_scales(Array& scales, int64_t first, bool by_rows = false);
// x [m, k] times the transpose of y [n, k].
std::vector<double> product_of(const std::vector<double>& x, const std::vector<double>& y, Case shape);

}  // namespace warpwright::reference

// Operands, scale factors and reference of block-scaled products.
#pragma once
#include "reference/workload.h"
#include "warpwright/core/block_scaling.h"
#include "warpwright/quantize.h"

namespace warpwright::reference {

// A matrix of the format, as A (`type`) or as B of it. With Data::integers its elements are whole numbers from -3 to 3
// and its factors 0.5, 1 or 2, so that every sum is exact; otherwise normal values, whose sizes differ from block to
// block, are quantized.
ScaledMatrix scaled_matrix(BlockScaling scaling, DType type, int64_t rows, int64_t columns, Data data, uint64_t seed);

// Arrays: A, B, their factors in tiles ("a_scales", "b_scales"), D. alpha is the product of the tensors' factors.
Workload block_scaled_workload(Case shape, BlockScaling scaling, DType type, DType out_type, Data data, uint64_t seed);

}  // namespace warpwright::reference

// Operands, scales and reference of a product with blockwise scales.
#pragma once
#include "reference/workload.h"

namespace warpwright::reference {

// Arrays: A and B in e4m3, the scales of A [blocks of k, m] and of B [blocks of n, blocks of k] in fp32, D. With
// Data::integers the scales are 0.5, 1 or 2 or, for every other block, a little more, and every sum is exact.
Workload blockwise_workload(Case shape, DType out_type, Data data, uint64_t seed);

}  // namespace warpwright::reference

// What the strides of a matrix must be, on every architecture.
#pragma once
#include <cstdint>

#include "warpwright/gemm.h"
#include "warpwright/status.h"

namespace warpwright::problem {

// Matrices of a batch are counted in 16 bits.
constexpr int64_t kLargestBatch = 65535;
// Strides of a tensor map are below 2^40 bytes, and no product of these overflows 63 bits.
constexpr int64_t kLargestStride = int64_t(1) << 36;

// For `rows` stored rows of `columns` elements. `output`: no two elements may share their place.
Status check_layout(const char* argument, const MatrixLayout& layout, int64_t rows, int64_t columns, int64_t batch,
                    bool output);
// The layouts of A, B, C, D and the residual.
Status check_layouts(const GemmProblem& problem);
// A power of two, and no less than an element of A, B and D.
Status check_alignment(const GemmProblem& problem);

}  // namespace warpwright::problem

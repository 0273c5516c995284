// The problem options of a command line as a problem of the host API.
#pragma once
#include <string>

#include "cli/problem/problem_options.h"
#include "warpwright/gemm.h"

namespace warpwright::cli {

// An epilogue is words joined by '+': bias, row_bias, relu, gelu, gelu_erf, silu, swiglu, residual, quantize. A scaling
// is none, tensor or row_column, with `promoted` for promoted sums: tensor+promoted; on Blackwell mxfp8, mxfp4, nvfp4
// or w4a8. Throws UsageError for other words, and for what the architecture of the options refuses.
GemmProblem gemm_problem_of(const ProblemOptions& options);
// "512x512x256 bf16", with the batch where there is one.
std::string problem_text(const GemmProblem& problem);

}  // namespace warpwright::cli

// `gemm` for products with blockwise scales and for groups of rows.
#pragma once
#include "cli/output.h"
#include "cli/problem_options.h"

namespace warpwright::cli {

int run_grouped_gemm(const ProblemOptions& options, Output& out);
// Block-scaled and grouped products on Blackwell, in the simulator.
int run_block_scaled_gemm(const ProblemOptions& options, Output& out);

}  // namespace warpwright::cli

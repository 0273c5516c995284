// `gemm` for products with blockwise scales and for groups of rows.
#pragma once
#include "cli/output.h"
#include "cli/problem/own_operands.h"
#include "cli/problem/problem_options.h"
#include "cli/simulation.h"

namespace warpwright::cli {

// Any product in a simulator. Throws UsageError for what no kernel serves.
SimulatedProduct simulated_product(const ProblemOptions& options, const OwnOperands& own, Output& out);

// The user's own operands are for the simulator.
int run_grouped_gemm(const ProblemOptions& options, const OwnOperands& own, Output& out);

}  // namespace warpwright::cli

// `gemm` on a GPU for which nothing was measured: every architecture but Hopper's.
#pragma once
#include "cli/output.h"
#include "cli/problem/problem_options.h"

namespace warpwright::cli {

// A dense product, or one by groups: the instance that the simulator runs, through the host API.
int run_elsewhere(const ProblemOptions& options, Output& out);

}  // namespace warpwright::cli

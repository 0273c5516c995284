// `gemm` for products with blockwise scales and for groups of rows.
#pragma once
#include "cli/output.h"
#include "cli/own_operands.h"
#include "cli/problem_options.h"
#include "runtime/example.h"

namespace warpwright::cli {

// A product with factors or by groups, or one on Blackwell, in a simulator.
struct SimulatedProduct {
  const runtime::Example* example = nullptr;
  runtime::Workload workload;
  std::string target;   // sim:sm90 or sim:sm100
  std::string problem;  // for people
  int ctas = 0;         // of the timed run; 0: a few
};

// Throws UsageError for what no kernel in the simulator serves.
SimulatedProduct simulated_product(const ProblemOptions& options, const OwnOperands& own, Output& out);

// Operands of the user's own are for the simulator.
int run_grouped_gemm(const ProblemOptions& options, const OwnOperands& own, Output& out);
// Block-scaled and grouped products on Blackwell, in the simulator.
int run_block_scaled_gemm(const ProblemOptions& options, Output& out);

}  // namespace warpwright::cli

// `check NAME --mutate`: how many of a kernel's synchronizations the checker would miss.
#pragma once
#include <vector>

#include "cli/output.h"
#include "simulate/example.h"

namespace warpwright::cli {

// Prints the score of each kernel; the exit code.
int check_mutants(const std::vector<const simulate::Example*>& examples, Output& out);

}  // namespace warpwright::cli

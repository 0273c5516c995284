// `check NAME --certify`: why a run of the simulator stands for all interleavings, barrier by barrier.
#pragma once
#include <vector>

#include "cli/output.h"
#include "simulate/example.h"

namespace warpwright::cli {

// Prints the certificate of each kernel over its cases, or of all together in one line each; the exit code.
int check_certificates(const std::vector<const simulate::Example*>& examples, Output& out);

}  // namespace warpwright::cli

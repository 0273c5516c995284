// The problem options of a command line as a problem with blockwise scales or groups.
#pragma once
#include <string>

#include "cli/problem/problem_options.h"
#include "warpwright/grouped.h"

namespace warpwright::cli {

// Whether the options ask for such a problem and not for a dense one.
bool is_grouped(const ProblemOptions& options);

// An epilogue is a formula, or swiglu, bias or both joined by '+'. A scaling is blockwise (1x128 of A, 128x128 of B) or
// blockwise_rows (1x128 of both); on Blackwell blockwise, mxfp8, mxfp4, nvfp4 or w4a8. Throws UsageError for other
// words, and for what the architecture of the options refuses.
GroupedProblem grouped_problem_of(const ProblemOptions& options);

// "300x256x512 e4m3, 4 groups (grouped_masked)".
std::string problem_text(const ProblemOptions& options, const GroupedProblem& problem);

}  // namespace warpwright::cli

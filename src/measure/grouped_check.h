// One product with blockwise scales or groups through the host API on random operands, compared with a float64
// reference.
#pragma once
#include "measure/gemm_check.h"
#include "reference/grouped_sm90_workload.h"
#include "warpwright/grouped.h"

namespace warpwright::measure {

// A product of the problem's extents: contiguous groups of uneven lengths, masked groups that are partly full.
reference::GroupedProduct sample_product(const GroupedProblem& problem, uint64_t seed);

// Anything but ok: it could not be run. What ran and was wrong is in the outcome.
Status check_grouped(const GroupedProblem& problem, const reference::GroupedProduct& product, const GemmTrial& trial,
                     GemmOutcome& outcome);

}  // namespace warpwright::measure

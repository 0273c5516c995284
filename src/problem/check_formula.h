// Whether the formula of a problem can be read and uses only names that the problem has.
#pragma once
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::problem {

Status check_formula(const GemmProblem& problem);
Status check_formula(const GroupedProblem& problem);

}  // namespace warpwright::problem

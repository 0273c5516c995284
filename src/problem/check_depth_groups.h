// What groups along k must be, on every architecture that has them.
#pragma once
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::problem {

Status check_depth_groups(const GroupedProblem& problem);
// If an operand is stored along m or n, so must the other be.
Status check_depth_majors(const GroupedProblem& problem);

}  // namespace warpwright::problem

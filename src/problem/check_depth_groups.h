// What groups along k must be, on every architecture that has them.
#pragma once
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::problem {

Status check_depth_groups(const GroupedProblem& problem);
// Of operands that are stored along m or n, both are.
Status check_depth_majors(const GroupedProblem& problem);

}  // namespace warpwright::problem

// What the kernels of an architecture take at all: one sentence that names the argument, its value and the rule.
// Hopper's rules are those of the host API (warpwright/gemm.h, warpwright/grouped.h).
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::problem {

Status validate(const GemmProblem& problem, Arch arch);
// The rules of swiglu, on every architecture that has it.
Status check_pairs(const GemmProblem& problem);
Status validate(const GroupedProblem& problem, Arch arch);

}  // namespace warpwright::problem

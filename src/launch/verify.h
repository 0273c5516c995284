// The arguments of a comparison of D with a product that is computed in the plainest way.
#pragma once
#include <optional>

#include "launch/verify_rules.h"
#include "problem/lower.h"
#include "warpwright/gemm.h"

namespace warpwright::launch {

// For pointers with which the problem was run; where C was D, `pointers.c` is a copy from before. Of large products a
// part of the elements is compared, evenly spread. Returns nothing where there is no plain product of this kind here
// (block scales, swiglu).
std::optional<VerifyArgs> verify_arguments(const GemmProblem& problem, const problem::Lowered& low,
                                           const GemmPointers& pointers);

}  // namespace warpwright::launch

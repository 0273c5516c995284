// The arguments of a launch: everything but the addresses when a plan is made, the addresses when it runs.
#pragma once
#include "api/launcher.h"
#include "api/lower.h"
#include "api/packing.h"

namespace warpwright::api {

// Encodes the tensor maps for addresses that are not known yet. `splits` and workspace are set by the plan.
Status prepare_arguments(KernelArgs& args, const runtime::Kernel& kernel, const GemmProblem& problem,
                         const Lowered& low);

// Puts the addresses in. A tensor map keeps its address by cuTensorMapReplaceAddress, the rest of it unchanged.
Status set_addresses(KernelArgs& args, const runtime::Kernel& kernel, const GemmProblem& problem,
                     const GemmPointers& pointers);

// Whether the pointers may be used by a kernel for this problem: given, aligned, and D apart from everything that is
// read. What is copied first may lie anywhere.
Status check_pointers(const GemmProblem& problem, const Lowered& low, const runtime::Kernel& kernel,
                      const GemmPointers& pointers, const Packing& packing = {});

}  // namespace warpwright::api

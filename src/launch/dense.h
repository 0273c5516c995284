// The arguments of a launch: everything but the addresses when a plan is made, the addresses when it runs.
#pragma once
#include "choice/packing.h"
#include "launch/grid.h"
#include "launch/tensor_map.h"
#include "problem/lower.h"

namespace warpwright::launch {

using choice::Packing;
using problem::Lowered;
using problem::StoredMatrix;

// All at once, on every architecture; `low` is the problem as the kernel sees it. Workspace is set apart.
Status fill_arguments(Arguments& args, const catalog::Instance& instance, const GemmProblem& problem,
                      const Lowered& low, const GemmPointers& pointers, const MapEncoder& maps);

// The same in two steps. First for addresses that are not known yet; a problem that the kernel cannot take is refused
// here.
Status prepare_arguments(Arguments& args, const catalog::Instance& instance, const GemmProblem& problem,
                         const Lowered& low, const MapEncoder& maps);
// Then the addresses. On Hopper nothing is encoded again: the rest of a tensor map stays.
Status set_addresses(Arguments& args, const catalog::Instance& instance, const GemmProblem& problem, const Lowered& low,
                     const GemmPointers& pointers, const MapEncoder& maps);

// Whether the pointers may be used by a kernel for this problem: given, aligned, and D separate from everything that is
// read. What is copied first may be anywhere.
Status check_pointers(const GemmProblem& problem, const Lowered& low, const catalog::Instance& instance,
                      const GemmPointers& pointers, const Packing& packing = {});

}  // namespace warpwright::launch

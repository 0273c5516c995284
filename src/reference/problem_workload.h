// Operands and reference of a problem of the API, for both executors.
#pragma once
#include <cstdint>
#include <vector>

#include "reference/workload.h"
#include "warpwright/gemm.h"

namespace warpwright::reference {

// The problem as the reference has it: C, residual and bias without gaps.
GemmProblem with_packed_addends(GemmProblem problem);

// For a problem that validate() accepts and with_packed_addends() returned. `offset`: elements by which A, B and D miss
// the alignment of their memory.
Workload workload_of(const GemmProblem& problem, int64_t offset, Data data, uint64_t seed);
// Computes what is expected anew, for arrays that somebody has changed.
void expect_again(const GemmProblem& problem, int64_t offset, Workload& workload);
// The arrays of such a workload at their addresses.
GemmPointers pointers_of(const GemmProblem& problem, int64_t offset, const Workload& workload,
                         const std::vector<void*>& arrays);

}  // namespace warpwright::reference

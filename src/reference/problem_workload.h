// Operands and reference of a problem of the API, for both executors.
#pragma once
#include <cstdint>
#include <vector>

#include "reference/workload.h"
#include "warpwright/gemm.h"

namespace warpwright::reference {

// The problem as the reference has it: C, residual and bias without gaps.
GemmProblem with_packed_addends(GemmProblem problem);

// Elements by which A and B, and D, miss the alignment of their memory.
struct Offset {
  int64_t operands = 0, result = 0;
  Offset(int64_t all = 0) : operands(all), result(all) {}
  Offset(int64_t of_operands, int64_t of_result) : operands(of_operands), result(of_result) {}
};

// For a problem that validate() accepts and with_packed_addends() returned. Where A and B have factors of blocks, the
// workload's alpha is that of their tensors, and the problem's must be the same.
Workload workload_of(const GemmProblem& problem, Offset offset, Data data, uint64_t seed);
// The same for operands without factors of blocks.
Workload product_workload(const GemmProblem& problem, Offset offset, Data data, uint64_t seed);
// Computes the expected values again, for arrays that were changed.
void expect_again(const GemmProblem& problem, Offset offset, Workload& workload);
// The arrays of such a workload at their addresses.
GemmPointers pointers_of(const GemmProblem& problem, Offset offset, const Workload& workload,
                         const std::vector<void*>& arrays);

}  // namespace warpwright::reference

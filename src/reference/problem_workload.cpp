#include "reference/problem_workload.h"

#include "reference/block_scaled_workload.h"

namespace warpwright::reference {

Workload workload_of(const GemmProblem& problem, Offset offset, Data data, uint64_t seed) {
  if (problem.block_scaling == BlockScaling::none) return product_workload(problem, offset, data, seed);
  return block_scaled_workload({problem.m, problem.n, problem.k}, problem.block_scaling, problem.a.type, problem.d.type,
                               data, seed);
}

}  // namespace warpwright::reference

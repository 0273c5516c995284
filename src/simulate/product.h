// A product in the simulator: the same problem, choice, instance, arguments and grid as on a GPU.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "choice/choose.h"
#include "choice/grouped.h"
#include "problem/lower.h"
#include "reference/grouped_sm90_workload.h"
#include "reference/problem_workload.h"
#include "simulate/example.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"

namespace warpwright::simulate {

struct DenseProduct {
  GemmProblem problem;  // with packed addends
  problem::Lowered low;
  choice::Decision decision;
  reference::Offset offset;  // where A, B and D begin in their memory

  const catalog::Instance& instance() const { return decision.choice.instance; }
};
// Validated and chosen for a chip of any architecture, on Hopper as make_plan() does it, with its sentences.
Result<DenseProduct> dense_product(const GemmProblem& problem, const choice::Chip& chip, reference::Offset offset = 0,
                                   const choice::ChipLimits& limits = {});
// The same, with C and the residual where the problem says that they are.
Result<DenseProduct> spaced_product(const GemmProblem& problem, const choice::Chip& chip, reference::Offset offset = 0,
                                    const choice::ChipLimits& limits = {});

struct GroupedRun {
  GroupedProblem problem;
  reference::GroupedProduct product;  // the same with its table of groups
  choice::GroupedChoice choice;

  const catalog::Instance& instance() const { return choice.instance; }
};
Result<GroupedRun> grouped_run(const GroupedProblem& problem, const reference::GroupedProduct& product,
                               const choice::Chip& chip);

// Operands and reference of a product: Blackwell's kernels take factors in another order than Hopper's.
reference::Workload workload_of(const GroupedProblem& problem, const reference::GroupedProduct& product, Arch arch,
                                reference::Data data, uint64_t seed);

// One run. `sm_limit` 0: few SMs, enough for every role to meet its peers. A failure to compile or to make arguments is
// thrown as std::runtime_error.
Outcome run(const DenseProduct& product, const reference::Workload& workload, const simulator::Options& options,
            int sm_limit);
Outcome run(const GroupedRun& product, const reference::Workload& workload, const simulator::Options& options,
            int sm_limit);

// Puts a product on the current GPU through the host API, by its instance, with the arrays of its workload in device
// memory.
Status launch_on_gpu(const DenseProduct& product, const reference::Workload& workload, const std::vector<void*>& arrays,
                     void* stream);
Status launch_on_gpu(const GroupedRun& product, const reference::Workload& workload, const std::vector<void*>& arrays,
                     void* stream);

// A product as something that run_on_gpu() takes (gpu_run.h).
Example gpu_example_of(const DenseProduct& product);
Example gpu_example_of(const GroupedRun& product);

// As something that `check`, `gemm` and `trace` run. Compiles it, if it must.
Result<Example> example_of(const DenseProduct& product);
Result<Example> example_of(const GroupedRun& run);
// An instance of the catalogue, or any that can be compiled, with sizes that reach its edges.
Result<Example> example_of(const catalog::Instance& instance);
// Whether example_of(instance) knows the family.
bool has_example(const catalog::Instance& instance);
// Whether it makes a dense product, on any architecture.
bool is_dense(const catalog::Instance& instance);
// Whether the host API runs it, on a device of its architecture.
bool behind_api(const catalog::Instance& instance);
// The problem that example_of(instance) has for a size, by that instance: the API takes the same on a GPU.
Result<DenseProduct> dense_case(const catalog::Instance& instance, reference::Case shape);
Result<GroupedRun> grouped_case(const catalog::Instance& instance, reference::Case shape);

// SMs that a launch of it would take on the simulated chip.
int ctas_on_chip(const DenseProduct& product);
int ctas_on_chip(const GroupedRun& run);

}  // namespace warpwright::simulate

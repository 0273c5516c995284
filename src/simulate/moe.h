// A mixture of experts in the simulator: the same launches, in the same order, as on a GPU.
#pragma once
#include "catalog/instance.h"
#include "choice/choose.h"
#include "choice/grouped.h"
#include "reference/moe_workload.h"
#include "simulate/example.h"
#include "warpwright/moe.h"

namespace warpwright::simulate {

struct MoeRun {
  MoeProblem problem;
  catalog::Instance route, gate_up, down, combine;
};
// Validated and chosen for a chip, as make_plan() does it.
Result<MoeRun> moe_run(const MoeProblem& problem, const choice::Chip& chip);

// One run of all launches on the arrays of reference::moe_workload(). `sm_limit` 0: few SMs. A failure to compile or to
// make arguments is thrown as std::runtime_error.
Outcome run(const MoeRun& run, const reference::Workload& workload, const simulator::Options& options, int sm_limit);

}  // namespace warpwright::simulate

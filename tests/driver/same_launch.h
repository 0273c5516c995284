// One product twice: prepared for the simulator, and run through the host API on what the library takes for a GPU.
#pragma once
#include <string>

#include "catalog/instance.h"
#include "reference/workload.h"
#include "warpwright/gemm.h"

namespace warpwright::recorded {

// Which images the library gets for what this build has not compiled.
enum class Images { stand_in, compiled };

struct Comparison {
  std::string difference;  // empty: the recorded launch is the simulator's
  int launches = 0;
};
// On the current device, for which the instance must be; at most `sm_limit` SMs (0: all).
Comparison compare(const catalog::Instance& instance, reference::Case shape, int sm_limit, Images images);
// The same of a problem, by the instance that is chosen for it.
Comparison compare(const GemmProblem& problem, Arch arch, int sm_limit, Images images);
// The same with operands that the TMA cannot address, which a launch ahead copies.
Comparison compare_packed(const catalog::Instance& instance, reference::Case shape, int sm_limit, Images images);

}  // namespace warpwright::recorded

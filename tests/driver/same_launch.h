// One product twice: prepared for the simulator, and run through the host API on what the library takes for a GPU.
#pragma once
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "reference/workload.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"

namespace warpwright::recorded {

// Which images the library gets for what this build has not compiled.
enum class Images { stand_in, compiled };

struct Comparison {
  std::string difference;  // empty: the recorded launch is the simulator's
  int launches = 0;
};

// What a test found of an instance on a device, a line of the table of the catalogue (tools/catalogue_table.py).
struct Found {
  std::string device, instance;
  std::string how;  // "equal": to the simulator's; "as planned": grid, threads and shared bytes are those of its plan
  int runs = 0, launches = 0, wrong = 0;
  void count(const Comparison& compared) {
    ++runs;
    launches += compared.launches;
    wrong += compared.difference.empty() ? 0 : 1;
  }
};
std::string text_of(const std::vector<Found>& found);

// On the current device, for which the instance must be; at most `sm_limit` SMs (0: all).
Comparison compare(const catalog::Instance& instance, reference::Case shape, int sm_limit, Images images);
// The same of a problem, by the instance that is chosen for it.
Comparison compare(const GemmProblem& problem, Arch arch, int sm_limit, Images images);
Comparison compare(const GroupedProblem& problem, Arch arch, int sm_limit, Images images);
// The same with operands that the TMA cannot address, which a launch ahead copies.
Comparison compare_packed(const catalog::Instance& instance, reference::Case shape, int sm_limit, Images images);

}  // namespace warpwright::recorded

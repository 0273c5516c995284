// Which compiled instance serves a product with blockwise scales or groups, and why.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::runtime {

struct GroupedKernel {
  bool skinny = false;
  int index = 0;  // in its table of device/launch_grouped_sm90.h
  bool operator==(const GroupedKernel&) const = default;
};
struct GroupedChoice {
  GroupedKernel kernel;
  std::string reason;
};

// "grouped-128x192-c2-s4", "skinny-64x8-k4-s20": tile, cluster or split, stages.
std::string plan_name(const GroupedKernel& kernel);
// All that can serve the problem, in the order of their tables.
std::vector<GroupedKernel> kernels_for(const GroupedProblem& problem);
// An estimate of the time on so many SMs, for the comparison of kernels.
double estimated_us(const GroupedKernel& kernel, const GroupedProblem& problem, int multiprocessors);
// For a problem that validate() accepts: the one it names, or the fastest by the estimate.
Result<GroupedChoice> choose(const GroupedProblem& problem, int multiprocessors);

}  // namespace warpwright::runtime

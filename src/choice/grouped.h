// Which instance serves a product with blockwise scales or groups, and why.
#pragma once
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "choice/dense.h"
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::choice {

using catalog::Instance;

struct GroupedChoice {
  Instance instance;
  std::string reason;
  double measured_us = 0;  // by the table or the runs that it comes from; 0: from none
  ChosenBy by = ChosenBy::model;
};

// The same product without a function of the user's own, for which instances are compiled ahead.
GroupedProblem without_own(GroupedProblem problem);
// All instances compiled ahead that can serve the problem, in the order of the catalogue; with a function of the user's
// own those that serve it without, compiled with the text.
std::vector<Instance> instances_for(const GroupedProblem& problem);
// The time of one product on this many SMs by the model.
double estimated_us(const Instance& instance, const GroupedProblem& problem, int multiprocessors);
// An instance with this time.
struct RankedInstance {
  Instance instance;
  double us = 0;
};
// All of them, the best first.
std::vector<RankedInstance> rank(const GroupedProblem& problem, int multiprocessors);
// For a problem that validate() accepts: the one it names, or the fastest by the estimate.
Result<GroupedChoice> choose(const GroupedProblem& problem, int multiprocessors);

}  // namespace warpwright::choice

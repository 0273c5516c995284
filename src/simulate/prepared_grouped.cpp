#include <cstdint>
#include <vector>

#include "launch/grouped.h"
#include "reference/grouped_workload.h"
#include "simulate/prepared.h"

namespace warpwright::simulate {

using reference::Workload;

GroupedPointers pointers_of(const GroupedRun& p, const Workload& w, const std::vector<void*>& arrays) {
  const bool as_on_hopper = catalog::arch_of(p.instance()) == Arch::sm90 || reference::is_of_all(p.problem);
  return as_on_hopper ? reference::grouped_pointers(p.product, w, arrays)
                      : reference::grouped_pointers(p.problem, w, arrays);
}

PreparedRun prepare(const GroupedRun& p, const Workload& w, int sm_limit, const launch::MapEncoder& maps) {
  PreparedRun run{Arrays(w), {}, {}, 0};
  const GroupedProblem& problem = p.problem;
  if (problem.m == 0 || problem.n == 0 || problem.group_count == 0) return run;
  const catalog::Instance& instance = p.instance();
  const GroupedPointers pointers = pointers_of(p, w, run.arrays.pointers());
  require(launch::check_pointers(problem, pointers, catalog::arch_of(instance)));
  require(launch::fill_arguments(run.args, instance, problem, pointers, maps));
  const int64_t clusters = clusters_of(instance, sm_limit);
  add_grid(run, instance, clusters);
  return run;
}

}  // namespace warpwright::simulate

// The basis of the choice: brief times of every plan on problems drawn at random. The model is fitted to one draw and
// judged by another (bench/choice).
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "measure/bench_gpu.h"
#include "measure/draw.h"

namespace warpwright::measure {

struct BasisRow {
  std::string problem;  // as basis_problem() writes it
  std::string plan;     // empty: the fastest of the peer's choices
  double us = 0;        // time of a launch among others of its kind, which may overlap with the next
};

struct BasisOptions {
  choice::OnDemand on_demand = choice::OnDemand::refused;
  // For dense products: the plans of a problem that should be timed, if not every plan.
  std::map<std::string, std::vector<std::string>> plans;
  double budget_s = 0;  // stop taking new problems after this many seconds; 0: never
};

// Calls `done` with the rows of each problem. Plans that a glance shows to be far behind are left out. A failure is
// the driver's. Dense products have the peer's fastest choice too; the others have instances compiled ahead.
Status time_basis(const std::vector<BenchShape>& shapes, const BasisOptions& options,
                  const std::function<void(const std::vector<BasisRow>&)>& done);
Status time_basis(const std::vector<GroupedCase>& shapes, const BasisOptions& options,
                  const std::function<void(const std::vector<BasisRow>&)>& done);

}  // namespace warpwright::measure

// The sizes that `check` runs an instance on.
#pragma once
#include <vector>

#include "catalog/instance.h"
#include "reference/workload.h"

namespace warpwright::simulate {

// Derived from its configuration: one at which every stage of the input ring is refilled twice, one with enough tiles
// to do the same to what a tile passes through once, both with work for every cluster of a small grid, then edges and
// no depth. Some may be more than the instance accepts.
std::vector<reference::Case> cases_of(const catalog::Instance& instance);

}  // namespace warpwright::simulate

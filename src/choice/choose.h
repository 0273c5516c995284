// Which instance serves a problem on a chip, on every architecture. The host API, the tool's commands and the simulator
// all ask here; products by groups are in tuned_grouped.h. Needs no GPU.
#pragma once
#include <cstddef>
#include <vector>

#include "choice/by_fill.h"
#include "choice/dense.h"
#include "choice/packing.h"
#include "choice/tuned_grouped.h"
#include "warpwright/gemm.h"
#include "warpwright/status.h"

namespace warpwright::choice {

// For a problem that problem::validate(problem, chip.arch) accepts: the plan it names, or the best one. Unsupported:
// nothing serves it.
Result<Decision> choose(const GemmProblem& problem, const Chip& chip, OnDemand on_demand = OnDemand::allowed,
                        const ChipLimits& limits = {});

// The plans that are measured beside the chosen one: by the model the best others of those compiled ahead, or of all
// where fewer than two were.
inline constexpr size_t kOtherFinalists = 4;
std::vector<Decision> finalists(const Decision& chosen, const GemmProblem& problem, const Chip& chip,
                                const ChipLimits& limits = {});
std::vector<GroupedChoice> finalists(const GroupedChoice& chosen, const GroupedProblem& problem, const Chip& chip);

}  // namespace warpwright::choice

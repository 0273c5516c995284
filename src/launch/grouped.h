// The arguments of products by groups and with blockwise scales.
#pragma once
#include <cstdint>

#include "launch/grid.h"
#include "launch/tensor_map.h"
#include "warpwright/grouped.h"

namespace warpwright::launch {

// Matrices that B consists of.
int64_t matrices_of(const GroupedProblem& problem);

// Whether the pointers that the problem needs are given and aligned.
Status check_pointers(const GroupedProblem& problem, const GroupedPointers& pointers);

// For an instance that serves the problem, with pointers that check_pointers() accepts.
Status fill_arguments(Arguments& args, const catalog::Instance& instance, const GroupedProblem& problem,
                      const GroupedPointers& pointers, const MapEncoder& maps);

}  // namespace warpwright::launch

// The arguments of products by groups and with blockwise scales.
#pragma once
#include <cstdint>

#include "launch/grid.h"
#include "launch/tensor_map.h"
#include "warpwright/grouped.h"
#include "warpwright/tile/group_table.h"

namespace warpwright::launch {

// Matrices that B consists of.
int64_t matrices_of(const GroupedProblem& problem);

// Whether a pointer that a problem needs is given, at a multiple of this many bytes.
Status check_operand(const char* argument, const void* pointer, uintptr_t alignment);
// Whether the pointers that the problem needs are given and aligned, and none that its kernels have no use for.
Status check_pointers(const GroupedProblem& problem, const GroupedPointers& pointers, Arch arch);

// Rows, groups and matrices, and where the numbers of the groups are.
GroupTable table_of(const GroupedProblem& problem, const GroupedPointers& pointers);

// For an instance that serves the problem, with pointers that check_pointers() accepts.
Status fill_arguments(Arguments& args, const catalog::Instance& instance, const GroupedProblem& problem,
                      const GroupedPointers& pointers, const MapEncoder& maps);

// The same for Blackwell's instances; fill_arguments() calls it.
Status fill_sm100(Arguments& args, const catalog::Instance& instance, const GroupedProblem& problem,
                  const GroupedPointers& pointers, const MapEncoder& maps);

}  // namespace warpwright::launch

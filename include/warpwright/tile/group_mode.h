// World-free, like tile/group_table.h.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

// How a product is divided into groups. `contiguous`: rows of A, one group after the other, of any alignment
// (GroupTable::offsets), each with a B of its own. `masked`: each has a slot of rows, only the first of which count
// (GroupTable::counts). `by_depth`: columns of A and of B (GroupTable::offsets), each with a D of its own.
enum class Groups : uint8_t { none, contiguous, masked, by_depth };

}  // namespace warpwright

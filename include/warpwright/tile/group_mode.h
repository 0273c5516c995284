// World-free, like tile/group_table.h.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

// How the rows of A are divided among groups with a B each. `contiguous`: one behind the other, of any alignment
// (GroupTable::offsets). `masked`: each has a slot of rows, of which the first are meant (GroupTable::counts).
enum class Groups : uint8_t { none, contiguous, masked };

}  // namespace warpwright

// On the GPU a location is nothing.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright::inline WW_WORLD::machine {

struct here {};

}  // namespace warpwright::inline WW_WORLD::machine

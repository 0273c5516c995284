// The lines of findings that no word could name.
#pragma once
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {

// Finds the line of what was done without a word in the debug information of the kernel, where it has some.
void locate(simulator::Result& result);

}  // namespace warpwright::simulate

// The lines of findings that no word could name.
#pragma once
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {

// Finds in the debug information of the kernel, where it has some, the line of what was done without a word, and where
// a function that the kernel called has called the word.
void locate(simulator::Result& result);

}  // namespace warpwright::simulate

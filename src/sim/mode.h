// A mode in the words of the tool's options, for replaying a run.
#pragma once
#include <string>

#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {

std::string mode_text(const Options& options);

}  // namespace warpwright::simulator

// Running other programs.
#pragma once
#include <string>
#include <vector>

#include "warpwright/status.h"

namespace warpwright::system {

// Looks `arguments[0]` up in PATH. A failure: it could not be started or did not exit with 0. `output` is what it
// printed, errors too.
Status run_program(const std::vector<std::string>& arguments, std::string& output);

// Its exit code; 127 if it could not be started, 128 if a signal ended it. Takes its stdout; its stderr is ours.
int run_for_output(const std::vector<std::string>& arguments, std::string& output);

// Whether PATH has it.
bool program_exists(const std::string& name);

}  // namespace warpwright::system

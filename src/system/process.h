// Running other programs.
#pragma once
#include <string>
#include <vector>

namespace warpwright::system {

// Looks `arguments[0]` up in PATH. False: it could not be started or did not exit with 0; `error` has the reason.
// `output` is what it printed, errors too.
bool run_program(const std::vector<std::string>& arguments, std::string& output, std::string& error);

// Its exit code; 127 if it could not be started, 128 if a signal ended it. Takes its stdout; its stderr is ours.
int run_for_output(const std::vector<std::string>& arguments, std::string& output);

// Whether PATH has it.
bool program_exists(const std::string& name);

}  // namespace warpwright::system

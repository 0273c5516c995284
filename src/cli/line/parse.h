// Reads a command line by the description of the tool.
#pragma once

#include <optional>
#include <string>

#include "cli/line/command_line.h"

namespace warpwright::cli {

struct Parsed {
  CommandLine* command;             // the one that was given, or the last one on the way to it
  std::optional<std::string> page;  // the user asked for it: help, or the version
  std::string complaint;            // bad usage, in one sentence; empty: none
};

Parsed parse(CommandLine& tool, int argc, char** argv);

}  // namespace warpwright::cli

// Which line of a source an instruction of this process comes from.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpwright::system {

struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

// From the debug information of the file that holds the instruction, as addr2line reads it. Nothing where there is no
// such program or no such information.
std::optional<SourceLine> source_line(const void* instruction);
// The same with those of the calls that the compiler has put in place of functions, innermost first.
std::vector<SourceLine> source_lines(const void* instruction);

}  // namespace warpwright::system

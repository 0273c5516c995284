#include "system/source_line.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <istream>
#include <sstream>
#include <utility>

#include "system/process.h"

namespace warpwright::system {

std::vector<SourceLine> source_lines(const void* instruction) {
  std::vector<SourceLine> places;
  Dl_info info = {};
  if (dladdr(instruction, &info) == 0 || info.dli_fname == nullptr || !program_exists("addr2line")) return places;
  const auto offset = reinterpret_cast<uintptr_t>(instruction) - reinterpret_cast<uintptr_t>(info.dli_fbase);
  char hex[2 + 16 + 1] = "0x";
  *std::to_chars(hex + 2, hex + sizeof hex - 1, offset, 16).ptr = 0;
  std::string output;
  if (!run_program({"addr2line", "-i", "-e", info.dli_fname, hex}, output)) return places;
  std::istringstream lines(output);
  for (std::string text; std::getline(lines, text);) {
    // "/path/kernel.h:77 (discriminator 3)"
    text.resize(std::min(text.find(' '), text.size()));
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos) continue;
    SourceLine place{text.substr(0, colon), 0};
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), place.line);
    if (place.line != 0 && place.file != "??") places.push_back(std::move(place));
  }
  return places;
}

std::optional<SourceLine> source_line(const void* instruction) {
  const std::vector<SourceLine> places = source_lines(instruction);
  if (places.empty()) return {};
  return places.front();
}

}  // namespace warpwright::system

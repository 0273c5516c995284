#include "system/source_line.h"

#include <dlfcn.h>

#include <charconv>
#include <cstddef>
#include <string_view>

#include "system/process.h"

namespace warpwright::system {

std::optional<SourceLine> source_line(const void* instruction) {
  Dl_info info = {};
  if (dladdr(instruction, &info) == 0 || info.dli_fname == nullptr || !program_exists("addr2line")) return {};
  const auto offset = reinterpret_cast<uintptr_t>(instruction) - reinterpret_cast<uintptr_t>(info.dli_fbase);
  char hex[2 + 16 + 1] = "0x";
  *std::to_chars(hex + 2, hex + sizeof hex - 1, offset, 16).ptr = 0;
  std::string output;
  if (!run_program({"addr2line", "-e", info.dli_fname, hex}, output)) return {};
  // "/path/kernel.h:77 (discriminator 3)"
  const std::string_view text(output);
  const size_t end = text.find_first_of(" \n"), colon = text.substr(0, end).rfind(':');
  if (colon == std::string_view::npos) return {};
  SourceLine place{std::string(text.substr(0, colon)), 0};
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), place.line);
  if (place.line == 0 || place.file == "??") return {};
  return place;
}

}  // namespace warpwright::system

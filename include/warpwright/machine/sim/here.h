// Where in the kernel a word was called: every public method of a ring, stage or warp takes a defaulted `here` and
// hands it on, so that a report names the kernel's line and not the ring's.
#pragma once
#include <source_location>

#include "warpwright/core/std.h"

namespace warpwright::inline WW_WORLD::machine {

struct here {
  const char* file;
  uint32_t line;
  constexpr here(std::source_location s = std::source_location::current()) : file(s.file_name()), line(s.line()) {}
  constexpr here(const char* f, uint32_t l) : file(f), line(l) {}
};

}  // namespace warpwright::inline WW_WORLD::machine

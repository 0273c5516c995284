// Where in the kernel a word was called: every public method of a ring, stage or warp takes a defaulted `here` and
// hands it on, so that a report names the kernel's line and not the ring's.
#pragma once
#include "warpwright/core/call_site.h"
#include "warpwright/core/std.h"

namespace warpwright::inline WW_WORLD::machine {

struct here {
  struct Place {
    const char* file;
    uint32_t line;
    constexpr Place(const char* f = __builtin_FILE(), uint32_t l = __builtin_LINE()) : file(f), line(l) {}
  };
  const char* file;
  uint32_t line;
  [[gnu::always_inline]] here(Place p = {}) : file(p.file), line(p.line) { WW_CALL_SITE(p.file, p.line); }
  constexpr here(const char* f, uint32_t l) : file(f), line(l) {}  // no place of the source: nothing is called there
};

}  // namespace warpwright::inline WW_WORLD::machine

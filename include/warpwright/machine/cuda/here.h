// On the GPU a location is nothing, or the line that an event is recorded with.
#pragma once
#if defined(WW_RECORD)
#include "warpwright/core/record.h"
#else
#include "warpwright/core/std.h"
#endif

namespace warpwright::inline WW_WORLD::machine {

#if defined(WW_RECORD)
struct here {
  uint32_t id;
  WW_FN here(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE())
      : id(::warpwright::record::place(uint32_t(reinterpret_cast<uint64_t>(file)), line)) {}
};
#else
struct here {};
#endif

}  // namespace warpwright::inline WW_WORLD::machine

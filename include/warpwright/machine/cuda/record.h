// Timestamps of what the words do, for a timeline. They exist in a translation unit that defines WW_RECORD, before it
// includes anything; elsewhere these functions are empty and leave nothing in the machine code.
#pragma once
#if defined(WW_RECORD)
#include "warpwright/machine/cuda/record_on.h"
#else
#include "warpwright/core/record_kind.h"
#include "warpwright/machine/cuda/here.h"

namespace warpwright::inline WW_WORLD::machine::record {

using ::warpwright::record::Kind;

class Wait {
 public:
  WW_FN Wait(Kind, uint32_t, uint32_t, here) {}
};
WW_FN void event(Kind, uint32_t, uint32_t, here) {}
WW_FN void arrival(Kind, uint32_t, uint32_t, here) {}
WW_FN void remote_arrival(uint32_t, here) {}
WW_FN void load(Kind, uint32_t, uint32_t, here) {}

}  // namespace warpwright::inline WW_WORLD::machine::record
#endif

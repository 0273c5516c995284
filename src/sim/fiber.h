// AddressSanitizer must be told when the stack changes.
#pragma once
#include <cstddef>

#if defined(WW_ASAN_FIBERS)
#include <sanitizer/common_interface_defs.h>
#endif

namespace warpwright::simulator {

inline void leaving([[maybe_unused]] void** fake, [[maybe_unused]] const void* bottom, [[maybe_unused]] size_t size) {
#if defined(WW_ASAN_FIBERS)
  __sanitizer_start_switch_fiber(fake, bottom, size);
#endif
}
inline void arrived([[maybe_unused]] void* fake, [[maybe_unused]] const void** bottom, [[maybe_unused]] size_t* size) {
#if defined(WW_ASAN_FIBERS)
  __sanitizer_finish_switch_fiber(fake, bottom, size);
#endif
}

}  // namespace warpwright::simulator

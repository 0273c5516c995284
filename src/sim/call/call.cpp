#include "call.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <exception>
#include <initializer_list>

namespace warpwright::simulator {
namespace {

const void* object_of(const void* instruction) {
  Dl_info info = {};
  return dladdr(instruction, &info) != 0 ? info.dli_fbase : nullptr;
}

// The innermost call from an object that holds none of the functions.
const void* call_but_from(std::initializer_list<const void*> functions) {
  void* addresses[64];
  const int count = backtrace(addresses, 64);
  for (int i = 0; i < count; ++i) {
    // The address after a call may belong to the next line.
    const void* const call = static_cast<const char*>(addresses[i]) - 1;
    const void* const object = object_of(call);
    bool other = object != nullptr;
    for (const void* function : functions) other = other && object != object_of(function);
    if (other) return call;
  }
  return nullptr;
}

}  // namespace

const void* call_of_word() { return call_but_from({reinterpret_cast<const void*>(&call_of_word)}); }
const void* call_from_outside() {
  return call_but_from({reinterpret_cast<const void*>(&call_of_word), reinterpret_cast<const void*>(&std::abort),
                        reinterpret_cast<const void*>(&std::terminate)});
}

}  // namespace warpwright::simulator

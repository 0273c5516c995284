#include "call.h"

#include <dlfcn.h>
#include <execinfo.h>

namespace warpwright::simulator {
namespace {

const void* object_of(const void* instruction) {
  Dl_info info = {};
  return dladdr(instruction, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

const void* call_of_word() {
  void* addresses[64];
  const int count = backtrace(addresses, 64);
  const void* const own = object_of(reinterpret_cast<const void*>(&call_of_word));
  for (int i = 0; i < count; ++i) {
    // The address behind a call may belong to the next line.
    const void* const call = static_cast<const char*>(addresses[i]) - 1;
    const void* const object = object_of(call);
    if (object != nullptr && object != own) return call;
  }
  return nullptr;
}

}  // namespace warpwright::simulator

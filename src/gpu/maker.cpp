#include "gpu/maker.h"

#include "gpu/driver.h"
#include "hip/driver.h"
#include "system/library.h"

namespace warpwright::gpu {
namespace {

bool nvidia_has_a_device() {
  int count = 0;
  return !system::says_off("WARPWRIGHT_CUDA") && driver_status() && driver().device_count(&count) == abi::kSuccess &&
         count > 0;
}

}  // namespace

Maker maker() {
  static const Maker found = !nvidia_has_a_device() && hip::driver_status() ? Maker::amd : Maker::nvidia;
  return found;
}

Result<int> current_device() { return maker() == Maker::amd ? hip::current_device() : current_nvidia_device(); }

}  // namespace warpwright::gpu

// The NVIDIA driver, opened at run time in this one place: the same binary starts where there is none.
#pragma once
#include <string>

#include "gpu/driver_abi.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// Whether the driver works; if not, no GPU can be used.
const Status& driver_status();
// Only where driver_status() is ok.
const abi::Functions& driver();

// "out of memory (error 2)".
std::string error_text(abi::Result result);
// The status of a failed call: "WHAT failed: out of memory (error 2)."
Status failure(abi::Result result, const char* what);
inline Status status_of(abi::Result result, const char* what) {
  return result == abi::kSuccess ? Status() : failure(result, what);
}

// The device of the calling thread's context. A thread without one gets the primary context of device 0, as the CUDA
// runtime would give it. Missing: no driver, or no device.
Result<int> current_nvidia_device();

inline abi::Pointer address(const void* pointer) { return reinterpret_cast<abi::Pointer>(pointer); }
inline void* pointer(abi::Pointer address) { return reinterpret_cast<void*>(address); }

}  // namespace warpwright::gpu

// AMD's HIP runtime, opened at run time in this one place: the same binary starts where there is none.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hip/abi.h"
#include "warpwright/status.h"

namespace warpwright::hip {

// Whether the runtime works and has a device; if not, no AMD GPU can be used.
const Status& driver_status();
// Only where driver_status() is ok.
const abi::Functions& driver();

// "out of memory (error 2)".
std::string error_text(abi::Result result);
// The status of a failed call: "WHAT failed: out of memory (error 2)."
Status failure(abi::Result result, const char* what);

// The device of the calling thread; HIP gives it device 0 unless it has set another.
Result<int> current_device();

struct GpuInfo {
  std::string name;
  std::string architecture;  // "gfx942:sramecc+:xnack-"
  int compute_units = 0;
  uint64_t memory = 0;  // bytes
  uint64_t l2_bytes = 0;
  uint32_t lds_bytes = 0;  // LDS that a workgroup may have
};
Result<GpuInfo> describe(int device);
// In the order of device numbers. Empty where there are none: driver_status() says why.
std::vector<GpuInfo> list_gpus();
// "gfx942" of "gfx942:sramecc+:xnack-".
std::string_view chip_of(std::string_view architecture);

}  // namespace warpwright::hip

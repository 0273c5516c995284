// Whose devices this process uses.
#pragma once
#include <cstdint>

#include "warpwright/status.h"

namespace warpwright::gpu {

enum class Maker : uint8_t { nvidia, amd };

// NVIDIA's, where its driver has a device and WARPWRIGHT_CUDA does not say off; otherwise AMD's, where HIP has one.
// Found once. Where there is neither it is NVIDIA, whose driver says what is missing.
Maker maker();

// The device of the calling thread, of that maker. Missing: no driver, or no device.
Result<int> current_device();

}  // namespace warpwright::gpu

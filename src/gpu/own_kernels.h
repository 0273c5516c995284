// Kernels of the library that are not tiled products (kernels/): an image for Hopper, and PTX for every other device.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "gpu/driver.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

using KernelList = std::vector<abi::KernelHandle>;

// Whether the device of the calling thread runs them at all: AMD's do not.
Status has_own_kernels(const std::string& name);
// The entries of the image `name` ("quantize"), in their order, on the current device; loaded once for each. A failure
// is not kept: the next call may find what this one lacked.
Result<const KernelList*> own_kernels(const std::string& name, std::span<const std::string> entries);

}  // namespace warpwright::gpu

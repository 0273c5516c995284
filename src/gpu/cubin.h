// What an image says of itself: a cubin, which is an ELF file, or PTX. Read here without a GPU: asking the driver would
// touch the device, which a stream capture under way in another thread may forbid.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "warpwright/kernel/instance_facts.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// The constant `symbol` of an image, `bytes` long.
Result<std::vector<uint8_t>> constant_of(std::span<const uint8_t> image, std::string_view symbol, size_t bytes);

// The facts that the image of an instance carries.
Result<InstanceFacts> facts_of(std::span<const uint8_t> image);

}  // namespace warpwright::gpu

// Tensor maps of matrices in device memory, made by the driver.
#pragma once
#include "launch/tensor_map.h"
#include "warpwright/core/address.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

using launch::TensorMapSpec;

// Says which rule of the driver the spec breaks, where the driver would answer "invalid argument".
Status encode_tensor_map(const TensorMapSpec& spec, TensorMap& map);

// The same tensor at another address. Much faster than encoding.
Status replace_address(TensorMap& map, const void* address);

// Both, for code that makes arguments.
const launch::MapEncoder& map_encoder();

}  // namespace warpwright::gpu

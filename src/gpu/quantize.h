// Quantization on the GPU of this machine.
#pragma once
#include "launch/quantize_rules.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// For a legal problem, on a stream of the current device. Legal during stream capture, even the first time.
Status quantize(Quantization kind, DType type, bool given_tensor_scale, const QuantizeArgs& args, void* stream);

}  // namespace warpwright::gpu

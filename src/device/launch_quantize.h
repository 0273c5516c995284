// Launching the quantization kernels, like device/launch.h.
#pragma once
#include "device/launch.h"
#include "runtime/quantize_rules.h"

namespace warpwright::device {

// One launch, or two and a word that is set first where the factor of the tensor has to be found. Rows and columns may
// be 0.
Status launch_quantize(Quantization kind, DType type, bool given_tensor_scale, const QuantizeArgs& args, void* stream);

}  // namespace warpwright::device

// Whether a product that was just launched is right, asked of the device itself.
#pragma once
#include "launch/verify_rules.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// Whether WARPWRIGHT_VERIFY asks for it: anything but "0", "off" and nothing.
bool verifies();

// Waits for the stream, compares, and fails with the first element that is wrong: on an NVIDIA GPU on the device, whose
// kernel has the rules of launch/verify_rules.h; elsewhere the operands and the result are copied and the same rules
// run on the host. `args.found` is set here. Not while a stream is captured.
Status verify(VerifyArgs args, void* stream);

}  // namespace warpwright::gpu

// Whether a product that was just launched is right, asked of the device itself.
#pragma once
#include "launch/verify_rules.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// Whether WARPWRIGHT_VERIFY asks for it: anything but "0", "off" and nothing.
bool verifies();

// Waits for the stream, compares on the device, and fails with the first element that is wrong. `args.found` is set
// here. Not while a stream is captured.
Status verify(VerifyArgs args, void* stream);

}  // namespace warpwright::gpu

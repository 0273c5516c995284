// Where the running word was called from, found by the return addresses on the stack.
#pragma once

namespace warpwright::simulator {

// An instruction of the innermost call from an object that does not hold the simulator; null if there is none, as in
// kernels that are linked with the simulator.
const void* call_of_word();

// The same for the caller of a function of the C or C++ library that does not return.
const void* call_from_outside();

}  // namespace warpwright::simulator

// Where the running word was called, by the return addresses on the stack.
#pragma once

namespace warpwright::simulator {

// An instruction of the innermost call from an object that does not hold the simulator; null where there is none, as
// in kernels that are linked with it.
const void* call_of_word();

// The same of whoever called a function of the C or C++ library that does not return.
const void* call_from_outside();

}  // namespace warpwright::simulator

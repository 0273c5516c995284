// Libraries that are opened while the program runs, so that it starts where there are none.
#pragma once
#include <span>
#include <string>

#include "warpwright/status.h"

namespace warpwright::system {

// Whether an environment variable says "off", in any case.
bool says_off(const char* variable);

// The first of these that the program has loaded already, or else the first that can be opened; where the environment
// variable names another, that one. `what` is how the sentence of a failure calls them: "NVIDIA driver library
// libcuda.so.1". Never closed: a driver does not survive being unloaded.
Result<void*> open_library(const char* what, std::span<const char* const> names, const char* variable);

// A function of an opened library; null: it has none of that name.
void* find_symbol(void* library, const char* symbol);
template <class Function>
Function find_function(void* library, const char* symbol) {
  return reinterpret_cast<Function>(find_symbol(library, symbol));
}

}  // namespace warpwright::system

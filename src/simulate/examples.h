// The kernels that `check` runs: every instance of the catalogue that has a problem, and some that no GPU has.
#pragma once
#include <string>
#include <vector>

#include "simulate/example.h"

namespace warpwright::simulate {

// Compiles nothing: an example is compiled when it is first run.
const std::vector<Example>& examples();
// Their names, in the same order, without the examples: to make them all takes a tenth of a second.
std::vector<std::string> example_names();
// By its name. Null: none of the list; example_of() (product.h) makes one of any instance.
const Example* find_example(const std::string& name);

}  // namespace warpwright::simulate

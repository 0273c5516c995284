// Mutants generated from a kernel's own run, in the words of the tests.
#pragma once
#include "simulate/mutants.h"

namespace warpwright::generated {

using simulate::describe;
using simulate::mutants_of;
using simulator::Fault;

}  // namespace warpwright::generated

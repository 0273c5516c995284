// What clang makes of a CDNA instance: the compiler may change the order that the source has, so the check goes on in
// machine code, which is held to the schedule and executed (src/amd).
#pragma once
#include <string>

#include "catalog/instance.h"

namespace warpwright::cli {

struct MachineCode {
  std::string report;   // what is wrong with it, its first line a sentence; empty: nothing
  std::string missing;  // why it was not looked at; empty: it was looked at, or there is none
};

// Compiles the instance as the build does. For NVIDIA's instances there is no machine code to look at.
MachineCode check_machine_code(const catalog::Instance& instance);

}  // namespace warpwright::cli

// The benchmark against torch: a Python program, carried in the tool, loads libwarpwright.so beside torch, so that both
// run in one process in alternating bursts.
#pragma once
#include <string>
#include <vector>

#include "cli/output.h"
#include "runtime/plan_choice.h"

namespace warpwright::cli {

struct TorchBench {
  std::vector<runtime::GemmShape> shapes;
  std::string plan;  // empty: chosen
  std::string mode;  // sustained, cool or both
  int rounds = 8;
  double burst_s = 0.4;
};

// The exit code. Throws MissingError when there is no Python with torch or no libwarpwright.so. WARPWRIGHT_PYTHON names
// the interpreter, WARPWRIGHT_LIBRARY the library.
int bench_against_torch(const TorchBench& bench, Output& out);

}  // namespace warpwright::cli

// The benchmarks against torch and DeepGEMM: a Python program, carried in the tool, loads libwarpwright.so beside them,
// so that both run in one process in alternating bursts.
#pragma once
#include <string>
#include <vector>

#include "choice/dense.h"
#include "cli/output.h"
#include "measure/draw.h"

namespace warpwright::cli {

struct TorchBench {
  std::vector<problem::GemmShape> shapes;
  std::string plan;  // empty: chosen
  std::string mode;  // sustained, cool or both
  int rounds = 8;
  double burst_s = 0.4;
};

struct DeepGemmBench {
  std::vector<measure::GroupedCase> shapes;
  std::string plan;  // empty: chosen; every: all, the fastest is reported
  int rounds = 8;
  double burst_s = 0.4;
  double budget_s = 0;  // no shape is begun after this many seconds; 0: all are
};

// The document that the program wrote, and its exit code. Both throw MissingError when there is no Python with the
// module or no libwarpwright.so. WARPWRIGHT_PYTHON names the interpreter, WARPWRIGHT_LIBRARY the library.
struct PythonResult {
  Json document;
  int code = 0;
};
PythonResult bench_against_torch(const TorchBench& bench);
PythonResult bench_against_deepgemm(const DeepGemmBench& bench);

// Whether the user named an interpreter: then it is asked itself whether it finds a GPU.
bool python_was_named();

}  // namespace warpwright::cli

// The matmul kernels of kernel/cdna/ as code objects: how they are launched, and whether what they compute is right.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amd/interpreter/interpreter.h"
#include "amd/order.h"
#include "warpwright/core/layout.h"
#include "warpwright/kernel/cdna/config.h"

namespace warpwright::amd {

// From a kernel's name, "matmul_pingpong_bf16_to_fp32" for the instance matmul-pingpong/bf16-to_fp32; nothing if it is
// not one of ours.
std::optional<CdnaMatmulConfig> matmul_config(Chip chip, const std::string& kernel);

// The schedule that the kernel is made from.
schedule::Pipeline matmul_pipeline(const CdnaMatmulConfig& config);

struct MatmulProblem {
  uint32_t m = 0, n = 0, k = 0;
  float alpha = 1;
  uint32_t row_padding = 0;  // bytes after each row of D and, a multiple of 16, of A and B
  bool trace = false;        // trace the first workgroup
  // For general kernels alone.
  uint32_t batches = 1, splits = 1;
  Major a_major = Major::K, b_major = Major::K;
  EpilogueConfig nodes = {};
};

struct MatmulRun {
  RunResult run;
  int64_t wrong = 0;        // elements of D that differ from the exact result, and bytes after its rows that changed
  std::string first_wrong;  // a sentence about the first of them
  double seconds = 0;

  bool passed() const { return run.clean() && wrong == 0; }
};

// The kernel phase of that, in instructions of the kernel.
ExpectedOrder matmul_order(const CdnaMatmulConfig& config);

// The launch that the interpreter is given: arguments, grid and threads. Its memory is the caller's to name.
Launch matmul_launch(const CdnaMatmulConfig& config, const CdnaMatmulArgs& args, size_t kernarg_bytes);

// Executes the kernel on small integers, whose products and sums are exact, so that D must be equal to the bit.
MatmulRun run_matmul(const CodeObject& object, const CodeObjectKernel& kernel, const CdnaMatmulConfig& config,
                     const MatmulProblem& problem, Completion completion, uint64_t seed = 1);

// Order, dataflow and execution of one kernel.
struct MatmulProof {
  std::string kernel, chip;
  int vgprs = 0, agprs = 0, sgprs = 0, spills = 0, lds_bytes = 0;
  OrderReport order;  // about the hot loop
  int waves = 0;      // whose whole run was compared with prologue, kernel and epilogue
  std::vector<std::string> run_mismatches;
  struct Execution {
    Completion completion = Completion::latest;
    MatmulProblem problem;
    MatmulRun result;
  };
  std::vector<Execution> executions;

  bool in_order() const { return order.ok() && waves > 0 && run_mismatches.empty(); }
  // In order, without spills, and right in every execution.
  bool proven() const;
};
const char* word(Completion completion);

// A problem of two tiles by one with tails in every direction, in all policies, and for general kernels what else they
// do; then the order, with what the runs saw.
MatmulProof prove_matmul(const CodeObject& object, const CodeObjectKernel& kernel, const CdnaMatmulConfig& config);

}  // namespace warpwright::amd

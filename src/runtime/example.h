// The kernels that can be run: each with its workload, in the simulator and, where it was compiled, on a GPU.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/workload.h"
#include "warpwright/core/plan.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::runtime {

struct Outcome {
  Verdict verdict;
  simulator::Result sim;
  std::vector<uint8_t> output;
  bool ok() const { return verdict.ok && sim.ok(); }
};

// What a matrix product needs to know to choose among kernels.
struct GemmTraits {
  int tile_m = 0, tile_n = 0;  // 0: not a matrix product
  DType type = DType::bf16, out_type = DType::bf16;
  bool scales = false;  // multiplies by alpha
};

struct Example {
  const char* name;  // as `check` and `demo` call it
  const char* summary;
  const char* instance;  // tile, stages, cluster
  Arch arch;
  const Plan* plan;
  std::vector<Case> cases;  // small sizes that reach its edges; the first is the default
  // Nothing, or a sentence that says why the kernel cannot take this shape.
  std::function<std::optional<std::string>(Case)> refuse;
  std::function<Workload(Case, Data, uint64_t seed)> workload;
  // ctas 0: a few, enough for every role to meet its peers.
  std::function<Outcome(const Workload&, const simulator::Options&, int ctas)> simulate;
  // Puts the kernel on a CUDA stream; null where it was not compiled or has no device to run on. The pointers are the
  // arrays of the workload in device memory.
  std::function<std::optional<std::string>(const Workload&, const std::vector<void*>& arrays, void* stream)> launch;
  GemmTraits gemm = {};
};

const std::vector<Example>& examples();
const Example* find_example(const std::string& name);

}  // namespace warpwright::runtime

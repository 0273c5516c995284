// The kernels that can be run: each with its workload, in the simulator and, where it was compiled, on a GPU.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "reference/workload.h"
#include "reference/wrong_elements.h"
#include "warpwright/core/block_plan.h"
#include "warpwright/core/call_site.h"
#include "warpwright/sim/simulator.h"
#include "warpwright/status.h"

namespace warpwright::simulate {

struct Outcome {
  reference::Verdict verdict;
  simulator::Result sim;
  std::vector<uint8_t> output;
  bool ok() const { return verdict.ok && sim.ok(); }
};

struct Example {
  std::string name;  // as `check` calls it: that of the instance, and what differs where one has two examples
  std::string summary;
  std::string instance;  // its name in the catalogue
  Arch arch = Arch::sm90;
  const BlockPlan* plan = nullptr;
  std::vector<reference::Case> cases;  // small sizes that reach its edges; the first is the default
  // Whether the kernel can take this shape.
  std::function<Status(reference::Case)> takes;
  std::function<reference::Workload(reference::Case, reference::Data, uint64_t seed)> workload;
  // ctas 0: a few, enough for every role to meet its peers.
  std::function<Outcome(const reference::Workload&, const simulator::Options&, int ctas)> simulate;
  // Puts the kernel on a CUDA stream; null where no device here runs it. The pointers are the arrays of the workload in
  // device memory. Compiles the kernel, if nobody has yet.
  std::function<Status(const reference::Workload&, const std::vector<void*>& arrays, void* stream)> launch;
  std::string plan_name = {};  // the plan of an instance
  reference::Tile tile = {};   // the tile of the result that a block computes
  // Where the kernel calls words; known once it is compiled.
  std::function<CallSites()> sites = {};
};

}  // namespace warpwright::simulate

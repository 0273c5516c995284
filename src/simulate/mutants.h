// A kernel without one of its synchronizations, or with a wrong one: what a checker must report. Made from the kernel's
// own run, at the border between it and the machine, without compiling anything.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "simulate/example.h"
#include "warpwright/core/block_plan.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {

// "drop mbarrier_wait input.full by mma at kernel/sm90/dense/dense_gemm.h:120"; without the place where the fault is at
// every call.
std::string describe(const simulator::Fault& mutant);

// The plainest ways to drop or alter what the sites of a run do, at all calls of a role together. `alter` of a wait
// flips its parity, of an expect its bytes, of an initialisation its count.
std::vector<simulator::Fault> mutants_of(const BlockPlan& plan, const std::vector<simulator::FaultSite>& sites);
// Each call of the source by itself, dropped, doubled, moved, and aimed beside what it means: stage, parity, count,
// bytes, peer, scope, groups of a wait, who is elected, and left out by one of the warps that make it.
std::vector<simulator::Fault> near_misses_of(const BlockPlan& plan, const std::vector<simulator::FaultSite>& sites);
// Why a mutant of a shipped kernel changes nothing, where that has been thought through; otherwise empty.
std::string argument_for(const simulator::Fault& mutant);

struct Mutant {
  simulator::Fault fault;
  // The rule that the report names. "result": the result is wrong; "certificate": the runs are right, and one of
  // another interleaving might not be. Empty: nothing was seen.
  std::string rule;
  std::string report;  // its first line
  reference::Case at;  // where it was seen
  // Not seen, and in every case that reaches it the run has the certificate that the kernel has: no order of its
  // instructions would go wrong either.
  bool proven = false;
};
// The near misses of an example, from all of its cases, each run until it is seen: in the plain modes of every case
// that reaches it, the quickest first. On all cores, or on `threads`; `advanced(done, all)` from one thread at a time.
std::vector<Mutant> run_mutants(const Example& example, int threads,
                                const std::function<void(size_t done, size_t all)>& advanced);

}  // namespace warpwright::simulate

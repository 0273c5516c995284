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

// "drop mbarrier_wait input.full by mma"
std::string describe(const simulator::Fault& mutant);

// The ways to drop or alter what the sites of a run do (simulator::Result::fault_sites). `alter` of a wait flips its
// parity, of an expect its bytes, of an initialisation its count.
std::vector<simulator::Fault> mutants_of(const BlockPlan& plan, const std::vector<simulator::Fault>& sites);

struct Mutant {
  simulator::Fault fault;
  std::string rule;    // of the report; "result": nothing was reported, and the result is wrong; empty: neither
  std::string report;  // its first line
  reference::Case at;  // where it was seen
  // Not seen: no order of the instructions would go wrong either (Result::certificate), in any case that reaches it.
  bool proven = false;
};
// Those of an example, from all of its cases, each run until it is seen: in the plain modes of every case. On all
// cores, or on `threads`; `advanced(done, all)` from one thread at a time.
std::vector<Mutant> run_mutants(const Example& example, int threads,
                                const std::function<void(size_t done, size_t all)>& advanced);

}  // namespace warpwright::simulate

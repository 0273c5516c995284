// What the runs of a check have exercised of a kernel. A verdict speaks of no more than that.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulate/example.h"
#include "warpwright/core/block_plan.h"
#include "warpwright/core/call_site.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {

// Every stage is filled and refilled twice: the second time shows a stage that was handed back too early, the third one
// a parity that was right by chance.
inline constexpr int64_t kPhases = 3;

// Where earlier runs have been.
void forget(CallSites sites);

class Coverage {
 public:
  // Covers all runs since forget().
  Coverage(const BlockPlan& plan, CallSites sites);
  void add(const std::vector<simulator::BarrierUse>& run);

  // Barriers with fewer phases than kPhases in every CTA, a sentence for each barrier.
  std::vector<std::string> unturned() const;
  // Calls of words that were compiled into the kernel and never executed, a line for each: the place and its text. Left
  // out is what the source excuses, for this kernel: lines that end in "// unreached: why", and the blocks they open.
  std::vector<std::string> unreached(const std::string& kernel) const;
  // Whether the places of the kernel are known at all, see core/call_site.h.
  bool has_sites() const { return sites_.recorded(); }

 private:
  CallSites sites_;
  std::vector<simulator::BarrierUse> uses_;  // the most phases so far
  std::vector<bool> once_;
};

// A size at which every barrier of the kernel would turn: one of its own, or a multiple of `sizes` in one direction or
// two, if there is one that runs in a moment. Nothing otherwise.
std::optional<reference::Case> turning_size(const Example& example, const std::vector<reference::Case>& sizes);

}  // namespace warpwright::simulate

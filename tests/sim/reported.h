// Mutants of a kernel, each run in every mode of the simulator until it is reported.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/generated.h"
#include "sim/modes.h"
#include "simulate/run_kernel.h"

namespace warpwright {

// Each mutant is reported, except those listed in `equivalent`, which change nothing, and none gives a wrong result in
// silence. run(options) runs the kernel and returns its simulate::Outcome.
template <class Run>
void expect_reported(const BlockPlan& plan, const std::vector<simulator::Fault>& mutants,
                     const std::vector<std::string>& equivalent, Run run) {
  for (const simulator::Fault& f : mutants) {
    const std::string name = generated::describe(f);
    bool reported = false;
    in_every_mode(plan, 1, [&](simulator::Options o) {
      if (reported) return;
      o.faults = {f};
      const simulate::Outcome out = run(o);
      reported = !out.sim.ok();
      EXPECT_TRUE(reported || out.verdict.ok) << "a silent wrong result: " << name;
    });
    const bool excused = std::count(equivalent.begin(), equivalent.end(), name) > 0;
    EXPECT_NE(reported, excused) << name << (excused ? " is reported, and listed as equivalent" : " is not reported");
  }
}

}  // namespace warpwright

// Running a kernel once for each of several modes: how copies land and which thread runs next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/example.h"

namespace warpwright::cli {

using Mode = simulator::Options;

Mode mode(simulator::Landing landing, simulator::Scheduling scheduling = simulator::Scheduling::fifo,
          std::string frozen_role = {});
// Copies that land at once, as late as they can, at random times with each of `seeds` seeds, and by the clock.
std::vector<Mode> landing_modes(std::int64_t seeds, std::uint64_t first_seed);

struct Swept {
  int runs = 0;
  std::uint64_t checks = 0;  // ordered pairs of accesses that the race checker tested
  double max_rel_error = 0;
  double predicted_us = 0;  // what the timed run took
  double wall_s = 0;
  bool unfinished = false;                      // the step limit was reached
  std::string report;                           // empty: nothing was found and every result was right
  simulator::Finding finding;                   // the same in its parts
  std::vector<std::string> gaps;                // the gaps of the last run's certificate, if it was asked for one
  simulator::Result timed;                      // the timed run
  std::vector<simulator::BarrierUse> barriers;  // from the last run
  std::vector<std::uint8_t> output;             // from the last run

  bool ok() const { return report.empty(); }
};

// Runs one mode and adds what it showed. The timed mode runs on `timed_ctas` CTAs (0: as few as the others).
void run_mode(const simulate::Example& example, const reference::Workload& workload, const Mode& mode, int timed_ctas,
              Swept& swept);

// Runs all of them, up to the first that finds something.
Swept sweep(const simulate::Example& example, const reference::Workload& workload, const std::vector<Mode>& modes,
            int timed_ctas, const std::string& label);

}  // namespace warpwright::cli

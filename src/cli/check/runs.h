// The runs of a check: every case of every kernel in every mode, on all cores.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/simulation.h"
#include "simulate/example.h"

namespace warpwright::cli {

struct CheckWork {
  struct Run {
    std::size_t which = 0;  // which of the cases
    Mode mode;
  };
  const simulate::Example* example = nullptr;
  std::vector<reference::Case> cases;
  std::vector<Run> runs;
  // Kernels of one file have their calls in one list: the first of them begins it, the last one judges.
  bool begins_calls = true, judges_calls = true;
};

struct Checked {
  std::string verdict = "clean";  // clean, incomplete or failed
  int runs = 0;
  std::uint64_t checks = 0;
  double processor_s = 0;              // by its runs, operands and references, not by compiling it
  std::string report;                  // reports the first failure, or what was not exercised
  simulator::Finding finding;          // the first failure; without a rule: there is none
  std::string failed_at;               // its size
  std::vector<double> predicted_us;    // for each case, by the clock of the simulator; 0: it was not run that way
  std::vector<std::string> unturned;   // barriers with too few phases
  std::vector<std::string> unreached;  // calls that were never made
  bool knows_calls = true;
  std::vector<std::string> gaps;  // what keeps the runs from standing for other interleavings
};

struct CheckLimits {
  std::uint64_t seed = 1;
  std::int64_t max_seconds = 0;  // 0: no limit
  int threads = 0;               // 0: one for each core
};

std::string shape_text(const reference::Case& c);

// `done` is called for each kernel when its last run is over, from one thread at a time, in the order in which they
// end. A kernel that fails stops: its report is that of its first case and mode that fails, whatever ran beside them.
void check_all(const std::vector<CheckWork>& work, const CheckLimits& limits,
               const std::function<void(std::size_t index, const Checked&)>& done);

}  // namespace warpwright::cli

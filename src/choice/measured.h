// Plans that were measured while a program ran (Tuning::measure). They are kept for the process and, in a table as
// tuned_text.h has it, for the next one: a file of the device in the cache folder, for one version of the library and
// of the driver.
#pragma once
#include <optional>
#include <string>

#include "choice/dense.h"
#include "choice/tuned_text.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"

namespace warpwright::choice {

// The problem asks for it, or, where the problem says `usual`, WARPWRIGHT_TUNING does for all.
bool asks_to_measure(Tuning tuning);
bool asks_for_ahead(Tuning tuning);
// Whether that variable can be read.
Status check_tuning();

struct MeasuredRow {
  std::string problem;  // measured_key()
  std::string plan;
  double us = 0;
  double model_us = 0;  // the time of what would have been chosen
};
// All that a plan depends on, in words.
std::string measured_key(const GemmProblem& problem);
std::string measured_key(const GroupedProblem& problem);

// What was measured for the problem on this chip, by this process or one before. A file that cannot be read is reported
// on stderr, once, and ignored.
std::optional<MeasuredRow> measured_row(const std::string& problem, const Chip& chip);
// A file that cannot be written is reported on stderr, once: the next process measures again.
void keep_measured(const MeasuredRow& row, const Chip& chip);
// Empty: nothing is kept on disk.
std::string measured_file(const Chip& chip);

// "measured on NVIDIA H200: 41.2 us".
std::string measured_text(const Chip& chip, double us);
// The same, "without that, the choice would have taken 43.0 us", and what the reason says about the plan.
std::string measured_reason(const std::string& reason, const MeasuredRow& row, const Chip& chip);

}  // namespace warpwright::choice

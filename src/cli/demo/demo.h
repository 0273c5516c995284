// `demo` with and without a GPU: the tool measures what it shows; the program that has only this command does not.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"
#include "simulate/dense/shown.h"
#include "timeline/timeline.h"
#include "warpwright/gemm.h"

namespace warpwright::cli {

// What a GPU made of the first kernel.
struct Measured {
  std::string device, plan, instance;
  bool ok = false;
  double max_rel_error = 0;
  double measured_us = 0;
  std::optional<timeline::TimelineRun> timeline;
};
// Nothing if there is no GPU for it, or if it was skipped with a note.
using Measure = std::optional<Measured> (*)(const simulate::Shown&, const GemmProblem&, Output&);

// `measure` may be null.
void configure_demo(CommandLine& line, Context& context, Measure measure);

}  // namespace warpwright::cli

// Timelines as files: one for Perfetto (https://ui.perfetto.dev) and chrome://tracing, one page that needs nothing
// else.
#pragma once
#include <string>
#include <vector>

#include "timeline/model.h"

namespace warpwright::timeline {

struct TimelineInfo {
  std::string kernel;
  std::string target;
  std::string problem;                               // "512x512x512"
  std::string times = "predicted by the simulator";  // where the times come from
  std::string time = {};  // how long the launch takes, in the words of the tool: "7.8 us predicted"
};

struct TimelineRun {
  TimelineModel model;
  TimelineInfo info;
};

// Chrome trace events, sorted by time, in microseconds with whole nanoseconds. One process for each CTA of each run; in
// it one track for each row of each lane, then the counters.
std::string perfetto_of(const std::vector<TimelineRun>& runs);
std::string perfetto_of(const TimelineRun& run);

// A page with no address in it but its own: lanes, arrows, counters and critical path of the runs, one above the other,
// and where their time goes.
std::string page_of(const std::vector<TimelineRun>& runs);

}  // namespace warpwright::timeline

// From the events that a kernel with WW_RECORD wrote (core/record.h) to a timeline in the simulator's words, so that
// measured and simulated runs of a kernel can be compared.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/core/block_plan.h"
#include "warpwright/record_file.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::timeline {

using Recording = record::Launch;

struct RecordedEvent {
  record::Kind kind = record::Kind::none;
  uint32_t detail = 0;
  uint32_t object = 0;        // addresses count from the start of the plan's shared memory
  uint32_t barrier = 0;       // for a load
  std::string at;             // "dense_load.h:67"
  double begin = 0, end = 0;  // ns since the first warp began; the same for what takes no time
};

// Every event on one time axis: those of a warp in order, warps by number. Warps that have written nothing are left
// out.
struct RecordedTimes {
  struct Warp {
    int cta = 0, warp = 0;
    double begin = 0, end = 0;
    std::vector<RecordedEvent> events;
    uint64_t lost = 0;
  };
  std::vector<Warp> warps;
  double end = 0;
};
RecordedTimes times_of(const BlockPlan& plan, const Recording& recording, double ns_per_cycle);

// A wait that is over within this time has found its barrier complete.
inline constexpr uint32_t kPassedCycles = 96;

struct RecordedTimeline {
  simulator::Result result;  // spans, edges and phases
  double us = 0;             // from the first instruction of a warp to the last
  int ctas = 0, shown = 0;
  uint64_t lost = 0;  // events for which there was no room
};

// Draws the first `most_ctas` CTAs, rounded to whole clusters; 0: all. What an engine did is known by its effects: a
// load lands when the wait that it blocks ends, and one that blocked nobody is drawn where it was issued; a group of
// wgmmas ends with the wait for it, at the latest.
RecordedTimeline timeline_of(const BlockPlan& plan, const Recording& recording, double ns_per_cycle, int most_ctas = 0);

}  // namespace warpwright::timeline

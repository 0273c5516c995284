// Where the time of a run goes: what each role waits for, and why what multiplies is idle.
#pragma once
#include <string>
#include <vector>

#include "text/json.h"
#include "timeline/model.h"

namespace warpwright::timeline {

struct TimelineShare {
  std::string what;
  double share = 0;  // 0 to 1
};

// Shares of the time in which the blocks of its warps live; with `busy` and `done` the waits make 1.
struct RoleTime {
  std::string role;
  int warps = 0;                     // in all blocks
  double busy = 0;                   // runs
  double done = 0;                   // after the last that is known of the warp, while its block lives on
  std::vector<TimelineShare> waits;  // by what is waited for, "input.full"; the largest first
};

// For the tensor core, or the MFMA units: the time in which none of their operations is under way, by what stands in
// the way of the next one. A wait of the warp that issues them leads to what released it: a copy that is under way, or
// what the warp that makes the copy, or the arrival, does meanwhile.
struct IdleTime {
  std::string unit;  // "tensor core"; empty: nothing multiplies
  double share = 0;
  std::vector<TimelineShare> causes;  // "load waits for input.empty"; the largest first, together `share`

  // "tensor core idle 31 %: 18 % TMA loads input, 9 % mma runs, 4 % load waits for input.empty"
  std::string text() const;
};

struct Stalls {
  std::vector<RoleTime> roles;  // in the order of their warps
  IdleTime idle;
};

Stalls stalls_of(const TimelineModel& model);

// {"roles": [{role, warps, busy, done, waits: [{for, share}]}], "idle": {unit, share, text, causes: [{what, share}]}}
Json json_of(const Stalls& stalls);

}  // namespace warpwright::timeline

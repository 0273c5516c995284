// What a timeline shows, whoever recorded it and whatever draws it: lanes with bars, arrows, counters, the critical
// path.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "warpwright/sim/simulator.h"

namespace warpwright::timeline {

// `work`: what a warp does that is neither waiting nor arriving and has a name, as the operations of a schedule.
enum class BarKind : uint8_t { run, wait, arrive, engine, work };
const char* word_of(BarKind kind);

// A warp, or an engine of a CTA (TMA, TMA store, tensor core; memory, LDS, MFMA of a CU). Operations of an engine
// overlap: they get rows of their own, so that the bars of one row never cross.
struct TimelineLane {
  int cta = 0;
  std::string group;  // the role of a warp; the name of an engine
  std::string name;
  bool engine = false;
  int order = 0;  // warps by number, then the engines
  int rows = 1;

  bool multiplies() const { return engine && (group == "tensor core" || group == "MFMA"); }
};

struct TimelineBar {
  std::string name;
  std::string at;  // source line
  BarKind kind = BarKind::run;
  int64_t begin = 0, end = 0;  // ns
  int lane = 0, row = 0;
  std::string ring;  // "input" of input.full[2]; empty if it is about no ring
  int slot = -1;     // 2 of input.full[2]
  int issuer = -1;   // for an engine: the lane of the warp that asked for it
};

struct TimelineArrow {  // the end of `from` let the wait `to` go on
  int from = 0, to = 0;
};

struct TimelineCounter {
  int cta = 0;
  std::string name;
  int most = 0;                                  // what it cannot exceed
  std::vector<std::pair<int64_t, int>> changes;  // time, value from then on
};

struct TimelineStep {  // a part of the critical path
  int bar = 0;
  int64_t begin = 0, end = 0;
};

struct TimelineModel {
  std::vector<TimelineLane> lanes;  // by CTA and order
  std::vector<TimelineBar> bars;    // by lane and time
  std::vector<TimelineArrow> arrows;
  std::vector<TimelineCounter> counters;
  std::vector<TimelineStep> critical;  // from the start to the end; each step begins where the one before ends
  int64_t begin = 0;                   // when the first bar begins; everything before it is the launch
  int64_t end = 0;
  std::string block = "CTA";  // or "workgroup"

  uint64_t recorded() const;  // bars that were recorded; the others fill the time between them
};

// Waits that follow each other without a gap on the same thing are one. Between its bars a warp runs. An arrow back in
// time is left out: the barrier was completed again before the waiting warp was resumed.
TimelineModel model_of(const simulator::Result& result);

// What a bar is about, whichever its stage and phase: "input.full" of "wait input.full[2] phase 1".
std::string object_of(const TimelineBar& bar);

// Leaves out the launch, of which timestamps in a kernel see nothing: runs that are drawn one above the other begin
// with their first instruction.
void leave_out_launch(TimelineModel& model, const simulator::Stats& stats, Arch arch);

}  // namespace warpwright::timeline

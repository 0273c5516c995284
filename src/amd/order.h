// Compares the hot loop of a compiled kernel with the schedule that it was made from: the order of the loads, LDS
// accesses, matrix instructions, waits, barriers and priorities, the values of the waits, and which load feeds which
// instruction.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "amd/program.h"
#include "warpwright/schedule/pipeline.h"

namespace warpwright::amd {

enum class EventKind { load, shared_store, fragment_read, multiply, wait_vm, wait_lgkm, barrier, priority };
const char* word(EventKind kind);

struct ExpectedEntry {
  std::string name;
  EventKind kind = EventKind::barrier;
  int value = 0;         // for a wait or a priority
  int instructions = 1;  // 0: an equal share of the loop's instructions of that kind
  schedule::AccessList accesses = {};
};

struct ExpectedOrder {
  std::string name;
  std::vector<ExpectedEntry> entries;  // one iteration of the schedule's kernel phase
  bool more_behind = false;            // in a whole run: loads and waits of what follows the schedule

  // How many instructions a load of the schedule is.
  void split_loads(int instructions) {
    for (ExpectedEntry& e : entries)
      if (e.kind == EventKind::load) e.instructions *= instructions;
  }
};

// The kernel phase of a compiled pipeline.
ExpectedOrder expected_order(const schedule::Pipeline& pipeline);

// All that a wave does in a run of this many iterations of the body: prologue, kernel and epilogue, and the barriers
// that keep two groups of waves apart: the trailing group has its own in the prologue, the leading one at the end.
ExpectedOrder expected_run(const schedule::Pipeline& pipeline, int iterations, bool trailing);

struct Event {
  EventKind kind = EventKind::barrier;
  int value = 0;
  int instruction = 0;  // index of the code
};

// The innermost loop with the most matrix instructions, as indices of its first and last instruction.
struct Loop {
  int first = -1, last = -1;
  bool found() const { return first >= 0; }
};
Loop hot_loop(const CodeObjectKernel& kernel);
std::vector<Event> events_of(const CodeObjectKernel& kernel, const Loop& loop);
// The events of what a wave has executed.
std::vector<Event> events_of(const CodeObjectKernel& kernel, const std::vector<int>& trace);

struct OrderReport {
  Loop loop;
  int events = 0;
  int copies = 0;    // iterations of the schedule in one of the loop
  int rotation = 0;  // entry with which the loop begins
  std::vector<std::string> mismatches;
  std::vector<std::string> notes;  // what the compiler added and is harmless
  int dataflow = 0;                // sources of instructions whose origin was checked

  bool ok() const { return mismatches.empty(); }
};

// `lds_flow`, if there is one, is what a run saw: which instruction read what which instruction had written to LDS.
OrderReport compare_order(const CodeObjectKernel& kernel, const ExpectedOrder& order,
                          const std::set<std::pair<int, int>>* lds_flow = nullptr);

// Where a wave's execution differs from what it should have been.
std::vector<std::string> compare_trace(const CodeObjectKernel& kernel, const std::vector<int>& trace,
                                       const ExpectedOrder& run);

}  // namespace warpwright::amd

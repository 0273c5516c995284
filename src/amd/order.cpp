#include "amd/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "amd/order_match.h"

namespace warpwright::amd {
namespace {

bool starts(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

EventKind kind_of(const schedule::OpDesc& op) {
  using schedule::OpRole;
  if (op.is_barrier()) return EventKind::barrier;
  if (op.is_wait_vm()) return EventKind::wait_vm;
  if (op.is_wait_lgkm()) return EventKind::wait_lgkm;
  if (op.tag == schedule::tags::set_prio) return EventKind::priority;
  switch (op.role) {
    case OpRole::global_load:
      return EventKind::load;
    case OpRole::shared_store:
      return EventKind::shared_store;
    case OpRole::fragment_load:
      return EventKind::fragment_read;
    default:
      return EventKind::multiply;
  }
}

}  // namespace

const char* word(EventKind kind) {
  constexpr const char* words[] = {"load",       "LDS store",    "LDS read", "matrix instruction",
                                   "vmcnt wait", "lgkmcnt wait", "barrier",  "priority"};
  return words[int(kind)];
}

namespace {

void append(std::vector<ExpectedEntry>& out, const schedule::Pipeline& pipeline, const schedule::EntryList& phase) {
  for (const schedule::ScheduleEntry& e : phase) {
    // Hints for the compiler leave no instruction.
    if (e.op.tag == schedule::tags::schedule_barrier || e.op.tag == schedule::tags::sched_group_barrier) continue;
    ExpectedEntry entry;
    entry.name = pipeline.costs.name(e.op).c_str();
    entry.kind = kind_of(e.op);
    entry.value = e.op.wait_value;
    if (e.op.tag.is_data()) {
      entry.instructions = entry.kind == EventKind::multiply ? 0 : pipeline.costs[e.op.tag].ticks;
      if (e.source >= 0) entry.accesses = pipeline.body.ops[size_t(e.source)].accesses;
    }
    out.push_back(entry);
  }
}

// A share of the matrix instructions for every entry that does not say how many it has.
void share_multiplies(std::vector<ExpectedEntry>& entries, const std::vector<Event>& events) {
  int multiplies = 0, sharing = 0;
  for (const Event& e : events) multiplies += e.kind == EventKind::multiply;
  for (const ExpectedEntry& e : entries) sharing += e.instructions == 0;
  for (ExpectedEntry& e : entries)
    if (e.instructions == 0) e.instructions = std::max(1, multiplies / sharing);
}

}  // namespace

ExpectedOrder expected_order(const schedule::Pipeline& pipeline) {
  ExpectedOrder order;
  order.name = pipeline.name.c_str();
  append(order.entries, pipeline, pipeline.schedule.kernel);
  return order;
}

ExpectedOrder expected_run(const schedule::Pipeline& pipeline, int iterations, bool trailing) {
  ExpectedOrder order;
  order.name = pipeline.name.c_str();
  const schedule::Schedule& s = pipeline.schedule;
  const ExpectedEntry stagger{"stagger BAR", EventKind::barrier, 0, 1, {}};
  const auto cut = size_t(s.warp_stagger_index);
  append(order.entries, pipeline, s.prologue.slice(0, std::min(cut, s.prologue.size())));
  if (pipeline.stagger > 0 && trailing) order.entries.push_back(stagger);
  if (cut < s.prologue.size()) append(order.entries, pipeline, s.prologue.slice(cut, s.prologue.size()));
  for (int i = 0; i < pipeline.kernel_iterations(iterations); ++i) append(order.entries, pipeline, s.kernel);
  append(order.entries, pipeline, s.epilogue);
  if (pipeline.stagger > 0 && !trailing) order.entries.push_back(stagger);
  return order;
}

Loop hot_loop(const CodeObjectKernel& kernel) {
  Loop best;
  int most = 0;
  for (size_t i = 0; i < kernel.code.size(); ++i) {
    const Instruction& in = kernel.code[i];
    if (!starts(in.opcode, "s_cbranch") && in.opcode != "s_branch") continue;
    if (in.target < 0 || in.target > int64_t(i)) continue;
    int count = 0;
    for (size_t j = size_t(in.target); j <= i; ++j) count += starts(kernel.code[j].opcode, "v_mfma");
    // If loops with the same instructions are nested, take the inner one.
    const int length = int(i) - int(in.target);
    if (count > most || (count == most && count > 0 && length < best.last - best.first)) {
      most = count;
      best = {int(in.target), int(i)};
    }
  }
  return best;
}

std::vector<Event> events_of(const CodeObjectKernel& kernel, const std::vector<int>& trace) {
  std::vector<Event> events;
  for (const int i : trace) {
    const Instruction& in = kernel.code[size_t(i)];
    const auto add = [&](EventKind kind, int value = 0) { events.push_back({kind, value, i}); };
    if (starts(in.opcode, "buffer_load_") || starts(in.opcode, "global_load_")) {
      add(EventKind::load);
    } else if (starts(in.opcode, "ds_read")) {
      add(EventKind::fragment_read);
    } else if (starts(in.opcode, "ds_write")) {
      add(EventKind::shared_store);
    } else if (starts(in.opcode, "v_mfma")) {
      add(EventKind::multiply);
    } else if (in.opcode == "s_barrier") {
      add(EventKind::barrier);
    } else if (in.opcode == "s_setprio") {
      add(EventKind::priority, in.operands.empty() ? 0 : int(in.operands[0].value));
    } else if (in.opcode == "s_waitcnt") {
      if (in.wait("vmcnt") >= 0) add(EventKind::wait_vm, in.wait("vmcnt"));
      if (in.wait("lgkmcnt") >= 0) add(EventKind::wait_lgkm, in.wait("lgkmcnt"));
    }
  }
  return events;
}

std::vector<Event> events_of(const CodeObjectKernel& kernel, const Loop& loop) {
  std::vector<int> instructions;
  for (int i = loop.first; i <= loop.last; ++i) instructions.push_back(i);
  return events_of(kernel, instructions);
}

std::vector<std::string> compare_trace(const CodeObjectKernel& kernel, const std::vector<int>& trace,
                                       const ExpectedOrder& run) {
  std::vector<Event> events = events_of(kernel, trace);
  const auto is_behind = [](const Event& e) {
    return e.kind == EventKind::load || e.kind == EventKind::wait_vm || e.kind == EventKind::wait_lgkm;
  };
  while (run.more_behind && !events.empty() && is_behind(events.back())) events.pop_back();
  std::vector<ExpectedEntry> entries = run.entries;
  share_multiplies(entries, events);
  return match_entries(kernel, entries, events).mismatches;
}

namespace {

// How often the schedule occurs in the loop: its loads are the same instructions on every path, so they count.
int copies_in(const std::vector<Event>& events, const ExpectedOrder& order) {
  for (const EventKind kind : {EventKind::load, EventKind::fragment_read, EventKind::multiply}) {
    int have = 0, want = 0;
    for (const Event& e : events) have += e.kind == kind;
    for (const ExpectedEntry& e : order.entries) want += e.kind == kind ? e.instructions : 0;
    if (want > 0) return have / want;
  }
  return 1;
}

std::string at(const CodeObjectKernel& kernel, int instruction) {
  const Instruction& in = kernel.code[size_t(instruction)];
  return fmt::format("'{}' at {:#x}", in.text, in.address);
}

// What the loop may not have, whatever the schedule.
void foreign_instructions(const CodeObjectKernel& kernel, const Loop& loop, OrderReport& report) {
  int moves = 0;
  for (int i = loop.first; i <= loop.last; ++i) {
    const Instruction& in = kernel.code[size_t(i)];
    moves += starts(in.opcode, "v_accvgpr");
    if (starts(in.opcode, "scratch_")) {
      report.mismatches.push_back(fmt::format("the loop spills: {} touches scratch memory", at(kernel, i)));
    } else if (i < loop.last && (starts(in.opcode, "s_cbranch") || in.opcode == "s_branch")) {
      report.mismatches.push_back(fmt::format("the loop has a branch in it, so no one order: {}", at(kernel, i)));
    } else if (starts(in.opcode, "s_load") || starts(in.opcode, "global_store") || starts(in.opcode, "buffer_store")) {
      report.mismatches.push_back(fmt::format("{} is in the loop and in no entry of the schedule", at(kernel, i)));
    }
  }
  if (moves > 0) report.notes.push_back(fmt::format("{} moves between VGPRs and AGPRs", moves));
}

}  // namespace

OrderReport compare_order(const CodeObjectKernel& kernel, const ExpectedOrder& order,
                          const std::set<std::pair<int, int>>* lds_flow) {
  OrderReport report;
  report.loop = hot_loop(kernel);
  if (!report.loop.found()) {
    report.mismatches.push_back(fmt::format("kernel '{}' has no loop with a matrix instruction", kernel.name));
    return report;
  }
  foreign_instructions(kernel, report.loop, report);
  const std::vector<Event> events = events_of(kernel, report.loop);
  report.events = int(events.size());
  report.copies = std::max(1, copies_in(events, order));

  std::vector<ExpectedEntry> entries;
  for (int copy = 0; copy < report.copies; ++copy) {
    entries.insert(entries.end(), order.entries.begin(), order.entries.end());
  }
  share_multiplies(entries, events);

  // A compiler may rotate a loop, so that it begins with another entry than the schedule; no entry may be cut.
  Match best = match_entries(kernel, entries, events);
  for (size_t r = 1; r < order.entries.size() && !best.ok(); ++r) {
    if (!events.empty() && order.entries[r].kind != events.front().kind) continue;
    std::vector<ExpectedEntry> rotated(entries.begin() + long(r), entries.end());
    rotated.insert(rotated.end(), entries.begin(), entries.begin() + long(r));
    Match match = match_entries(kernel, rotated, events);
    if (!match.ok()) continue;
    best = std::move(match);
    entries = std::move(rotated);
    report.rotation = int(r);
  }
  report.notes.insert(report.notes.end(), best.notes.begin(), best.notes.end());
  report.mismatches.insert(report.mismatches.end(), best.mismatches.begin(), best.mismatches.end());
  if (best.ok()) check_dataflow(kernel, report.loop, entries, best.entry_of, lds_flow, report);
  return report;
}

}  // namespace warpwright::amd

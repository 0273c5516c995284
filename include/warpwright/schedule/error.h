// What can be wrong with a schedule. Every rule has its own code; a Diagnostic carries the names of the ops involved
// and is the same value at compile time and at run time:
//   run time      to_text(diagnostic), in text.h
//   compile time  require<make>() with a constexpr function `make` that returns a Diagnostic, a list of them, or
//   anything
//                 with a member `error`. A refused schedule stops in Refusal<...>: the message is the rule, its
//                 template arguments show the names and the numbers.
#pragma once
#include "warpwright/schedule/types.h"

namespace warpwright::schedule {

// id, word, rule
#define WW_SCHEDULE_CODES(X)                                                                                         \
  X(graph_cycle, "GRAPH_CYCLE", "the edges of one iteration form a cycle, so no order of the ops exists")            \
  X(graph_index, "GRAPH_INDEX", "an edge names an op that the body does not have")                                   \
  X(graph_self, "GRAPH_SELF", "an op depends on itself within one iteration")                                        \
  X(graph_distance, "GRAPH_DISTANCE", "a dependence points to an earlier iteration")                                 \
  X(cost_missing, "COST_MISSING", "an op has a tag that the cost model does not know")                               \
  X(tag_range, "TAG_RANGE", "a kernel's op tags are 0 to 127; 128 to 255 belong to the framework")                   \
  X(op_role, "OP_ROLE", "an op stands in a place of the block that is meant for another role")                       \
  X(op_lost, "OP_LOST", "an op of the body does not appear in the schedule as often as it was declared")             \
  X(block_capacity, "BLOCK_CAPACITY", "an MMA block holds at most two fragment loads and two global loads")          \
  X(entry_overflow, "ENTRY_OVERFLOW", "an entry builder received more entries than it has room for")                 \
  X(access_capacity, "ACCESS_CAPACITY", "an op declares more accesses than it has room for")                         \
  X(program_shape, "PROGRAM_SHAPE", "the blocks of a program do not have the number or order that it needs")         \
  X(order_flow, "ORDER_FLOW", "an op is issued before the op whose result it needs")                                 \
  X(order_anti, "ORDER_ANTI", "a write is issued before the read of the value that it destroys")                     \
  X(wait_too_weak, "WAIT_TOO_WEAK", "a wait lets more operations stay in flight than its consumer allows")           \
  X(version_mismatch, "VERSION_MISMATCH", "an MMA multiplies operands of different K tiles")                         \
  X(stale_tile, "STALE_TILE", "an op finds another K tile than its own in an execution that its waits allow")        \
  X(hazard_raw, "HAZARD_RAW", "a read is not ordered after the write of the value that it needs")                    \
  X(hazard_war, "HAZARD_WAR", "a write is not ordered after a read of the value that it destroys")                   \
  X(hazard_waw, "HAZARD_WAW", "two writes of one place are not ordered")                                             \
  X(barrier_count, "BARRIER_COUNT", "two wave roles do not pass the same number of barriers")                        \
  X(counter_range, "COUNTER_RANGE", "a wait count does not fit the counter's field")                                 \
  X(smem_capacity, "SMEM_CAPACITY", "the buffers at this depth do not fit the target's shared memory")               \
  X(register_capacity, "REGISTER_CAPACITY", "the values alive at once do not fit the registers of a thread")         \
  X(trip_count, "TRIP_COUNT", "the K extent does not give the loop a trip count that the schedule supports")         \
  X(search_budget, "SEARCH_BUDGET", "the search gave up at its node budget; the order is the seed, not proven best") \
  X(sync_vacuous, "SYNC_VACUOUS", "a wait asks for a count that is always reached, so it orders nothing")            \
  X(phase_parity, "PHASE_PARITY", "a wait tests the parity of another phase than the one it needs")                  \
  X(arrival_count, "ARRIVAL_COUNT", "a phase does not get the arrivals or the bytes that its barrier counts")        \
  X(fence_missing, "FENCE_MISSING", "a group of wgmmas begins without the fence that orders its registers")          \
  X(deadlock, "DEADLOCK", "every role waits for a phase that no other role completes")                               \
  X(priority_balance, "PRIORITY_BALANCE", "a priority is raised other than once around the MFMAs of a cluster")      \
  X(turn_shared, "TURN_SHARED", "two groups of waves that take turns multiply between the same two barriers")        \
  X(strategy_unsupported, "STRATEGY_UNSUPPORTED", "the strategy cannot schedule a body of this shape")               \
  X(ii_infeasible, "II_INFEASIBLE", "no schedule with this initiation interval exists")                              \
  X(value_unread, "VALUE_UNREAD", "an op writes a value that no op of the body reads")                               \
  X(unit_missing, "UNIT_MISSING", "the target has no unit or counter that the op needs")                             \
  X(config_invalid, "CONFIG_INVALID", "the configuration contradicts itself")

enum class Code : uint8_t {
  none,
#define WW_SCHEDULE_CODE(id, word, rule) id,
  WW_SCHEDULE_CODES(WW_SCHEDULE_CODE)
#undef WW_SCHEDULE_CODE
};

constexpr const char* word(Code c) {
  constexpr const char* words[] = {"NONE",
#define WW_SCHEDULE_CODE(id, word, rule) word,
                                   WW_SCHEDULE_CODES(WW_SCHEDULE_CODE)
#undef WW_SCHEDULE_CODE
  };
  return words[int(c)];
}
constexpr const char* rule(Code c) {
  constexpr const char* rules[] = {"",
#define WW_SCHEDULE_CODE(id, word, rule) rule,
                                   WW_SCHEDULE_CODES(WW_SCHEDULE_CODE)
#undef WW_SCHEDULE_CODE
  };
  return rules[int(c)];
}

// Which ops (a before b where order matters), in which wave roles, iteration and phase, and the number that is wrong
// beside the one that would be right. -1 means "does not apply".
struct Diagnostic {
  Code code = Code::none;
  Name a = {};
  Name b = {};
  int have = -1;
  int need = -1;
  int role_a = -1;
  int role_b = -1;
  int iteration = -1;
  Phase phase = Phase::kernel;
  int issued = -1;         // for a hazard: how many barriers the wave of a had passed when it issued a (have: b's)
  bool same_wave = false;  // not even the wave that issued both is ordered

  constexpr bool ok() const { return code == Code::none; }
  constexpr bool operator==(const Diagnostic&) const = default;
};
using Diagnostics = List<Diagnostic>;

// A value, or why there is none. The value is present in either case, so that a tool can show what was refused.
template <class T>
struct Checked {
  T value = {};
  Diagnostic error = {};
  constexpr bool ok() const { return error.ok(); }
};

constexpr Diagnostic first_error(const Diagnostic& d) { return d; }
constexpr Diagnostic first_error(const Diagnostics& list) { return list.empty() ? Diagnostic{} : list.front(); }
template <class T>
requires requires(const T& t) { t.error; }
constexpr Diagnostic first_error(const T& t) { return t.error; }

constexpr Diagnostic first_of(const Diagnostics& list, Code code) {
  for (const Diagnostic& d : list)
    if (d.code == code) return d;
  return {};
}
constexpr int count_of(const Diagnostics& list, Code code) {
  int n = 0;
  for (const Diagnostic& d : list) n += d.code == code;
  return n;
}

// The names are cut to their length, because compilers print a character array as text only if nothing follows the
// text.
template <Code Rule, FixedText A, FixedText B, int Have, int Need>
struct Refusal {
#define WW_SCHEDULE_CODE(id, word, rule) static_assert(Rule != Code::id, "schedule: " word ": " rule);
  WW_SCHEDULE_CODES(WW_SCHEDULE_CODE)
#undef WW_SCHEDULE_CODE
  static constexpr bool accepted = Rule == Code::none;
};

template <auto Make>
consteval bool require() {
  constexpr Diagnostic d = first_error(Make());
  constexpr FixedText<d.a.size() + 1> a(d.a.c_str());
  constexpr FixedText<d.b.size() + 1> b(d.b.c_str());
  return Refusal<d.code, a, b, d.have, d.need>::accepted;
}

}  // namespace warpwright::schedule

// Whether a compiled pipeline is right: both validators on runs of every length that differs from the others, and every
// entry by itself.
#pragma once
#include "warpwright/schedule/interleave.h"

namespace warpwright::schedule {

// What verify() asks of a run.
enum class Question : uint8_t { shared_memory, registers, versions, entries };
// All of them.
inline constexpr Question kQuestions[] = {Question::shared_memory, Question::registers, Question::versions,
                                          Question::entries};

namespace detail {

// The entries of a run, on their own: priorities, counts that fit their counter, and no op missing. The validator of
// versions counts the results that it sees; a run without any would pass it.
constexpr void verify_entries(const Pipeline& p, const Schedule& s, const Trace& trace, int iterations, bool copies,
                              bool others, Diagnostics& found) {
  for (const EntryList* phase : {&s.prologue, &s.kernel, &s.epilogue}) {
    if (const Diagnostic d = check_priorities(*phase, &p.costs); !d.ok()) found.push_back(d);
  }
  List<int> seen(p.body.ops.size(), 0);
  bool fenced = false;
  for (const Instance& i : trace.instances) {
    if (i.op.tag == tags::wgmma_fence || i.op.tag == tags::commit_wgmma) fenced = i.op.tag == tags::wgmma_fence;
    if (!fenced && i.op.role == OpRole::compute && p.target.mma_counter == Counter::wgmma_group) {
      found.push_back(
          {.code = Code::fence_missing, .a = p.costs.name(i.op), .iteration = i.iteration, .phase = i.phase});
    }
    if (i.op.tag.is_data() && i.source >= 0) ++seen[size_t(i.source)];
    if (const Diagnostic d = check_wait(p.target, i.op); !d.ok()) found.push_back(d);
  }
  for (int i = 0; i < p.body.size(); ++i) {
    const OpNode& n = p.body.ops[size_t(i)];
    const bool here = n.op.role == OpRole::global_load ? copies : others;
    if (!here || seen[size_t(i)] == iterations) continue;
    found.push_back({.code = Code::op_lost, .a = n.name, .b = p.name, .have = seen[size_t(i)], .need = iterations});
  }
}

constexpr void find_shared_turns(const Pipeline& p, const Trace& trace, Diagnostics& found) {
  const List<int> leading = trace.barriers_before(0), trailing = trace.barriers_before(1);
  const auto multiplies = [&trace](size_t i) {
    return trace.instances[i].phase == Phase::kernel && trace.instances[i].op.role == OpRole::compute;
  };
  for (size_t i = 0; i < leading.size(); ++i) {
    for (size_t j = 0; j < leading.size() && multiplies(i); ++j) {
      if (!multiplies(j) || leading[i] != trailing[j]) continue;
      found.push_back({.code = Code::turn_shared,
                       .a = p.costs.name(trace.instances[i].op),
                       .b = p.costs.name(trace.instances[j].op),
                       .role_a = 0,
                       .role_b = 1,
                       .iteration = trace.instances[i].iteration});
      return;
    }
  }
}

// For roles that run programs of their own.
constexpr Diagnostics verify_split(const Pipeline& p, int iterations, Question question) {
  Diagnostics found;
  SplitRun run;
  run.rings = p.rings;
  run.consumers = p.programs[kConsumer].copies;
  for (int role = 0; role < 2; ++role) {
    const RoleProgram& program = p.programs[size_t(role)];
    const int kernel = program.kernel_iterations(iterations);
    const Schedule& s = kernel < 0 ? program.short_runs[size_t(iterations)] : program.schedule;
    run.role[size_t(role)] = make_trace(s, p.shape, kernel < 0 ? 0 : kernel);
    if (question == Question::entries)
      verify_entries(p, s, run.role[size_t(role)], iterations, role == kProducer, role == kConsumer, found);
  }
  const PipelineModel model{p, iterations};
  switch (question) {
    case Question::shared_memory:
      found.append(find_phase_hazards(run, model, p.costs));
      break;
    case Question::registers:
      found.append(find_register_hazards(run.role[kConsumer], model, p.costs));
      break;
    case Question::versions:
      found.append(simulate_split(run, model, p.costs, iterations * p.body.tiles_per_iteration));
      break;
    case Question::entries:
      break;
  }
  return found;
}

}  // namespace detail

// One question by itself, for where a constant evaluation has no room for all of them.
constexpr Diagnostics verify(const Pipeline& p, int iterations, Question question) {
  Diagnostics found;
  if (!p.ok()) {
    found.push_back(p.error);
    return found;
  }
  if (p.is_split()) return detail::verify_split(p, iterations, question);
  const int kernel = p.kernel_iterations(iterations);
  const Schedule& s = kernel < 0 ? p.short_runs[size_t(iterations)] : p.schedule;
  const Trace trace = make_trace(s, p.shape, kernel < 0 ? 0 : kernel);
  const PipelineModel model{p, iterations};
  switch (question) {
    case Question::shared_memory:
      found.append(find_hazards(trace, model, p.costs));
      break;
    case Question::registers:
      found.append(find_register_hazards(trace, model, p.costs));
      break;
    case Question::versions:
      found.append(simulate_versions(trace, model, p.costs, iterations * p.body.tiles_per_iteration));
      break;
    case Question::entries:
      detail::verify_entries(p, s, trace, iterations, true, true, found);
      if (p.takes_turns) detail::find_shared_turns(p, trace, found);
  }
  return found;
}

// What both validators find in a run of this many iterations of the body, and every entry that is wrong by itself.
constexpr Diagnostics verify(const Pipeline& p, int iterations) {
  Diagnostics found;
  for (const Question q : kQuestions) {
    found.append(verify(p, iterations, q));
    if (!p.ok()) break;
  }
  return found;
}

namespace detail {

// Which waits of a run, over all runs that were followed, had something to wait for.
struct WaitUse {
  List<char> useful = {};
  List<int> most = {};  // the most that are in flight
};

constexpr void follow_waits(const Pipeline& p, const EntryList& list, int (&in_flight)[kCounters], WaitUse& use) {
  use.useful.resize(list.size());
  use.most.resize(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const OpDesc& op = list[i].op;
    int& count = in_flight[int(counter_of_sync(op))];
    if (op.is_wait()) {
      if (count > use.most[i]) use.most[i] = count;
      if (count <= op.wait_count()) continue;
      use.useful[i] = true;
      count = op.wait_count();
    } else if (op.is_commit()) {
      ++count;
    } else if (op.tag.is_data()) {
      const Counter counter = p.target.counter_of(op.role);
      if (!counts_groups(counter)) in_flight[int(counter)] += p.costs[op.tag].ticks;
    }
  }
}

constexpr void find_vacuous(const Pipeline& p, const Schedule& s, int longest, Diagnostics& found) {
  const EntryList* const lists[3] = {&s.prologue, &s.kernel, &s.epilogue};
  WaitUse use[3];
  for (int iterations = 0; iterations <= longest; ++iterations) {
    int in_flight[kCounters] = {};
    follow_waits(p, s.prologue, in_flight, use[0]);
    for (int i = 0; i < iterations; ++i) follow_waits(p, s.kernel, in_flight, use[1]);
    follow_waits(p, s.epilogue, in_flight, use[2]);
  }
  for (int phase = 0; phase < 3; ++phase) {
    for (size_t i = 0; i < use[phase].useful.size(); ++i) {
      const ScheduleEntry& e = (*lists[phase])[i];
      if (!e.op.is_wait() || use[phase].useful[i]) continue;
      found.push_back({.code = Code::sync_vacuous,
                       .a = op_name(e.op),
                       .have = e.op.wait_count(),
                       .need = use[phase].most[i] - 1,
                       .iteration = 0,
                       .phase = e.phase});
    }
  }
}

}  // namespace detail

// Waits that never wait, in runs of as many iterations as a buffer has slots: no more tiles are ever in flight. need:
// the largest count that would wait.
constexpr Diagnostics find_vacuous_waits(const Pipeline& p) {
  Diagnostics found;
  int slots = 2;
  for (const BufferDepth& d : p.depths) slots = d.depth > slots ? d.depth : slots;
  if (!p.is_split()) detail::find_vacuous(p, p.schedule, slots + 1, found);
  for (const Schedule& s : p.short_runs) detail::find_vacuous(p, s, 0, found);
  for (const RoleProgram& r : p.programs) {
    detail::find_vacuous(p, r.schedule, slots + 1, found);
    for (const Schedule& s : r.short_runs) detail::find_vacuous(p, s, 0, found);
  }
  return found;
}

// Values that an op writes and no op of the body reads: the names of two buffers do not match, and a proof says nothing
// about what is in them.
constexpr Diagnostics find_unread_values(const Pipeline& p) {
  Diagnostics found;
  for (const OpNode& writer : p.body.ops) {
    for (const Access& w : writer.accesses) {
      if (w.mode != AccessMode::write || w.space == Space::accumulator) continue;
      bool read = false;
      for (const OpNode& reader : p.body.ops)
        for (const Access& r : reader.accesses) read = read || (r.reads() && r.overlaps(w));
      if (read) continue;
      Name where = w.space == Space::shared ? "shared buffer" : "registers";
      for (const SharedBuffer& b : p.buffers)
        if (w.space == Space::shared && b.id == w.buffer) where = b.name;
      found.push_back({.code = Code::value_unread, .a = writer.name, .b = where});
    }
  }
  return found;
}

// What "proven" means: nothing is found in any run of up to twice as many iterations as there are stages, and two more;
// longer runs repeat the kernel in the state in which it was left. No wait is there for nothing.
constexpr int proven_iterations(const Pipeline& p) {
  int most = 2 * p.stages() + 2;
  // Every parity of every slot, twice.
  for (const PhaseRing& r : p.rings) most = 4 * r.slots > most ? 4 * r.slots : most;
  return most > 6 ? most : 6;
}
// Two halves, for constant evaluations of their own: what follows from the order of the entries, and waves that run
// with everything the waits leave open at its worst moment.
constexpr Diagnostics prove_order(const Pipeline& p) {
  Diagnostics found = find_unread_values(p);
  found.append(find_vacuous_waits(p));
  for (int n = 0; n <= proven_iterations(p); ++n) found.append(verify(p, n));
  return found;
}
constexpr Diagnostics prove_waves(const Pipeline& p) {
  Diagnostics found;
  for (int n = 0; n <= proven_iterations(p) && p.ok(); ++n) found.append(simulate_waves(p, n));
  return found;
}
constexpr Diagnostics prove(const Pipeline& p) {
  Diagnostics found = prove_order(p);
  found.append(prove_waves(p));
  return found;
}

namespace detail {
template <auto Make, int Iterations>
constexpr Diagnostics run_findings() {
  return verify(Make(), Iterations);
}
template <auto Make, int Iterations, Question Asked>
constexpr Diagnostics answer() {
  return verify(Make(), Iterations, Asked);
}
template <auto Make>
constexpr Diagnostics other_findings() {
  const Pipeline p = Make();
  Diagnostics found = find_unread_values(p);
  found.append(find_vacuous_waits(p));
  return found;
}
// As a constant, which is not evaluated again where it is asked for.
template <auto Make>
inline constexpr bool accepted = require<Make>();
template <auto Make, int... Iterations>
consteval bool require_runs(stdx::integer_sequence<int, Iterations...>) {
#if defined(__clang__)
  // Its limit is a thirtieth of that of g++.
  return ((accepted<answer<Make, Iterations, Question::shared_memory>> &&
           accepted<answer<Make, Iterations, Question::registers>> &&
           accepted<answer<Make, Iterations, Question::versions>> &&
           accepted<answer<Make, Iterations, Question::entries>>)&&...);
#else
  return (accepted<run_findings<Make, Iterations>> && ...);
#endif
}
}  // namespace detail

// What prove_order() finds in the pipeline that Make returns does not compile. Every run is a constant evaluation of
// its own: compilers limit each of them, and the runs of two rings together are too long for one.
template <auto Make>
consteval bool require_order() {
  constexpr int most = proven_iterations(Make());
  return detail::accepted<detail::other_findings<Make>> &&
         detail::require_runs<Make>(stdx::make_integer_sequence<int, most + 1>{});
}

}  // namespace warpwright::schedule

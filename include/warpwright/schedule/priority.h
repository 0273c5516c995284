// Priorities of waves that share a SIMD. A wave is raised while it issues the MFMAs of a cluster and lowered before
// anything else, so that the matrix unit is not left idle while the arbiter serves another wave's copies. A hint: it
// orders nothing, and no validator relies on it.
#pragma once
#include "warpwright/schedule/entry.h"

namespace warpwright::schedule {

namespace detail {
// Waits between two MFMAs do not end their cluster: a wave that waits issues nothing at any priority.
constexpr bool continues_cluster(const OpDesc& op) { return op.role == OpRole::compute || op.is_wait(); }
}  // namespace detail

// The phase with PR1 before the first and PR0 after the last MFMA of each cluster. Every phase begins and ends low, so
// phases may follow each other in any number.
constexpr EntryList with_priorities(const EntryList& list) {
  EntryList out;
  const auto push = [&out](ScheduleEntry e) {
    e.time_slot = int(out.size());
    out.push_back(e);
  };
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].op.role != OpRole::compute) {
      push(list[i]);
      continue;
    }
    size_t last = i;
    for (size_t j = i; j < list.size() && detail::continues_cluster(list[j].op); ++j)
      if (list[j].op.role == OpRole::compute) last = j;
    const Phase phase = list[i].phase;
    push({.op = OpDesc::set_prio(1), .phase = phase});
    for (; i < last; ++i) push(list[i]);
    push(list[i]);
    push({.op = OpDesc::set_prio(0), .phase = phase});
  }
  return out;
}

// One raise before and one lowering after each cluster, nothing but MFMAs and waits between them. a: the entry that
// breaks the rule, or the raise that is never lowered.
constexpr Diagnostic check_priorities(const EntryList& list, const TargetCostModel* names = nullptr) {
  bool raised = false, any = false;
  const auto wrong = [&](const ScheduleEntry& e) {
    return Diagnostic{
        .code = Code::priority_balance, .a = name_with(names, e.op), .have = e.time_slot, .phase = e.phase};
  };
  const ScheduleEntry* raise = nullptr;
  for (const ScheduleEntry& e : list) {
    if (e.op.tag == tags::set_prio) {
      const bool up = e.op.priority() > 0;
      if (up == raised || (!up && !any)) return wrong(e);
      raised = up;
      any = false;
      raise = &e;
      continue;
    }
    if (raised && !detail::continues_cluster(e.op)) return wrong(e);
    any = any || e.op.role == OpRole::compute;
  }
  return raised ? wrong(*raise) : Diagnostic{};
}

}  // namespace warpwright::schedule

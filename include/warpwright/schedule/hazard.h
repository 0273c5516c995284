// The happens-before validator: every read of shared memory is ordered after the writes it needs, every write after the
// reads of what it destroys, for every pair of wave roles.
//
// The rules. The j-th barrier of every wave is one meeting. Counters retire in order, so a wait for n completes every
// op with at least n ticks issued after it. A write is complete at the first such wait; a read at the first such wait
// or at the op that uses the registers it fills. An access X of one wave is before an access Y of another iff the wave
// of Y has passed more barriers at Y than the wave of X had at the completion of X. All waves of a role issue every op,
// each for its share, so two waves of one role are a pair too; order within one wave alone is a weaker fact, told apart
// by Diagnostic::same_wave. Two writes of one place come from one wave in order and need no check.
#pragma once
#include "warpwright/schedule/trace.h"

namespace warpwright::schedule {

namespace detail {

inline constexpr int kNever = 1 << 28;

// One access of shared memory by one instance of an op, as each role makes it.
struct Touch {
  int instance = 0;
  Access access = {};
  int done_at = kNever;               // instance at which it is complete
  int issued_in[kMaxRoles] = {0, 0};  // barriers passed
  int done_in[kMaxRoles] = {kNever, kNever};
};

// Instance at which the access of instance i is known to be complete.
constexpr int completion(const Trace& t, const List<AccessList>& accesses, const List<OpTicks>& ticks, int i,
                         const Access& access) {
  const Counter counter = ticks[size_t(i)].counter;
  if (counter == Counter::none) return i;
  const Access* filled = nullptr;
  for (const Access& a : accesses[size_t(i)])
    if (a.space == Space::registers && a.writes()) filled = &a;
  bool counted = !counts_groups(counter);
  int behind = 0;
  for (int j = i + 1; j < int(t.instances.size()); ++j) {
    const OpDesc& op = t.instances[size_t(j)].op;
    if (t.barriers_fence && op.is_barrier()) return j;
    if (counter_of_sync(op) == counter) {
      if (op.is_wait() && counted && op.wait_count() <= behind) return j;
      if (op.is_commit()) {
        behind += counted;
        counted = true;
      }
    }
    if (!counts_groups(counter) && ticks[size_t(j)].counter == counter) behind += ticks[size_t(j)].count;
    if (filled == nullptr || access.writes()) continue;
    for (const Access& a : accesses[size_t(j)])
      if (a.reads() && a.overlaps(*filled)) return j;
  }
  return kNever;
}

template <AccessModel Model>
constexpr List<Touch> collect_touches(const Trace& t, const Model& model) {
  List<AccessList> accesses;
  List<OpTicks> ticks;
  for (const Instance& i : t.instances) {
    accesses.push_back(model.accesses(i));
    ticks.push_back(model.ticks(i.op));
  }
  List<int> barriers[kMaxRoles];
  for (int r = 0; r < t.roles; ++r) barriers[r] = t.barriers_before(r);
  List<Touch> touches;
  for (int i = 0; i < int(t.instances.size()); ++i) {
    for (const Access& a : accesses[size_t(i)]) {
      if (a.space != Space::shared) continue;
      Touch touch{.instance = i, .access = a, .done_at = completion(t, accesses, ticks, i, a)};
      for (int r = 0; r < t.roles; ++r) {
        touch.issued_in[r] = barriers[r][size_t(i)];
        if (touch.done_at != kNever) touch.done_in[r] = barriers[r][size_t(touch.done_at)];
      }
      touches.push_back(touch);
    }
  }
  return touches;
}

}  // namespace detail

// All unordered pairs, each once: (code, ops, roles, same_wave) of its first occurrence.
template <AccessModel Model>
constexpr Diagnostics find_hazards(const Trace& t, const Model& model, const TargetCostModel& names) {
  const List<detail::Touch> touches = detail::collect_touches(t, model);
  Diagnostics found;
  const auto report = [&](Code code, const detail::Touch& first, const detail::Touch& second, int role_a, int role_b,
                          bool same_wave) {
    const Instance& a = t.instances[size_t(first.instance)];
    const Instance& b = t.instances[size_t(second.instance)];
    Diagnostic d{.code = code,
                 .a = names.name(a.op),
                 .b = names.name(b.op),
                 .have = second.issued_in[role_b],
                 .need = first.done_at == detail::kNever ? -1 : first.done_in[role_a] + 1,
                 .role_a = role_a,
                 .role_b = role_b,
                 .iteration = b.iteration,
                 .phase = b.phase,
                 .issued = first.issued_in[role_a],
                 .same_wave = same_wave};
    for (const Diagnostic& old : found) {
      if (old.code == d.code && old.a == d.a && old.b == d.b && old.role_a == d.role_a && old.role_b == d.role_b &&
          old.phase == d.phase && old.same_wave == d.same_wave) {
        return;
      }
    }
    found.push_back(d);
  };
  const auto check_pair = [&](Code code, const detail::Touch& first, const detail::Touch& second) {
    for (int a = 0; a < t.roles; ++a) {
      for (int b = 0; b < t.roles; ++b) {
        if (!first.access.made_by(a) || !second.access.made_by(b)) continue;
        if (second.issued_in[b] <= first.done_in[a]) report(code, first, second, a, b, false);
        if (a == b && second.instance <= first.done_at) report(code, first, second, a, b, true);
      }
    }
  };
  for (int i = 0; i < int(touches.size()); ++i) {
    const detail::Touch& later = touches[size_t(i)];
    // The parts whose latest write has not been found yet, on the way back.
    uint8_t open = later.access.regions;
    for (int j = i - 1; j >= 0 && open != 0; --j) {
      const detail::Touch& earlier = touches[size_t(j)];
      if (!earlier.access.overlaps(later.access) || earlier.access.slot != later.access.slot ||
          (earlier.access.regions & open) == 0) {
        continue;
      }
      if (earlier.access.writes()) {
        if (later.access.reads()) check_pair(Code::hazard_raw, earlier, later);
        open = uint8_t(open & ~earlier.access.regions);
      } else if (later.access.writes()) {
        check_pair(Code::hazard_war, earlier, later);
      }
    }
    if (open != 0 && later.access.mode == AccessMode::read) {
      const Instance& reader = t.instances[size_t(later.instance)];
      found.push_back({.code = Code::hazard_raw,
                       .a = "no write",
                       .b = names.name(reader.op),
                       .iteration = reader.iteration,
                       .phase = reader.phase});
    }
  }
  return found;
}

// Registers that an asynchronous op fills, or that an asynchronous MMA still reads, are left alone until a wait has
// covered it; at the end nothing is in flight. For targets whose waits are all explicit.
template <AccessModel Model>
constexpr Diagnostics find_register_hazards(const Trace& t, const Model& model, const TargetCostModel& names) {
  struct Open {
    const Instance* op = nullptr;
    AccessList accesses = {};
    Counter counter = Counter::none;
    bool committed = true;
    int behind = 0;
  };
  Diagnostics found;
  List<Open> open;
  const auto report = [&](Code code, const Open& first, const Name& second, const Instance& at) {
    const Diagnostic d{.code = code,
                       .a = names.name(first.op->op),
                       .b = second,
                       .have = first.behind,
                       .iteration = at.iteration,
                       .phase = at.phase,
                       .same_wave = true};
    for (const Diagnostic& old : found)
      if (old.code == d.code && old.a == d.a && old.b == d.b && old.phase == d.phase) return;
    found.push_back(d);
  };
  for (const Instance& i : t.instances) {
    const Counter sync = counter_of_sync(i.op);
    if (i.op.is_wait()) {
      size_t kept = 0;
      for (size_t o = 0; o < open.size(); ++o) {
        const bool done = open[o].counter == sync && open[o].committed && open[o].behind >= i.op.wait_count();
        if (!done) open[kept++] = open[o];
      }
      open.resize(kept);
    } else if (i.op.is_commit()) {
      for (Open& o : open) {
        if (o.counter != sync) continue;
        o.behind += o.committed;
        o.committed = true;
      }
    }
    if (!i.op.tag.is_data()) continue;
    const OpTicks ticks = model.ticks(i.op);
    const AccessList accesses = model.accesses(i);
    for (const Open& o : open) {
      for (const Access& a : accesses) {
        for (const Access& b : o.accesses) {
          if (!a.overlaps(b) || a.slot != b.slot) continue;
          // MMAs of one accumulator keep their order themselves.
          if (a.space == Space::accumulator && ticks.counter == o.counter) continue;
          if (b.writes() && a.reads()) report(Code::hazard_raw, o, names.name(i.op), i);
          if (!b.writes() && a.writes()) report(Code::hazard_war, o, names.name(i.op), i);
        }
      }
    }
    if (ticks.counter == Counter::none || ticks.counter == Counter::phase) continue;
    Open mine{&i, {}, ticks.counter, !counts_groups(ticks.counter), 0};
    const bool reads_late = ticks.counter == Counter::wgmma_group;
    for (const Access& a : accesses)
      if (a.space != Space::shared && (a.writes() || reads_late)) mine.accesses.add(a);
    if (!counts_groups(ticks.counter)) {
      for (Open& o : open)
        if (o.counter == ticks.counter) o.behind += ticks.count;
    }
    if (mine.accesses.count > 0) open.push_back(mine);
  }
  for (const Open& o : open)
    if (o.counter == Counter::wgmma_group) report(Code::hazard_raw, o, "end", t.instances.back());
  return found;
}

template <AccessModel Model>
constexpr Diagnostics find_hazards(const Schedule& s, const RunShape& shape, int iterations, const Model& model,
                                   const TargetCostModel& names) {
  return find_hazards(make_trace(s, shape, iterations), model, names);
}

}  // namespace warpwright::schedule

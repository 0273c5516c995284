// Modulo scheduling. A strategy places the ops of one iteration at start cycles that may repeat every `interval`
// cycles; modulo_schedule() asks it for the smallest interval first and goes up. The graph never schedules itself, and
// what a strategy returns is checked against every dependence and every unit before anyone sees it.
//
//   Identity   the order of declaration, no overtaking within an iteration
//   Greedy     ready op with the longest way to go first; a placed op stays
//   Ims        iterative modulo scheduling (Rau): a placed op may be evicted by one that matters more
//   Exact      in exact.h
#pragma once
#include "warpwright/schedule/mii.h"

namespace warpwright::schedule {

template <class S>
concept PlacementStrategy = requires(const S& s, const LoopBody& b, const Target& t, int interval) {
  Name(S::name);
  Checked<List<int>>(s.place(b, t, interval));
};

struct Placement {
  List<int> start = {};
  int interval = 0;
  int tried = 0;  // intervals
  Mii mii = {};
  Name strategy = {};
  Diagnostic error = {};

  constexpr bool ok() const { return error.ok(); }
  constexpr bool optimal() const { return ok() && interval == mii.value(); }
};

namespace detail {

// A consumer is issued after its producer even if the producer's result is free.
constexpr int issue_delay(const LoopBody& body, const DepEdge& e) {
  const int delay = edge_delay(body, e);
  return delay > 1 ? delay : 1;
}

// Cycles by which op i, started at a, must be delayed so that op j, started at b, leaves the unit to it; 0: no
// conflict.
constexpr int unit_conflict(const LoopBody& body, int i, int a, int j, int b, int interval) {
  const int mine = body.ops[size_t(i)].occupancy, other = body.ops[size_t(j)].occupancy;
  if (mine == 0 || other == 0) return 0;
  const int ahead = ((b - a) % interval + interval) % interval;
  if (ahead < mine) return ahead + other;
  const int back = interval - ahead;
  return back < other ? other - back : 0;
}

inline constexpr int kUnplaced = -1;

// First start in [from, from + interval) at which the unit of op i is free; kUnplaced if there is none.
constexpr int free_start(const LoopBody& body, const Target& target, const List<int>& start, int i, int from,
                         int interval) {
  const OpNode& n = body.ops[size_t(i)];
  const int capacity = n.resource == ResourceKind::none ? 0 : target.capacity[int(n.resource)];
  if (capacity == 0) return from;
  int at = from;
  while (at < from + interval) {
    int conflicts = 0, jump = interval;
    for (int j = 0; j < body.size(); ++j) {
      if (j == i || start[size_t(j)] == kUnplaced || body.ops[size_t(j)].resource != n.resource) continue;
      const int delay = unit_conflict(body, i, at, j, start[size_t(j)], interval);
      if (delay == 0) continue;
      ++conflicts;
      if (delay < jump) jump = delay;
    }
    if (conflicts < capacity) return at;
    at += jump;
  }
  return kUnplaced;
}

// Start that the placed predecessors of op i allow.
constexpr int earliest_start(const LoopBody& body, const List<int>& start, int i, int interval) {
  int earliest = 0;
  for (const DepEdge& e : body.edges) {
    if (e.consumer != i || start[size_t(e.producer)] == kUnplaced || e.producer == i) continue;
    const int at = start[size_t(e.producer)] + issue_delay(body, e) - interval * e.distance;
    if (at > earliest) earliest = at;
  }
  return earliest;
}

// The longest way from each op to the end of everything that depends on it.
constexpr List<int> heights(const LoopBody& body, int interval) {
  List<int> height(body.ops.size(), 0);
  bool changed = true;
  for (int pass = 0; changed && pass < body.size(); ++pass) {
    changed = false;
    for (const DepEdge& e : body.edges) {
      const int h = height[size_t(e.consumer)] + issue_delay(body, e) - interval * e.distance;
      if (h > height[size_t(e.producer)]) height[size_t(e.producer)] = h, changed = true;
    }
  }
  return height;
}

constexpr Diagnostic infeasible(const LoopBody& body, int op, int interval, int need = -1) {
  return {.code = Code::ii_infeasible, .a = body.ops[size_t(op)].name, .have = interval, .need = need};
}

// The first dependence that the starts break. need: an interval at which the same starts respect it.
constexpr Diagnostic broken_edge(const LoopBody& body, const List<int>& start, int interval) {
  for (const DepEdge& e : body.edges) {
    const int have = start[size_t(e.consumer)] - start[size_t(e.producer)];
    const int delay = issue_delay(body, e);
    if (have + interval * e.distance >= delay) continue;
    return {.code = Code::ii_infeasible,
            .a = body.ops[size_t(e.producer)].name,
            .b = body.ops[size_t(e.consumer)].name,
            .have = interval,
            .need = e.distance == 0 ? -1 : (delay - have + e.distance - 1) / e.distance};
  }
  return {};
}

}  // namespace detail

struct Identity {
  static constexpr const char* name = "identity";
  static constexpr bool keeps_order = true;
  constexpr Checked<List<int>> place(const LoopBody& body, const Target& target, int interval) const {
    Checked<List<int>> r{List<int>(body.ops.size(), detail::kUnplaced), {}};
    int before = 0;
    for (int i = 0; i < body.size(); ++i) {
      int from = detail::earliest_start(body, r.value, i, interval);
      if (from < before) from = before;
      before = detail::free_start(body, target, r.value, i, from, interval);
      if (before == detail::kUnplaced) {
        r.error = detail::infeasible(body, i, interval);
        return r;
      }
      r.value[size_t(i)] = before;
    }
    r.error = detail::broken_edge(body, r.value, interval);
    return r;
  }
};

struct Greedy {
  static constexpr const char* name = "greedy";
  constexpr Checked<List<int>> place(const LoopBody& body, const Target& target, int interval) const {
    Checked<List<int>> r{List<int>(body.ops.size(), detail::kUnplaced), {}};
    const List<int> height = detail::heights(body, interval);
    List<int> blocked(body.ops.size(), 0);
    for (const DepEdge& e : body.edges) blocked[size_t(e.consumer)] += e.distance == 0;
    for (int placed = 0; placed < body.size(); ++placed) {
      int best = -1;
      for (int i = 0; i < body.size(); ++i) {
        if (r.value[size_t(i)] != detail::kUnplaced || blocked[size_t(i)] > 0) continue;
        if (best < 0 || height[size_t(i)] > height[size_t(best)]) best = i;
      }
      const int from = detail::earliest_start(body, r.value, best, interval);
      const int at = detail::free_start(body, target, r.value, best, from, interval);
      if (at == detail::kUnplaced) {
        r.error = detail::infeasible(body, best, interval);
        return r;
      }
      r.value[size_t(best)] = at;
      for (const DepEdge& e : body.edges)
        if (e.distance == 0 && e.producer == best) --blocked[size_t(e.consumer)];
    }
    r.error = detail::broken_edge(body, r.value, interval);
    return r;
  }
};

struct Ims {
  static constexpr const char* name = "ims";
  int tries_per_op = 6;

  constexpr Checked<List<int>> place(const LoopBody& body, const Target& target, int interval) const {
    const int n = body.size();
    Checked<List<int>> r{List<int>(size_t(n), detail::kUnplaced), {}};
    List<int>& start = r.value;
    List<int> last(size_t(n), detail::kUnplaced);  // where the op was before it was evicted
    const List<int> height = detail::heights(body, interval);
    int placed = 0;
    for (int budget = tries_per_op * n; placed < n; --budget) {
      int best = -1;
      for (int i = 0; i < n; ++i) {
        if (start[size_t(i)] != detail::kUnplaced) continue;
        if (best < 0 || height[size_t(i)] > height[size_t(best)]) best = i;
      }
      if (budget == 0) {
        r.error = detail::infeasible(body, best, interval);
        return r;
      }
      const int from = detail::earliest_start(body, start, best, interval);
      int at = detail::free_start(body, target, start, best, from, interval);
      if (at == detail::kUnplaced) {
        // Forced: a later place than the last time, so that two ops do not evict each other for ever.
        const int again = last[size_t(best)] + 1;
        at = last[size_t(best)] == detail::kUnplaced || from > again ? from : again;
        for (int j = 0; j < n; ++j) {
          if (j == best || start[size_t(j)] == detail::kUnplaced) continue;
          if (body.ops[size_t(j)].resource != body.ops[size_t(best)].resource) continue;
          if (detail::unit_conflict(body, best, at, j, start[size_t(j)], interval) == 0) continue;
          start[size_t(j)] = detail::kUnplaced;
          --placed;
        }
      }
      start[size_t(best)] = last[size_t(best)] = at;
      ++placed;
      for (const DepEdge& e : body.edges) {
        if (e.producer != best || e.consumer == best || start[size_t(e.consumer)] == detail::kUnplaced) continue;
        if (start[size_t(e.consumer)] >= at + detail::issue_delay(body, e) - interval * e.distance) continue;
        start[size_t(e.consumer)] = detail::kUnplaced;
        --placed;
      }
    }
    r.error = detail::broken_edge(body, start, interval);
    return r;
  }
};

struct IntervalRange {
  int first = 0;  // 0: the smallest that units and recurrences allow
  int last = 0;   // 0: where the ops fit one after the other; equal to first: this interval or none
};

namespace detail {

// What forbids an interval below the smallest.
constexpr Diagnostic below_minimum(const LoopBody& body, const Mii& mii, int interval) {
  Diagnostic d{.code = Code::ii_infeasible, .have = interval, .need = mii.value()};
  if (mii.recurrence > interval && !mii.cycle.empty()) {
    d.a = body.ops[size_t(mii.cycle.front())].name;
    d.b = body.ops[size_t(mii.cycle.back())].name;
  } else {
    d.a = word(mii.unit);
  }
  return d;
}

// At this interval nothing overlaps, so only a wrong graph is left without a place.
constexpr int serial_interval(const LoopBody& body) {
  int sum = 1;
  for (const OpNode& n : body.ops) sum += 1 + (n.latency > n.occupancy ? n.latency : n.occupancy);
  return sum;
}

}  // namespace detail

template <PlacementStrategy S>
constexpr Placement modulo_schedule(const LoopBody& body, const Target& target, const S& strategy,
                                    const IntervalRange& range = {}) {
  Placement p;
  p.strategy = S::name;
  p.mii = minimum_interval(body, target);
  p.error = p.mii.error;
  if (!p.ok()) return p;
  const int first = range.first > 0 ? range.first : p.mii.value();
  const int last = range.last > 0 ? range.last : 2 * detail::serial_interval(body) + p.mii.value();
  if (first < p.mii.value()) {
    p.interval = first;
    p.error = detail::below_minimum(body, p.mii, first);
    return p;
  }
  for (int interval = first; interval <= last;) {
    Checked<List<int>> placed = strategy.place(body, target, interval);
    p.interval = interval;
    ++p.tried;
    p.error = placed.error;
    if (placed.ok()) {
      p.start = static_cast<List<int>&&>(placed.value);
      p.error = check_interval(body, target, p.start, interval);
      return p;
    }
    if (placed.error.code != Code::ii_infeasible) return p;
    // An order that cannot change tells from which interval on it fits.
    const bool fixed_order = requires { S::keeps_order; };
    interval = fixed_order && placed.error.need > interval ? placed.error.need : interval + 1;
  }
  return p;
}

}  // namespace warpwright::schedule

// Exact modulo scheduling of small bodies. For a fixed interval the dependences are difference constraints, and two ops
// of one unit with capacity one either keep their turn or swap it: start(j) - start(i) must not lie in the open range
// (q * interval - occupancy(j), q * interval + occupancy(i)) for any q. The search takes the earliest starts of all
// constraints so far, finds a range that is hit, and branches on its two sides; so it ends with starts or with the
// proof that there are none.
#pragma once
#include "warpwright/schedule/strategy.h"

namespace warpwright::schedule {

struct Exact {
  static constexpr const char* name = "exact";
  static constexpr int kMostOps = 16;
  int node_budget = 20000;

  constexpr Checked<List<int>> place(const LoopBody& body, const Target& target, int interval) const {
    Checked<List<int>> r;
    if (body.size() > kMostOps) {
      r.error = {.code = Code::strategy_unsupported, .a = "exact", .b = "ops", .have = body.size(), .need = kMostOps};
      return r;
    }
    for (int unit = 0; unit < kResourceKinds; ++unit) {
      if (target.capacity[unit] <= 1 || unit_load(body, ResourceKind(unit)) == 0) continue;
      r.error = {.code = Code::strategy_unsupported,
                 .a = "exact",
                 .b = word(ResourceKind(unit)),
                 .have = target.capacity[unit],
                 .need = 1};
      return r;
    }
    Search search{body, target, interval, node_budget, {}, 0};
    for (const DepEdge& e : body.edges) {
      search.constraints.push_back({e.producer, e.consumer, detail::issue_delay(body, e) - interval * e.distance});
      // Neighbours are never further apart than this, and so neither is anything else in a schedule that is worth
      // having.
      search.horizon += detail::issue_delay(body, e);
    }
    search.horizon += body.size() * interval;
    List<int> start(body.ops.size(), 0);
    if (search.solve(start)) {
      r.value = start;
    } else if (search.nodes <= 0) {
      r.error = {.code = Code::search_budget, .a = "exact", .have = node_budget, .need = interval};
    } else {
      r.error = {.code = Code::ii_infeasible, .a = "exact", .have = interval};
    }
    return r;
  }

 private:
  struct Constraint {
    int from = 0, to = 0, gap = 0;  // start(to) >= start(from) + gap
  };
  struct Search {
    const LoopBody& body;
    const Target& target;
    int interval;
    int nodes;
    List<Constraint> constraints;
    int horizon;

    // Earliest starts not before those given; false if the constraints contradict each other.
    constexpr bool relax(List<int>& start) const {
      bool changed = true;
      while (changed) {
        changed = false;
        for (const Constraint& c : constraints) {
          const int at = start[size_t(c.from)] + c.gap;
          if (at <= start[size_t(c.to)]) continue;
          if (at > horizon) return false;
          start[size_t(c.to)] = at;
          changed = true;
        }
      }
      return true;
    }
    constexpr bool solve(List<int>& start) {
      if (--nodes <= 0 || !relax(start)) return false;
      for (int i = 0; i < body.size(); ++i) {
        const OpNode& a = body.ops[size_t(i)];
        if (a.resource == ResourceKind::none || target.capacity[int(a.resource)] == 0) continue;
        for (int j = i + 1; j < body.size(); ++j) {
          const OpNode& b = body.ops[size_t(j)];
          if (b.resource != a.resource) continue;
          if (detail::unit_conflict(body, i, start[size_t(i)], j, start[size_t(j)], interval) == 0) continue;
          const int apart = start[size_t(j)] - start[size_t(i)];
          // The turn whose forbidden range contains the distance.
          int turn = (apart + b.occupancy) / interval;
          while (turn * interval - b.occupancy >= apart) --turn;
          while (turn * interval + a.occupancy <= apart) ++turn;
          const Constraint sides[2] = {{i, j, a.occupancy + turn * interval}, {j, i, b.occupancy - turn * interval}};
          for (const Constraint& side : sides) {
            constraints.push_back(side);
            List<int> next = start;
            if (solve(next)) {
              start = next;
              return true;
            }
            constraints.pop_back();
          }
          return false;
        }
      }
      return true;
    }
  };
};

}  // namespace warpwright::schedule

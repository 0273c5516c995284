// The smallest initiation interval: no unit may be asked for more cycles than an interval has (ResMII), and no cycle of
// dependences may need more time than the iterations it spans (RecMII). Both come with what causes them.
#pragma once
#include "warpwright/schedule/graph.h"
#include "warpwright/schedule/target.h"

namespace warpwright::schedule {

struct Mii {
  int resource = 0;    // 0: no unit of the target is limited
  int recurrence = 0;  // 0: no cycle
  ResourceKind unit = ResourceKind::none;
  List<int> cycle = {};  // ops of a cycle that does not fit into recurrence - 1, in order
  Diagnostic error = {};

  constexpr int value() const {
    const int most = resource > recurrence ? resource : recurrence;
    return most > 1 ? most : 1;
  }
};

// Cycles that the ops of one iteration keep a unit busy.
constexpr int unit_load(const LoopBody& body, ResourceKind unit) {
  int sum = 0;
  for (const OpNode& n : body.ops) sum += n.resource == unit ? n.occupancy : 0;
  return sum;
}

namespace detail {

// A cycle whose delays exceed interval * distance, as edges in order, empty if there is none: Bellman-Ford on
// delay - interval * distance, longest paths from everywhere at once. Before they converge, the edges that were used
// last form a cycle as soon as there is one that grows, so it is looked for after every pass.
constexpr List<int> growing_cycle(const LoopBody& body, const List<int>& delay, int interval) {
  const int n = body.size();
  List<int> time(size_t(n), 0), via(size_t(n), -1), seen(size_t(n), -1);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < int(body.edges.size()); ++i) {
      const DepEdge& e = body.edges[size_t(i)];
      const int earliest = time[size_t(e.producer)] + delay[size_t(i)] - interval * e.distance;
      if (earliest <= time[size_t(e.consumer)]) continue;
      time[size_t(e.consumer)] = earliest;
      via[size_t(e.consumer)] = i;
      changed = true;
    }
    for (int i = 0; i < n; ++i) seen[size_t(i)] = -1;
    for (int i = 0; changed && i < n; ++i) {
      int at = i;
      while (at >= 0 && seen[size_t(at)] < 0) {
        seen[size_t(at)] = i;
        at = via[size_t(at)] < 0 ? -1 : body.edges[size_t(via[size_t(at)])].producer;
      }
      if (at < 0 || seen[size_t(at)] != i) continue;
      List<int> backwards;
      const int first = at;
      do {
        backwards.push_back(via[size_t(at)]);
        at = body.edges[size_t(via[size_t(at)])].producer;
      } while (at != first);
      List<int> cycle;
      for (size_t k = backwards.size(); k > 0; --k) cycle.push_back(backwards[k - 1]);
      return cycle;
    }
  }
  return {};
}

}  // namespace detail

constexpr Mii minimum_interval(const LoopBody& body, const Target& target) {
  Mii mii;
  mii.error = body.validate();
  if (!mii.error.ok()) return mii;
  for (int r = 0; r < kResourceKinds; ++r) {
    const int capacity = target.capacity[r];
    if (capacity == 0) continue;
    const int need = (unit_load(body, ResourceKind(r)) + capacity - 1) / capacity;
    if (need > mii.resource) {
      mii.resource = need;
      mii.unit = ResourceKind(r);
    }
  }
  // Each cycle that does not fit tells from which interval on it does; the last one found is the certificate.
  List<int> delay;
  for (const DepEdge& e : body.edges) delay.push_back(edge_delay(body, e));
  for (;;) {
    const List<int> cycle = detail::growing_cycle(body, delay, mii.recurrence);
    if (cycle.empty()) return mii;
    int sum = 0, distance = 0;
    mii.cycle = {};
    for (const int i : cycle) {
      sum += delay[size_t(i)];
      distance += body.edges[size_t(i)].distance;
      mii.cycle.push_back(body.edges[size_t(i)].producer);
    }
    mii.recurrence = (sum + distance - 1) / distance;
  }
}

// Whether starts t[i], repeated every `interval` cycles, respect every dependence and every unit.
constexpr Diagnostic check_interval(const LoopBody& body, const Target& target, const List<int>& start, int interval) {
  if (start.size() != body.ops.size()) {
    return {.code = Code::op_lost, .a = "starts", .have = int(start.size()), .need = body.size()};
  }
  for (const DepEdge& e : body.edges) {
    const int have = start[size_t(e.consumer)] - start[size_t(e.producer)] + interval * e.distance;
    const int need = edge_delay(body, e);
    if (have >= need) continue;
    return {.code = e.kind == DepKind::flow ? Code::order_flow : Code::order_anti,
            .a = body.ops[size_t(e.producer)].name,
            .b = body.ops[size_t(e.consumer)].name,
            .have = have,
            .need = need};
  }
  for (int r = 0; r < kResourceKinds; ++r) {
    if (target.capacity[r] == 0) continue;
    // A unit is busiest when some op starts on it.
    for (int i = 0; i < body.size(); ++i) {
      const OpNode& n = body.ops[size_t(i)];
      if (n.resource != ResourceKind(r) || n.occupancy == 0) continue;
      int busy = 0;
      for (int j = 0; j < body.size(); ++j) {
        const OpNode& other = body.ops[size_t(j)];
        if (other.resource != n.resource) continue;
        const int since = ((start[size_t(i)] - start[size_t(j)]) % interval + interval) % interval;
        busy += other.occupancy / interval + (since < other.occupancy % interval);
      }
      if (busy <= target.capacity[r]) continue;
      return {.code = Code::ii_infeasible,
              .a = n.name,
              .b = word(ResourceKind(r)),
              .have = busy,
              .need = target.capacity[r]};
    }
  }
  return {};
}

}  // namespace warpwright::schedule

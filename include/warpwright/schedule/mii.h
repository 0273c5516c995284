// The smallest initiation interval: no unit may be asked for more cycles than an interval has (ResMII), and no cycle of
// dependences may need more time than the iterations it spans (RecMII). Both come with what makes them so.
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

// A cycle whose delays exceed interval * distance, empty if there is none: Bellman-Ford on delay - interval * distance,
// longest paths from everywhere at once. Ops in order of the dependences.
constexpr List<int> violated_cycle(const LoopBody& body, int interval) {
  const int n = body.size();
  List<int> time(size_t(n), 0), from(size_t(n), -1);
  int changed = -1;
  for (int pass = 0; pass <= n; ++pass) {
    changed = -1;
    for (const DepEdge& e : body.edges) {
      const int earliest = time[size_t(e.producer)] + edge_delay(body, e) - interval * e.distance;
      if (earliest <= time[size_t(e.consumer)]) continue;
      time[size_t(e.consumer)] = earliest;
      from[size_t(e.consumer)] = e.producer;
      changed = e.consumer;
    }
    if (changed < 0) return {};
  }
  // A change in pass n has a chain of more than n predecessors, so walking back n times ends on the cycle.
  for (int step = 0; step < n; ++step) changed = from[size_t(changed)];
  List<int> backwards;
  for (int at = changed; backwards.empty() || at != changed; at = from[size_t(at)]) backwards.push_back(at);
  List<int> cycle;
  for (size_t i = backwards.size(); i > 0; --i) cycle.push_back(backwards[i - 1]);
  return cycle;
}

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
  // Every cycle spans an iteration, so the sum of all delays is enough.
  int fits = 0, fails = -1;
  for (const DepEdge& e : body.edges) fits += edge_delay(body, e);
  while (fits - fails > 1) {
    const int middle = fails + (fits - fails) / 2;
    List<int> cycle = violated_cycle(body, middle);
    if (cycle.empty()) {
      fits = middle;
    } else {
      fails = middle;
      mii.cycle = static_cast<List<int>&&>(cycle);
    }
  }
  mii.recurrence = fits;
  return mii;
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
    List<int> busy(size_t(interval), 0);
    for (int i = 0; i < body.size(); ++i) {
      const OpNode& n = body.ops[size_t(i)];
      if (n.resource != ResourceKind(r)) continue;
      for (int c = 0; c < n.occupancy; ++c) {
        const int row = ((start[size_t(i)] + c) % interval + interval) % interval;
        if (++busy[size_t(row)] <= target.capacity[r]) continue;
        return {.code = Code::ii_infeasible,
                .a = n.name,
                .b = word(ResourceKind(r)),
                .have = busy[size_t(row)],
                .need = target.capacity[r]};
      }
    }
  }
  return {};
}

}  // namespace warpwright::schedule

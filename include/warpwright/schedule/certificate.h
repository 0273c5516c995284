// Why no smaller initiation interval exists, in numbers that a reader can add up: the ops that share the busiest unit,
// and the cycle of dependences that needs the most time for the iterations that it spans.
#pragma once
#include <string>

#include "warpwright/schedule/mii.h"

namespace warpwright::schedule {

struct UnitUse {
  Name op = {};
  int cycles = 0;
};

struct CycleStep {
  Name from = {}, to = {};
  DepKind kind = DepKind::flow;
  int delay = 0;     // cycles from the start of `from` to the earliest start of `to`
  int distance = 0;  // iterations
};

struct Certificate {
  ResourceKind unit = ResourceKind::none;
  int capacity = 0;  // ops at once
  List<UnitUse> uses = {};
  List<CycleStep> cycle = {};

  constexpr int busy() const {
    int sum = 0;
    for (const UnitUse& u : uses) sum += u.cycles;
    return sum;
  }
  constexpr int delay() const {
    int sum = 0;
    for (const CycleStep& s : cycle) sum += s.delay;
    return sum;
  }
  constexpr int distance() const {
    int sum = 0;
    for (const CycleStep& s : cycle) sum += s.distance;
    return sum;
  }
  constexpr int resource() const { return capacity == 0 ? 0 : (busy() + capacity - 1) / capacity; }
  constexpr int recurrence() const { return cycle.empty() ? 0 : (delay() + distance() - 1) / distance(); }
  constexpr bool set_by_units() const { return resource() >= recurrence(); }
};

constexpr Certificate certificate_of(const LoopBody& body, const Target& target, const Mii& mii) {
  Certificate c;
  c.unit = mii.unit;
  if (mii.unit != ResourceKind::none) {
    c.capacity = target.capacity[int(mii.unit)];
    for (const OpNode& n : body.ops)
      if (n.resource == mii.unit && n.occupancy > 0) c.uses.push_back({n.name, n.occupancy});
  }
  for (size_t i = 0; i < mii.cycle.size(); ++i) {
    const int from = mii.cycle[i], to = mii.cycle[(i + 1) % mii.cycle.size()];
    // Among parallel edges, the one that is hardest to meet just below the bound.
    const DepEdge* hardest = nullptr;
    const auto excess = [&](const DepEdge& e) { return edge_delay(body, e) - (mii.recurrence - 1) * e.distance; };
    for (const DepEdge& e : body.edges) {
      if (e.producer != from || e.consumer != to) continue;
      if (hardest == nullptr || excess(e) > excess(*hardest)) hardest = &e;
    }
    if (hardest == nullptr) continue;
    c.cycle.push_back({body.ops[size_t(from)].name, body.ops[size_t(to)].name, hardest->kind,
                       edge_delay(body, *hardest), hardest->distance});
  }
  return c;
}

// "mma_unit is busy for 512 cycles of an iteration: MMA0 256, MMA1 256"
inline std::string units_text(const Certificate& c) {
  if (c.uses.empty()) return {};
  std::string s = std::string(word(c.unit)) + " is busy for " + std::to_string(c.busy()) + " cycles of an iteration";
  if (c.capacity > 1) s += ", " + std::to_string(c.capacity) + " at once";
  const char* before = ": ";
  for (const UnitUse& u : c.uses) {
    s.append(before).append(u.op.c_str()).append(" ").append(std::to_string(u.cycles));
    before = ", ";
  }
  return s;
}

// "FA0 > MMA0 takes 33 (FLOW), MMA0 > FA0 of 1 iteration later takes 256 (ANTI): 289 cycles in 1 iteration"
inline std::string cycle_text(const Certificate& c) {
  if (c.cycle.empty()) return {};
  std::string s;
  const auto iterations = [](int n) { return std::to_string(n) + (n == 1 ? " iteration" : " iterations"); };
  for (const CycleStep& step : c.cycle) {
    if (!s.empty()) s += ", ";
    s.append(step.from.c_str()).append(" > ").append(step.to.c_str());
    if (step.distance > 0) s += " of " + iterations(step.distance) + " later";
    s.append(" takes ").append(std::to_string(step.delay)).append(" (").append(word(step.kind)).append(")");
  }
  return s + ": " + std::to_string(c.delay()) + " cycles in " + iterations(c.distance());
}

}  // namespace warpwright::schedule

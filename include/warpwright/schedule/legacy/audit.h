// What the reference never checks: that no op is lost, that the final order respects its own edges, that waits are
// strong enough, and that they fit their field.
#pragma once
#include "warpwright/schedule/legacy/compile.h"
#include "warpwright/schedule/target.h"

namespace warpwright::schedule::legacy {

namespace detail {

// Place in the kernel of each op of the body, -1 for a lost one. Equal ops are matched in order.
constexpr List<int> kernel_positions(const Compiled& c) {
  List<int> positions(c.body.ops.size(), -1);
  List<char> taken(c.kernel.size(), false);
  for (size_t i = 0; i < positions.size(); ++i) {
    for (size_t j = 0; j < c.kernel.size() && positions[i] < 0; ++j) {
      if (taken[j] || !c.kernel[j].op.same_work(c.body.ops[i].op)) continue;
      taken[j] = true;
      positions[i] = int(j);
    }
  }
  return positions;
}

constexpr void find_lost_ops(const Compiled& c, Diagnostics& found) {
  for (size_t i = 0; i < c.declared.size(); ++i) {
    const OpDesc& op = c.declared[i];
    if (!op.tag.is_data()) continue;
    int need = 0, have = 0, before = 0;
    for (size_t j = 0; j < c.declared.size(); ++j) {
      need += c.declared[j].same_work(op);
      before += j < i && c.declared[j].same_work(op);
    }
    for (const ScheduleEntry& e : c.kernel) have += e.op.same_work(op);
    if (before >= have) {
      found.push_back({.code = Code::op_lost, .a = c.costs.name(op), .have = have, .need = need});
    }
  }
}

constexpr void find_wrong_order(const Compiled& c, const List<int>& at, Diagnostics& found) {
  for (const DepEdge& e : c.body.edges) {
    const int p = at[size_t(e.producer)], q = at[size_t(e.consumer)];
    if (e.distance != 0 || p < 0 || q < 0 || p < q) continue;
    found.push_back({.code = e.kind == DepKind::anti ? Code::order_anti : Code::order_flow,
                     .a = c.body.ops[size_t(e.producer)].name,
                     .b = c.body.ops[size_t(e.consumer)].name,
                     .have = q,
                     .need = p + 1});
  }
}

// For every load and the fragment that needs it: one of the waits between them must leave no more ticks in flight than
// were issued after the load. Reported once for each wait, with the count that all its consumers allow.
constexpr void find_weak_waits(const Compiled& c, const List<int>& at, Diagnostics& found) {
  const int length = int(c.kernel.size());
  List<int> issued = {0};  // ticks before each entry of two iterations
  for (int i = 0; i < 2 * length; ++i) {
    const OpDesc& op = c.kernel[size_t(i % length)].op;
    const int ticks = op.role == OpRole::global_load ? c.config.vm_per_load(op.channel) : 0;
    issued.push_back(issued.back() + ticks);
  }
  struct Weak {
    int wait, need;
    Name load, frag;
  };
  List<Weak> weak;
  for (const DepEdge& e : c.body.edges) {
    const OpNode& load = c.body.ops[size_t(e.producer)];
    const OpNode& frag = c.body.ops[size_t(e.consumer)];
    const bool copies = load.op.role == OpRole::global_load && frag.op.role == OpRole::fragment_load;
    if (!copies || e.kind != DepKind::flow || at[size_t(e.producer)] < 0 || at[size_t(e.consumer)] < 0) continue;
    const int begin = at[size_t(e.producer)], end = at[size_t(e.consumer)] + e.distance * length;
    int last = -1;
    bool covered = begin >= end;
    for (int w = begin + 1; w < end; ++w) {
      const OpDesc& op = c.kernel[size_t(w % length)].op;
      if (!op.is_wait_vm()) continue;
      last = w;
      covered = covered || op.wait_count() <= issued[size_t(w)] - issued[size_t(begin) + 1];
    }
    if (covered) continue;
    const int need = issued[size_t(last < 0 ? end : last)] - issued[size_t(begin) + 1];
    Weak* same = nullptr;
    for (Weak& w : weak)
      if (w.wait == (last < 0 ? -1 : last % length)) same = &w;
    if (same == nullptr) {
      weak.push_back({last < 0 ? -1 : last % length, need, load.name, frag.name});
    } else if (need < same->need) {
      *same = {same->wait, need, load.name, frag.name};
    }
  }
  for (const Weak& w : weak) {
    found.push_back({.code = Code::wait_too_weak,
                     .a = w.load,
                     .b = w.frag,
                     .have = w.wait < 0 ? -1 : c.kernel[size_t(w.wait)].op.wait_count(),
                     .need = w.need});
  }
}

}  // namespace detail

constexpr Diagnostics audit(const Compiled& c, const Target& target) {
  Diagnostics found = c.findings;
  detail::find_lost_ops(c, found);
  const List<int> at = detail::kernel_positions(c);
  detail::find_wrong_order(c, at, found);
  if (c.config.depth >= 2) detail::find_weak_waits(c, at, found);
  for (const EntryList* phase : {&c.prologue, &c.kernel, &c.epilogue}) {
    for (const ScheduleEntry& e : *phase) {
      if (const Diagnostic d = check_wait(target, e.op); !d.ok()) found.push_back(d);
    }
  }
  return found;
}

}  // namespace warpwright::schedule::legacy

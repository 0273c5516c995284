// The reference's ways to order a body: interleaving by block, greedy, and a search for the shortest makespan. Its
// objective is a makespan and not an initiation interval; the compiler in schedule/ is the one to use.
#pragma once
#include "warpwright/schedule/legacy/config.h"

namespace warpwright::schedule::legacy {

// Non-carried fragments, carried compute, barrier, stores, loads, other computes, barrier, carried fragments. Barriers
// of the input are replaced by these two.
constexpr List<OpDesc> single_buffer_reorder(const List<OpDesc>& ops, const LoopCarriedSpec& carried) {
  List<OpDesc> out;
  const auto take = [&](OpRole role, int lc) {
    for (const OpDesc& op : ops)
      if (op.role == role && (lc < 0 || lc == int(op.subtile == carried.selector))) out.push_back(op);
  };
  take(OpRole::fragment_load, 0);
  take(OpRole::compute, 1);
  out.push_back(OpDesc::barrier());
  take(OpRole::shared_store, -1);
  take(OpRole::global_load, -1);
  take(OpRole::compute, 0);
  out.push_back(OpDesc::barrier());
  take(carried.role, 1);
  return out;
}

// One half: each MMA preceded by the fragments it is the first to need and by as many global loads as its block has
// room for. Loads without room after the last MMA are lost, as in the reference; audit() reports them.
constexpr List<OpDesc> interleave(const List<OpDesc>& half, const PipelineConfig& config) {
  List<OpDesc> globals, out;
  for (const OpDesc& op : half)
    if (op.role == OpRole::global_load) globals.push_back(op);
  size_t next_global = 0;
  uint32_t rows_seen = 0, columns_seen = 0;
  const auto emit_frag = [&](int channel, int subtile) {
    for (const OpDesc& op : half) {
      if (op.role == OpRole::fragment_load && op.channel == channel && op.subtile == subtile) {
        out.push_back(op);
        return;
      }
    }
  };
  for (const OpDesc& mma : half) {
    if (mma.role != OpRole::compute) continue;
    const auto [row, column] = mma.quadrant();
    const bool new_row = (rows_seen >> row & 1) == 0;
    const bool new_column = (columns_seen >> column & 1) == 0;
    rows_seen |= 1u << row;
    columns_seen |= 1u << column;
    if (new_column && config.b_before_a) emit_frag(1, column);
    if (new_row) emit_frag(0, row);
    if (new_column && !config.b_before_a) emit_frag(1, column);
    const int target = new_row ? config.block_sizing.heavy : config.block_sizing.light;
    int room = target - int(new_row) - int(new_column) - 1;
    if (room < 0) room = 0;
    if (config.block_sizing.max_globals > 0) {
      if (room < 1) room = 1;
      if (room > config.block_sizing.max_globals) room = config.block_sizing.max_globals;
    }
    for (; room > 0 && next_global < globals.size(); --room) out.push_back(globals[next_global++]);
    out.push_back(mma);
  }
  return out;
}

constexpr List<OpDesc> double_buffer_reorder(const List<OpDesc>& ops, const PipelineConfig& config) {
  const size_t middle = ops.size() / 2;
  List<OpDesc> out = interleave(ops.slice(0, middle), config);
  out.append(interleave(ops.slice(middle, ops.size()), config));
  return out;
}

using Order = List<int>;

constexpr Order identity_order(int n) {
  Order o;
  for (int i = 0; i < n; ++i) o.push_back(i);
  return o;
}

// Which ops may be placed next: all their predecessors of the same iteration are placed, FLOW and ANTI alike.
class ReadyList {
 public:
  constexpr explicit ReadyList(const LoopBody& body) : body_(&body), blocked_(body.ops.size(), 0) {
    for (const DepEdge& e : body.edges)
      if (e.distance == 0) ++blocked_[size_t(e.consumer)];
  }
  constexpr bool ready(int i) const { return blocked_[size_t(i)] == 0; }
  constexpr void place(int i) {
    change(i, -1);
    blocked_[size_t(i)] += kPlaced;
  }
  constexpr void take_back(int i) {
    change(i, 1);
    blocked_[size_t(i)] -= kPlaced;
  }

 private:
  static constexpr int kPlaced = 1 << 20;
  constexpr void change(int i, int by) {
    for (const DepEdge& e : body_->edges)
      if (e.distance == 0 && e.producer == i) blocked_[size_t(e.consumer)] += by;
  }
  const LoopBody* body_;
  List<int> blocked_;
};

struct Evaluation {
  int makespan = 0;
  int peak_vgpr = 0;
  int mma_free = 0;  // when each unit is done with the ops of the order
  int valu_free = 0;
};

// The MMA unit and the VALU take one op at a time; memory ops start when they may, except that each keeps the LDS port
// busy for `penalty` cycles.
constexpr Evaluation evaluate(const LoopBody& body, const Order& order, int penalty = 0) {
  List<int> earliest(body.ops.size(), 0);
  Evaluation r;
  int port_free = 0, live = 0;
  for (const int i : order) {
    const OpNode& n = body.ops[size_t(i)];
    const bool memory = n.resource == ResourceKind::lds || n.resource == ResourceKind::global_mem;
    int start = earliest[size_t(i)];
    const auto wait_for = [&start](int t) { start = start > t ? start : t; };
    if (n.resource == ResourceKind::mma_unit) wait_for(r.mma_free);
    if (n.resource == ResourceKind::valu) wait_for(r.valu_free);
    if (penalty > 0 && memory) wait_for(port_free);
    const int finish = start + n.latency;
    if (n.resource == ResourceKind::mma_unit) r.mma_free = finish;
    if (n.resource == ResourceKind::valu) r.valu_free = finish;
    if (penalty > 0 && memory) port_free = start + penalty;
    for (const DepEdge& e : body.edges) {
      if (e.distance == 0 && e.producer == i && earliest[size_t(e.consumer)] < finish) {
        earliest[size_t(e.consumer)] = finish;
      }
    }
    live += n.op.vgpr_def;
    if (live > r.peak_vgpr) r.peak_vgpr = live;
    live -= n.op.vgpr_kill;
    if (finish > r.makespan) r.makespan = finish;
  }
  return r;
}

constexpr int lower_bound(const LoopBody& body, int penalty = 0) {
  const List<int> asap = body.compute_asap();
  int bound = 0, memory_ops = 0;
  int first[2] = {-1, -1}, total[2] = {0, 0};
  const auto raise = [&bound](int v) { bound = bound > v ? bound : v; };
  for (int i = 0; i < body.size(); ++i) {
    const OpNode& n = body.ops[size_t(i)];
    raise(asap[size_t(i)] + n.latency);
    memory_ops += n.resource == ResourceKind::lds || n.resource == ResourceKind::global_mem;
    if (n.resource != ResourceKind::mma_unit && n.resource != ResourceKind::valu) continue;
    const int unit = n.resource == ResourceKind::valu;
    if (first[unit] < 0 || asap[size_t(i)] < first[unit]) first[unit] = asap[size_t(i)];
    total[unit] += n.latency;
  }
  raise(first[0] + total[0]);
  raise(first[1] + total[1]);
  raise(penalty * memory_ops);
  return bound;
}

// Lowest index first. An order that is shorter than the body met a cycle.
constexpr Order simple_greedy(const LoopBody& body) {
  ReadyList list(body);
  Order order;
  for (int i = 0; i < body.size();) {
    if (list.ready(i)) {
      list.place(i);
      order.push_back(i);
      i = 0;
    } else {
      ++i;
    }
  }
  return order;
}

inline constexpr int kGreedyBlocksPerHalf = 4;

// In each block of each half the lowest ready op, until a compute op ends the block. Two halves of four blocks are
// built into the algorithm; any other body is refused here, where the reference asserts in debug builds only.
constexpr Checked<Order> greedy_schedule(const LoopBody& body) {
  const int n = body.size();
  int computes[2] = {0, 0};
  for (int i = 0; i < n; ++i) computes[i >= n / 2] += body.ops[size_t(i)].op.role == OpRole::compute;
  for (const int found : computes) {
    if (found != kGreedyBlocksPerHalf) {
      return {{},
              {.code = Code::strategy_unsupported,
               .a = "greedy",
               .b = "blocks per half",
               .have = found,
               .need = kGreedyBlocksPerHalf}};
    }
  }
  ReadyList list(body);
  Order order;
  for (int half = 0; half < 2; ++half) {
    const int begin = half == 0 ? 0 : n / 2, end = half == 0 ? n / 2 : n;
    for (int block = 0; block < kGreedyBlocksPerHalf; ++block) {
      for (int i = begin; i < end;) {
        if (!list.ready(i)) {
          ++i;
          continue;
        }
        list.place(i);
        order.push_back(i);
        if (body.ops[size_t(i)].op.role == OpRole::compute) break;
        i = begin;
      }
    }
  }
  if (int(order.size()) != n) {
    List<char> placed(size_t(n), false);
    for (const int i : order) placed[size_t(i)] = true;
    int stuck = 0;
    while (placed[size_t(stuck)]) ++stuck;
    return {order,
            {.code = Code::strategy_unsupported,
             .a = "greedy",
             .b = body.ops[size_t(stuck)].name,
             .have = int(order.size()),
             .need = n}};
  }
  return {order, {}};
}

struct SearchLimits {
  bool halves = false;  // ops of the first half before those of the second
  int max_globals = 0;  // since the last compute op; 0: no limit
  int penalty = 0;
  int max_vgpr = 999999;
  int node_budget = 4096;
};

// No order that begins with `path` is shorter.
constexpr int partial_bound(const LoopBody& body, const Order& path, int penalty) {
  const Evaluation v = evaluate(body, path, penalty);
  int mma = v.mma_free, valu = v.valu_free;
  for (const OpNode& n : body.ops) {
    mma += n.resource == ResourceKind::mma_unit ? n.latency : 0;
    valu += n.resource == ResourceKind::valu ? n.latency : 0;
  }
  for (const int i : path) {
    const OpNode& n = body.ops[size_t(i)];
    mma -= n.resource == ResourceKind::mma_unit ? n.latency : 0;
    valu -= n.resource == ResourceKind::valu ? n.latency : 0;
  }
  const int units = mma > valu ? mma : valu;
  return units > v.makespan ? units : v.makespan;
}

// The seed if it meets the bound, otherwise a depth-first search in index order. The reference's search has no end for
// the bodies it is used on (more than 1e10 leaves); here it stops at the budget, keeps the seed and says so.
constexpr Checked<Order> search_order(const LoopBody& body, const Order& seed, const SearchLimits& limits) {
  const int n = body.size();
  const int bound = lower_bound(body, limits.penalty);
  const Evaluation start = evaluate(body, seed, limits.penalty);
  if (start.makespan == bound && start.peak_vgpr <= limits.max_vgpr) return {seed, {}};

  Order best = seed, path;
  Evaluation best_value = start;
  ReadyList list(body);
  List<int> tried(size_t(n) + 1, -1);
  int live = 0;
  for (int nodes = 0;; ++nodes) {
    if (nodes == limits.node_budget) {
      return {
          seed,
          {.code = Code::search_budget, .a = body.ops[size_t(seed[0])].name, .have = start.makespan, .need = bound}};
    }
    const int depth = int(path.size());
    int globals = 0;
    for (const int i : path) {
      const OpRole role = body.ops[size_t(i)].op.role;
      globals = role == OpRole::compute ? 0 : globals + (role == OpRole::global_load);
    }
    const int begin = limits.halves && depth >= n / 2 ? n / 2 : 0;
    const int end = limits.halves && depth < n / 2 ? n / 2 : n;
    int next = tried[size_t(depth)] + 1;
    if (next < begin) next = begin;
    for (; next < end; ++next) {
      const OpDesc& op = body.ops[size_t(next)].op;
      if (!list.ready(next) || live + op.vgpr_def > limits.max_vgpr) continue;
      if (limits.max_globals > 0 && op.role == OpRole::global_load && globals >= limits.max_globals) continue;
      break;
    }
    if (depth == n) {
      const Evaluation v = evaluate(body, path, limits.penalty);
      const bool affordable = v.peak_vgpr <= limits.max_vgpr;
      if (affordable && (v.makespan < best_value.makespan || best_value.peak_vgpr > limits.max_vgpr ||
                         (v.makespan == best_value.makespan && v.peak_vgpr < best_value.peak_vgpr))) {
        best = path;
        best_value = v;
      }
    }
    if (depth < n && next < end) {
      tried[size_t(depth)] = next;
      tried[size_t(depth) + 1] = -1;
      list.place(next);
      path.push_back(next);
      live += body.ops[size_t(next)].op.vgpr_def - body.ops[size_t(next)].op.vgpr_kill;
      if (limits.halves || partial_bound(body, path, limits.penalty) < best_value.makespan) continue;
    } else if (depth == 0) {
      return {best, {}};
    }
    const int last = path.back();
    path.pop_back();
    list.take_back(last);
    live -= body.ops[size_t(last)].op.vgpr_def - body.ops[size_t(last)].op.vgpr_kill;
  }
}

constexpr Checked<Order> optimal_schedule(const LoopBody& body, int max_vgpr = 999999) {
  return search_order(body, simple_greedy(body), {.max_vgpr = max_vgpr});
}
constexpr Checked<Order> optimal_schedule_with_halves(const LoopBody& body, int max_globals, int penalty,
                                                      int max_vgpr) {
  const Checked<Order> seed = greedy_schedule(body);
  if (!seed.ok()) return seed;
  return search_order(body, seed.value,
                      {.halves = true, .max_globals = max_globals, .penalty = penalty, .max_vgpr = max_vgpr});
}

// Each run of ops between two sync ops is ordered for itself.
constexpr List<OpDesc> optimize_within_barriers(const LoopBody& body) {
  List<OpDesc> out;
  for (int begin = 0; begin < body.size();) {
    int end = begin;
    while (end < body.size() && body.ops[size_t(end)].op.role != OpRole::sync) ++end;
    LoopBody segment;
    for (int i = begin; i < end; ++i) segment.ops.push_back(body.ops[size_t(i)]);
    for (const DepEdge& e : body.edges) {
      const bool inside = e.producer >= begin && e.producer < end && e.consumer >= begin && e.consumer < end;
      if (inside && e.distance == 0) segment.edges.push_back({e.producer - begin, e.consumer - begin, e.kind, 0});
    }
    for (const int i : optimal_schedule(segment).value) out.push_back(segment.ops[size_t(i)].op);
    if (end < body.size()) out.push_back(body.ops[size_t(end)].op);
    begin = end + 1;
  }
  return out;
}

}  // namespace warpwright::schedule::legacy

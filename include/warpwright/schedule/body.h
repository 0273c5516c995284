// LoopBody: the ops of one iteration and the dependences between them; PipelineBody builds the list of ops.
#pragma once
#include "warpwright/schedule/access.h"
#include "warpwright/schedule/cost.h"

namespace warpwright::schedule {

// distance 0: within an iteration; d >= 1: the consumer is d iterations later. In a modulo schedule with interval II,
// t(consumer) - t(producer) >= delay - II * distance.
struct DepEdge {
  int producer = 0;
  int consumer = 0;
  DepKind kind = DepKind::flow;
  int distance = 0;
  int lag = 0;  // cycles by which the producer's wave may trail the consumer's
  constexpr bool operator==(const DepEdge&) const = default;
};

// An op of a body with its cost, its name and its accesses.
struct OpNode {
  OpDesc op = {};
  ResourceKind resource = ResourceKind::none;
  int latency = 0;
  int occupancy = 0;
  int ticks = 1;
  Name name = {};
  AccessList accesses = {};

  constexpr OpNode() = default;
  constexpr explicit OpNode(const OpDesc& op, int latency_override = -1)
      : op(op),
        resource(op.resource),
        latency(latency_override < 0 ? op.latency : latency_override),
        occupancy(latency),
        name(op_name(op)) {}
  constexpr OpNode(const OpDesc& op, const TargetCostModel& model) : OpNode(op) {
    name = model.name(op);
    if (model.knows(op.tag)) {
      occupancy = model[op.tag].unit_cycles();
      ticks = model[op.tag].ticks;
    }
  }
};

// The ops of one iteration and the dependences between them.
struct LoopBody {
  List<OpNode> ops = {};
  List<DepEdge> edges = {};
  int tiles_per_iteration = 1;

  constexpr LoopBody() = default;
  constexpr explicit LoopBody(const List<OpDesc>& list) {
    for (const OpDesc& op : list) ops.push_back(OpNode(op));
  }
  constexpr LoopBody(const List<OpDesc>& list, const TargetCostModel& model) {
    for (const OpDesc& op : list) ops.push_back(OpNode(op, model));
  }

  constexpr int size() const { return int(ops.size()); }

  // By what the op does; for an op the body does not have, the word without a label.
  constexpr Name name_of(const OpDesc& op) const {
    for (const OpNode& n : ops)
      if (n.op.same_work(op)) return n.name;
    return op_name(op);
  }

  // Earliest start of each op within an iteration. Meaningful for a valid body.
  constexpr List<int> compute_asap() const {
    List<int> t(ops.size(), 0);
    bool changed = true;
    for (int pass = 0; changed && pass < size(); ++pass) {
      changed = false;
      for (const DepEdge& e : edges) {
        if (e.distance != 0) continue;
        const int earliest = t[e.producer] + ops[e.producer].latency;
        if (earliest > t[e.consumer]) t[e.consumer] = earliest, changed = true;
      }
    }
    return t;
  }

  // Latest start of each op such that all are done at `makespan`.
  constexpr List<int> compute_alap(int makespan) const {
    List<int> t;
    for (const OpNode& n : ops) t.push_back(makespan - n.latency);
    bool changed = true;
    for (int pass = 0; changed && pass < size(); ++pass) {
      changed = false;
      for (const DepEdge& e : edges) {
        if (e.distance != 0) continue;
        const int latest = t[e.consumer] - ops[e.producer].latency;
        if (latest < t[e.producer]) t[e.producer] = latest, changed = true;
      }
    }
    return t;
  }

  // Edges in range, no op before itself, an order exists.
  constexpr Diagnostic validate() const {
    for (const OpNode& n : ops) {
      if (n.op.tag.is_data() && n.op.role == OpRole::none) return {.code = Code::cost_missing, .a = n.name};
      if (!n.accesses.error.ok()) {
        Diagnostic d = n.accesses.error;
        d.a = n.name;
        return d;
      }
    }
    for (const DepEdge& e : edges) {
      const bool producer_there = e.producer >= 0 && e.producer < size();
      const bool consumer_there = e.consumer >= 0 && e.consumer < size();
      if (!producer_there || !consumer_there) {
        return {.code = Code::graph_index,
                .a = producer_there ? ops[e.producer].name : Name("op ").add(e.producer),
                .b = consumer_there ? ops[e.consumer].name : Name("op ").add(e.consumer),
                .have = producer_there ? e.consumer : e.producer,
                .need = size() - 1};
      }
      if (e.distance < 0) {
        return {.code = Code::graph_distance, .a = ops[e.producer].name, .b = ops[e.consumer].name, .need = 0};
      }
      if (e.distance == 0 && e.producer == e.consumer) return {.code = Code::graph_self, .a = ops[e.producer].name};
    }
    return find_cycle();
  }

 private:
  constexpr Diagnostic find_cycle() const {
    List<int> blocked(ops.size(), 0);  // d0 predecessors not removed yet
    for (const DepEdge& e : edges)
      if (e.distance == 0) ++blocked[e.consumer];
    List<int> free;
    for (int i = 0; i < size(); ++i)
      if (blocked[i] == 0) free.push_back(i);
    for (int next = 0; next < int(free.size()); ++next) {
      for (const DepEdge& e : edges) {
        if (e.distance == 0 && e.producer == free[next] && --blocked[e.consumer] == 0) free.push_back(e.consumer);
      }
    }
    if (int(free.size()) == size()) return {};
    // Everything left has a predecessor that is left too; walking back as many steps as there are ops ends on a cycle.
    int at = 0;
    while (blocked[at] == 0) ++at;
    int before = at;
    for (int step = 0; step <= size(); ++step) {
      for (const DepEdge& e : edges) {
        if (e.distance == 0 && e.consumer == at && blocked[e.producer] > 0) {
          before = e.producer;
          break;
        }
      }
      if (step < size()) at = before;
    }
    return {.code = Code::graph_cycle, .a = ops[before].name, .b = ops[at].name};
  }
};

// The ops of a body, in the order of declaration. The methods differ in name only, so that a body reads like the
// kernel; roles come from the cost model.
class PipelineBody {
 public:
  constexpr PipelineBody& load(Tag tag, int channel, int stage, int subtile, KOffset k = KOffset::none) {
    return op(OpDesc::logical(tag, channel, stage, subtile, k));
  }
  constexpr PipelineBody& store(Tag tag, int channel, int stage = 0, int subtile = 0) {
    return op(OpDesc::logical(tag, channel, stage, subtile));
  }
  constexpr PipelineBody& frag(Tag tag, int channel, int stage, int subtile) {
    return op(OpDesc::logical(tag, channel, stage, subtile));
  }
  constexpr PipelineBody& compute(Tag tag, int row, int column) { return op(OpDesc::logical(tag, -1, row, column)); }
  constexpr PipelineBody& barrier() { return op(OpDesc::barrier()); }
  constexpr PipelineBody& op(const OpDesc& d) {
    ops_.push_back(d);
    return *this;
  }
  // Subtiles 0..n-1 of one stage.
  constexpr PipelineBody& fan(int n, Tag tag, int channel, int stage, KOffset k = KOffset::none) {
    for (int i = 0; i < n; ++i) op(OpDesc::logical(tag, channel, stage, i, k));
    return *this;
  }
  // Stage i, subtile j, row-major.
  constexpr PipelineBody& grid(int m, int n, Tag tag, int channel = -1) {
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) op(OpDesc::logical(tag, channel, i, j));
    return *this;
  }
  constexpr PipelineBody& extend(const List<OpDesc>& list) {
    for (const OpDesc& d : list) op(d);
    return *this;
  }
  constexpr List<OpDesc> done() const { return ops_; }
  constexpr Checked<List<OpDesc>> done(const TargetCostModel& model) const {
    Checked<List<OpDesc>> r{ops_, {}};
    r.error = annotate(r.value, model);
    return r;
  }

 private:
  List<OpDesc> ops_;
};

}  // namespace warpwright::schedule

// compile(): from a body that is written tile by tile, as if nothing overlapped, to a proven software pipeline for a
// target. Buffer depths, order, peeling, waits and barriers are all derived; proof.h asks both validators, which know
// nothing of how the schedule came about.
#pragma once
#include "warpwright/schedule/phase.h"
#include "warpwright/schedule/priority.h"

namespace warpwright::schedule {

// What a kernel does in one iteration, and what it runs with.
struct BodySpec {
  Name name = {};
  TargetCostModel costs = {};
  LoopBody loop = {};
  List<SharedBuffer> buffers = {};
  int roles = 1;
  int stagger = 0;                         // barriers by which role 1 trails role 0
  int stagger_cycles = 0;                  // and cycles, for the order
  int least_depth = 1;                     // slots that a shared buffer has whatever the lifetimes ask for
  int spare_slots = 0;                     // and beyond what the lifetimes ask for
  int consumers = 1;                       // copies of the consumer's program, where roles run
                                           // programs of their own
  List<BufferDepth> register_depths = {};  // for values that are kept in more than one set of registers
  int waves_per_simd = 1;                  // for the registers that a wave may have
  Diagnostic error = {};
};

// What compile() would otherwise choose itself.
struct CompileOptions {
  int depth = 0;           // slots of every shared buffer; 0: as many as the lifetimes
                           // ask for and the memory allows
  int interval = 0;        // 0: the smallest that works
  int unroll = 1;          // tiles per iteration; a multiple of the depth makes every
                           // slot a constant
  bool priorities = true;  // around MFMA clusters, where the target has them
};

// A compiled pipeline: prologue, loop and epilogue, with its waits and barriers, or the error that prevented it.
struct Pipeline {
  Name name = {};
  Target target = {};
  TargetCostModel costs = {};
  LoopBody body = {};
  List<SharedBuffer> buffers = {};
  List<BufferDepth> depths = {};
  Placement placement = {};
  int free_interval = 0;  // what the interval would be with any amount of shared memory
  RegisterPressure registers = {};
  KernelOrder order = {};
  Schedule schedule = {};           // the schedule of every wave, if roles do not run programs of their own
  List<Schedule> short_runs = {};   // schedules for 0 .. stages - 2 iterations
  List<RoleProgram> programs = {};  // producer and consumer, if they do
  List<PhaseRing> rings = {};
  RunShape shape = {};
  bool takes_turns = false;  // in the kernel the roles never multiply between the same two barriers
  int stagger = 0;
  int stagger_cycles = 0;
  int least_depth = 1;
  int spare_slots = 0;
  List<BufferDepth> register_depths = {};
  Diagnostic error = {};

  constexpr bool ok() const { return error.ok(); }
  constexpr int interval() const { return placement.interval; }
  constexpr int mii() const { return placement.mii.value(); }
  constexpr bool is_split() const { return !programs.empty(); }
  constexpr int stages() const {
    int most = is_split() ? 1 : order.stages;
    for (const RoleProgram& r : programs) most = r.stages() > most ? r.stages() : most;
    return most;
  }
  constexpr int64_t shared() const { return shared_bytes(buffers, depths); }
  constexpr int barriers() const { return count_waits(schedule.kernel).barrier; }
  // Kernel iterations of a run; -1: the run is short_runs[iterations].
  constexpr int kernel_iterations(int iterations) const {
    return iterations < stages() - 1 ? -1 : iterations - (stages() - 1);
  }
};

// Each op u times, for u tiles in a row. The stage of an op that names one becomes the slot, if depth divides u.
constexpr LoopBody unrolled(const LoopBody& body, int u, const TargetCostModel& costs) {
  LoopBody out;
  out.tiles_per_iteration = body.tiles_per_iteration * u;
  for (int i = 0; i < u; ++i) {
    for (const OpNode& n : body.ops) {
      OpNode copy = n;
      if (n.op.role != OpRole::compute) copy.op.stage = uint8_t(n.op.stage + i);
      copy.name = costs.name(copy.op);
      for (Access& a : copy.accesses.list) a.tile = int8_t(a.tile + i * body.tiles_per_iteration);
      out.ops.push_back(copy);
    }
  }
  return out;
}

namespace detail {

// Depths that fit: the deepest buffers give way first, and none below one slot.
constexpr bool limit_depths(List<BufferDepth>& depths, const List<SharedBuffer>& buffers, int64_t bytes) {
  while (shared_bytes(buffers, depths) > bytes) {
    int deepest = 0;
    for (const BufferDepth& d : depths)
      if (d.space == Space::shared && d.depth > deepest) deepest = d.depth;
    if (deepest <= 1) return false;
    for (BufferDepth& d : depths)
      if (d.space == Space::shared && d.depth == deepest) --d.depth;
  }
  return true;
}

constexpr Diagnostic too_large(const Pipeline& p) {
  int deepest = 0;
  for (const BufferDepth& d : p.depths) deepest = d.depth > deepest ? d.depth : deepest;
  return {.code = Code::smem_capacity,
          .a = Name("depth ").add(deepest),
          .b = p.target.name,
          .have = p.target.shared_bytes,
          .need = int(p.shared())};
}

// Dependences, with the time by which a trailing role is late where it comes first.
constexpr void connect(Pipeline& p, const List<BufferDepth>& depths) {
  p.body.edges = access_edges(p.body, depths);
  if (p.stagger == 0) return;
  for (const SyncDep& d : sync_deps(p.body, depths, p.target, p.shape.roles, p.stagger)) {
    for (DepEdge& e : p.body.edges) {
      if (d.barriers < 2 || e.producer != d.producer || e.consumer != d.consumer || e.distance != d.distance) continue;
      if (e.kind == d.kind) e.lag = p.stagger_cycles;
    }
  }
}

// Slots that are there anyway are filled early: each copy moves to an earlier turn of the op that reads it first, as
// far as the readers of the slot's last tile allow. There one barrier serves both, the tile that has landed and the
// slot that is free. Behind the reader, if the reader runs on while the copy waits for the slot.
constexpr void advance_copies(Pipeline& p) {
  List<int> start = p.placement.start;
  const int interval = p.interval();
  for (int i = 0; i < p.body.size(); ++i) {
    if (p.body.ops[size_t(i)].op.role != OpRole::global_load) continue;
    int earliest = -(1 << 28), reader = -1, use = 0;
    for (const DepEdge& e : p.body.edges) {
      if (e.consumer == i) {
        const int at = p.placement.start[size_t(e.producer)] + issue_delay(p.body, e) - interval * e.distance;
        if (at > earliest) earliest = at;
      }
      if (e.producer == i && e.kind == DepKind::flow && e.consumer != i) {
        const int at = p.placement.start[size_t(e.consumer)] + interval * e.distance;
        if (reader < 0 || at < use) reader = e.consumer, use = at;
      }
    }
    if (reader < 0 || earliest == -(1 << 28)) continue;
    if (p.target.counter_of(p.body.ops[size_t(reader)].op.role) == Counter::wgmma_group) ++use;
    const int turns = use >= earliest ? (use - earliest) / interval : 0;
    if (use - turns * interval < start[size_t(i)]) start[size_t(i)] = use - turns * interval;
  }
  int first = 0;
  for (const int t : start) first = t < first ? t : first;
  const int shift = (interval - 1 - first) / interval * interval;
  for (int& t : start) t += shift;
  // Copies that move together keep their own order; anything else that no longer fits leaves the placement as it was.
  if (check_interval(p.body, p.target, start, interval).ok()) p.placement.start = start;
}

// Buffers of a ring have the same number of slots.
constexpr void level_rings(Pipeline& p) {
  if (!p.target.splits_roles()) return;
  for (size_t i = 0; i < p.buffers.size(); ++i)
    for (size_t j = 0; j < p.buffers.size(); ++j)
      if (p.buffers[i].ring == p.buffers[j].ring && p.depths[i].depth < p.depths[j].depth) {
        p.depths[i].depth = p.depths[j].depth;
      }
}

// Two programs from one placement.
constexpr void split(Pipeline& p, int consumers) {
  p.rings = phase_rings(p.buffers, p.depths, consumers);
  const auto role = [&p] { return RoleBody(p.body, p.target, p.placement.start, p.buffers, p.rings); };
  const List<SyncDep> deps = sync_deps(p.body, p.depths, p.target, 1, 0);
  p.programs.push_back(role().producer(p.interval()));
  p.programs.push_back(role().consumer(p.interval(), deps));
  p.programs.back().copies = consumers;
  for (const RoleProgram& r : p.programs)
    if (p.ok()) p.error = r.error;
}

// A copy that nothing hurries is issued when its first reader asks for it, so that it takes no slot before.
constexpr void delay_copies(Pipeline& p) {
  for (int i = 0; i < p.body.size(); ++i) {
    const OpNode& n = p.body.ops[size_t(i)];
    if (n.op.role != OpRole::global_load || n.occupancy > 0) continue;
    int latest = 1 << 28;
    for (const DepEdge& e : p.body.edges) {
      if (e.producer != i || e.consumer == i) continue;
      const int at = p.placement.start[size_t(e.consumer)] + p.interval() * e.distance - issue_delay(p.body, e);
      if (at < latest) latest = at;
    }
    if (latest != 1 << 28 && latest > p.placement.start[size_t(i)]) p.placement.start[size_t(i)] = latest;
  }
}

// Order and depths. Without a depth asked for, the body is placed as if memory had no end, which gives the depths; only
// if they do not fit is it placed again with those that do.
template <PlacementStrategy S>
constexpr void place(Pipeline& p, const CompileOptions& options, const S& strategy) {
  const IntervalRange range{options.interval, options.interval};
  if (options.depth > 0) {
    p.depths = uniform_depths(p.buffers, options.depth);
    p.depths.append(p.register_depths);
    if (p.shared() > p.target.shared_bytes) {
      p.error = too_large(p);
      return;
    }
  } else {
    List<BufferDepth> free = uniform_depths(p.buffers, free_depth(p.body));
    free.append(p.register_depths);
    connect(p, free);
    p.placement = modulo_schedule(p.body, p.target, strategy, range);
    p.error = p.placement.error;
    if (!p.ok()) return;
    p.free_interval = p.placement.interval;
    if (p.target.splits_roles()) delay_copies(p);
    for (const SharedBuffer& b : p.buffers) {
      int depth = smallest_depth(p.body, p.placement.start, p.interval(), b.id) + p.spare_slots;
      if (depth < p.least_depth) depth = p.least_depth;
      p.depths.push_back({Space::shared, b.id, depth});
    }
    level_rings(p);
    p.depths.append(p.register_depths);
    if (!limit_depths(p.depths, p.buffers, p.target.shared_bytes)) {
      p.error = too_large(p);
      return;
    }
  }
  connect(p, p.depths);
  p.placement = modulo_schedule(p.body, p.target, strategy, range);
  p.error = p.placement.error;
  if (p.ok()) advance_copies(p);
}

constexpr void add_priorities(Schedule& s) {
  s.prologue = with_priorities(s.prologue);
  s.kernel = with_priorities(s.kernel);
  s.epilogue = with_priorities(s.epilogue);
}

}  // namespace detail

// Makes the pipeline of a body for a target.
template <PlacementStrategy S = Ims>
constexpr Pipeline compile(const BodySpec& spec, const Target& target, const CompileOptions& options = {},
                           const S& strategy = {}) {
  Pipeline p;
  p.name = spec.name;
  p.target = target;
  p.costs = spec.costs;
  p.buffers = spec.buffers;
  p.stagger = spec.stagger;
  p.stagger_cycles = spec.stagger_cycles;
  p.least_depth = spec.least_depth;
  p.spare_slots = spec.spare_slots;
  p.register_depths = spec.register_depths;
  p.shape.roles = spec.roles;
  p.shape.staggered = spec.stagger > 0;
  p.error = spec.error;
  if (p.ok() && (options.unroll < 1 || spec.stagger > 1 || spec.roles > kMaxRoles)) {
    p.error = {.code = Code::config_invalid, .a = options.unroll < 1 ? "unroll" : "stagger"};
  }
  if (!p.ok()) return p;
  for (const OpNode& n : spec.loop.ops) {
    const Counter counter = target.counter_of(n.op.role);
    if (counter != Counter::none && !target.has(counter)) {
      p.error = {.code = Code::unit_missing, .a = n.name, .b = target.name};
      return p;
    }
  }
  p.body = unrolled(spec.loop, options.unroll, spec.costs);
  detail::place(p, options, strategy);
  if (!p.ok()) return p;
  p.registers = register_pressure(p.body, p.placement.start, p.interval());
  p.error = check_registers(target, p.registers.peak, spec.waves_per_simd, p.registers.at);
  p.order = kernel_order(p.placement.start, p.interval());
  if (target.splits_roles()) {
    detail::split(p, spec.consumers);
    return p;
  }
  const List<SyncDep> deps = sync_deps(p.body, p.depths, target, spec.roles, spec.stagger);
  const List<BarrierInterval> intervals = barrier_intervals(p.body, p.order, p.interval(), deps);
  List<int> barriers = stab_intervals(intervals, p.order.size());
  if (p.stagger > 0) barriers = spread_barriers(barriers, intervals, p.order, p.interval());
  Peeler peeler(p.body, p.target, p.order, deps, barriers);
  Checked<Schedule> whole = peeler.schedule();
  p.schedule = static_cast<Schedule&&>(whole.value);
  if (p.ok()) p.error = whole.error;
  for (int n = 0; n < peeler.peeled(); ++n) {
    Checked<Schedule> run = peeler.short_run(n);
    p.short_runs.push_back(run.value);
    if (p.ok()) p.error = run.error;
  }
  if (target.priorities && options.priorities) {
    detail::add_priorities(p.schedule);
    for (Schedule& s : p.short_runs) detail::add_priorities(s);
  }
  return p;
}

}  // namespace warpwright::schedule

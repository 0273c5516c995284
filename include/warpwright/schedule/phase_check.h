// The happens-before validator for roles that run programs of their own (phase.h). It takes the barriers at their word:
// slot and parity come from each entry's own numbers, never from what the compiler meant. A wait is right if
//
//   its slot and parity are those of the phase that it needs, u;
//   phase u - 1 is complete before it begins: otherwise the parity is already the other one, and it passes early;
//   phase u + 1 cannot be complete before it ends: otherwise it waits for u + 2, which may never come.
//
// What a wait proves are the arrivals of its phase, and everything that the arriving role did before them.
#pragma once
#include "warpwright/schedule/hazard.h"
#include "warpwright/schedule/phase.h"

namespace warpwright::schedule {

inline constexpr int kProducer = 0, kConsumer = 1;

// One run of both programs.
struct SplitRun {
  List<Trace> role = List<Trace>(2);  // no array: nvcc 13 destroys only the first element of one that is a member
  List<PhaseRing> rings = {};
  int consumers = 1;
};

// accesses() and ticks() as for the other validators; phase_tile(i, ring): the tile of that ring that the entry is
// about; bytes(i): what a copy brings.
template <class M>
concept SplitModel = AccessModel<M> && requires(const M& m, const Instance& i) {
  int(m.phase_tile(i, 0));
  int64_t(m.bytes(i));
  int(m.ring_of(Access{}));
};

namespace detail {

struct PhaseUse {
  int role = 0, at = 0;
  int tile = 0;
};

// One mbarrier: who arrives, in order, and how many bytes come with each of its phases.
struct BarrierBook {
  PhaseBarrier kind = PhaseBarrier::full;
  int ring = 0, slot = 0;
  List<PhaseUse> arrivals = {};
  int64_t bytes = 0;
};

template <SplitModel Model>
class SplitChecker {
 public:
  constexpr SplitChecker(const SplitRun& run, const Model& model, const TargetCostModel& names)
      : run_(run), model_(model), names_(names) {}

  constexpr Diagnostics check() {
    for (const PhaseRing& r : run_.rings) {
      for (int slot = 0; slot < r.slots; ++slot) {
        books_.push_back({PhaseBarrier::full, r.id, slot, {}, 0});
        books_.push_back({PhaseBarrier::empty, r.id, slot, {}, 0});
      }
    }
    for (int role = 0; role < 2; ++role) collect(role);
    count_arrivals();
    for (int role = 0; role < 2; ++role) follow_waits(role);
    for (int role = 0; role < 2; ++role) check_waits(role);
    check_memory();
    return found_;
  }

 private:
  constexpr const Instance& at(int role, int i) const { return run_.role[size_t(role)].instances[size_t(i)]; }
  constexpr int size(int role) const { return int(run_.role[size_t(role)].instances.size()); }
  constexpr const PhaseRing& ring(int id) const {
    for (const PhaseRing& r : run_.rings)
      if (r.id == id) return r;
    return run_.rings[0];
  }
  constexpr BarrierBook* book(PhaseBarrier kind, int ring, int slot) {
    for (BarrierBook& b : books_)
      if (b.kind == kind && b.ring == ring && b.slot == slot) return &b;
    return nullptr;
  }
  constexpr void report(Code code, int role, const Instance& i, const Name& other, int have, int need) {
    const Name name = names_.name(i.op);
    for (const Diagnostic& d : found_)
      if (d.code == code && d.a == name && d.b == other && d.role_a == role && d.phase == i.phase) return;
    found_.push_back({.code = code,
                      .a = name,
                      .b = other,
                      .have = have,
                      .need = need,
                      .role_a = role,
                      .iteration = i.iteration,
                      .phase = i.phase});
  }

  constexpr void collect(int role) {
    for (int i = 0; i < size(role); ++i) {
      const Instance& x = at(role, i);
      if (x.op.tag == tags::phase_arrive) {
        const int tile = model_.phase_tile(x, x.op.phase_ring());
        BarrierBook* b = book(x.op.phase_barrier(), x.op.phase_ring(), x.op.phase_slot(tile));
        if (b == nullptr) {
          report(Code::phase_parity, role, x, "slot", x.op.phase_slot(tile), ring(x.op.phase_ring()).slots - 1);
        } else {
          b->arrivals.push_back({role, i, tile});
        }
      }
      if (x.op.role != OpRole::global_load) continue;
      for (const Access& a : model_.accesses(x)) {
        if (a.space != Space::shared || !a.writes()) continue;
        if (BarrierBook* b = book(PhaseBarrier::full, model_.ring_of(a), a.slot)) b->bytes += model_.bytes(x);
      }
    }
  }

  // Arrivals come in the order of their tiles, one for each tile of the slot, from as many threads as the barrier
  // counts; every tile that is copied is handed back, so that the ring can be used again.
  constexpr void count_arrivals() {
    for (const BarrierBook& b : books_) {
      const PhaseRing& r = ring(b.ring);
      const bool full = b.kind == PhaseBarrier::full;
      const int threads = full ? 1 : run_.consumers;
      const int wanted = full ? r.full_arrivals : r.empty_arrivals;
      for (int k = 0; k < int(b.arrivals.size()); ++k) {
        const Instance& x = at(b.arrivals[size_t(k)].role, b.arrivals[size_t(k)].at);
        if (threads != wanted) report(Code::arrival_count, b.arrivals[size_t(k)].role, x, r.name, threads, wanted);
        if (r.phase_of(b.arrivals[size_t(k)].tile) != k) {
          report(Code::arrival_count, b.arrivals[size_t(k)].role, x, "phase", k,
                 r.phase_of(b.arrivals[size_t(k)].tile));
        }
      }
      const int64_t expected = r.tile_bytes * int64_t(b.arrivals.size());
      if (full && b.bytes != expected) {
        found_.push_back(
            {.code = Code::arrival_count, .a = "bytes", .b = r.name, .have = int(b.bytes), .need = int(expected)});
      }
      if (!full) continue;
      const BarrierBook* other = book(PhaseBarrier::empty, b.ring, b.slot);
      if (other->arrivals.size() == b.arrivals.size()) continue;
      found_.push_back({.code = Code::arrival_count,
                        .a = Name("empty").add(b.ring).add(".arrive"),
                        .b = Name("slot ").add(b.slot),
                        .have = int(other->arrivals.size()),
                        .need = int(b.arrivals.size())});
    }
  }

  // The phase that a wait needs; -1: the one that counts as complete at the start.
  constexpr int needed_phase(const Instance& x) const {
    const int tile = model_.phase_tile(x, x.op.phase_ring());
    return ring(x.op.phase_ring()).phase_of(tile) - (x.op.phase_barrier() == PhaseBarrier::empty);
  }
  constexpr BarrierBook* waited_book(const Instance& x) {
    const int tile = model_.phase_tile(x, x.op.phase_ring());
    return book(x.op.phase_barrier(), x.op.phase_ring(), ring(x.op.phase_ring()).slot_of(tile));
  }

  // For each instance: the last one of the other role that is known to have been executed by then.
  constexpr void follow_waits(int role) {
    int known = -1;
    for (int i = 0; i < size(role); ++i) {
      const Instance& x = at(role, i);
      if (x.op.tag == tags::phase_wait) {
        const BarrierBook* b = waited_book(x);
        const int phase = needed_phase(x);
        if (phase >= int(b->arrivals.size())) report(Code::deadlock, role, x, ring(b->ring).name, phase, -1);
        if (phase >= 0 && phase < int(b->arrivals.size()) && b->arrivals[size_t(phase)].at > known) {
          known = b->arrivals[size_t(phase)].at;
        }
      }
      known_[size_t(role)].push_back(known);
    }
  }

  constexpr void check_waits(int role) {
    for (int i = 0; i < size(role); ++i) {
      const Instance& x = at(role, i);
      if (x.op.tag != tags::phase_wait) continue;
      const int tile = model_.phase_tile(x, x.op.phase_ring());
      const PhaseRing& r = ring(x.op.phase_ring());
      const int phase = needed_phase(x);
      if (x.op.phase_slot(tile) != r.slot_of(tile)) {
        report(Code::phase_parity, role, x, "slot", x.op.phase_slot(tile), r.slot_of(tile));
      } else if (x.op.phase_parity(tile) != (phase & 1)) {
        report(Code::phase_parity, role, x, "parity", x.op.phase_parity(tile), phase & 1);
      }
      const BarrierBook* b = waited_book(x);
      if (phase > 0 && !seen(role, i, *b, phase - 1)) {
        report(Code::phase_parity, role, x, "a phase not seen", phase - 1, phase);
      }
      if (phase + 1 < int(b->arrivals.size())) {
        const PhaseUse& next = b->arrivals[size_t(phase + 1)];
        if (known_[size_t(next.role)][size_t(next.at)] < i)
          report(Code::phase_parity, role, x, "runs ahead", phase + 1, phase);
      }
    }
  }
  // Whether the role waited for this phase of the barrier, or a later one, before instance i.
  constexpr bool seen(int role, int i, const BarrierBook& b, int phase) {
    for (int j = i - 1; j >= 0; --j) {
      const Instance& x = at(role, j);
      if (x.op.tag == tags::phase_wait && waited_book(x) == &b && needed_phase(x) >= phase) return true;
    }
    return false;
  }

  constexpr void check_memory() {
    const List<Touch> touches = collect_touches(run_.role[kConsumer], model_);
    for (const Touch& t : touches) {
      const Instance& reader = at(kConsumer, t.instance);
      const int ring_id = model_.ring_of(t.access);
      const int tile = model_.phase_tile(reader, ring_id);
      const Instance* copy = nullptr;
      for (const Instance& x : run_.role[kProducer].instances) {
        if (x.op.role != OpRole::global_load || model_.phase_tile(x, ring_id) != tile) continue;
        for (const Access& a : model_.accesses(x))
          if (a.writes() && a.overlaps(t.access)) copy = &x;
      }
      const Name writer = copy == nullptr ? Name("no write") : names_.name(copy->op);
      const BarrierBook* b = book(PhaseBarrier::full, ring_id, ring(ring_id).slot_of(tile));
      if (copy == nullptr || !seen(kConsumer, t.instance, *b, ring(ring_id).phase_of(tile))) {
        report_pair(Code::hazard_raw, writer, reader, kProducer);
      }
    }
    for (int y = 0; y < size(kProducer); ++y) {
      const Instance& x = at(kProducer, y);
      if (x.op.role != OpRole::global_load) continue;
      for (const Access& a : model_.accesses(x)) {
        if (a.space != Space::shared || !a.writes()) continue;
        const int tile = model_.phase_tile(x, model_.ring_of(a));
        for (const Touch& t : touches) {
          const Instance& reader = at(kConsumer, t.instance);
          if (!a.overlaps(t.access) || a.slot != t.access.slot) continue;
          if (model_.phase_tile(reader, model_.ring_of(a)) >= tile) continue;
          if (known_[kProducer][size_t(y)] < t.done_at)
            report_pair(Code::hazard_war, names_.name(reader.op), x, kConsumer);
        }
      }
    }
  }
  constexpr void report_pair(Code code, const Name& first, const Instance& second, int role_a) {
    const Name name = names_.name(second.op);
    for (const Diagnostic& d : found_)
      if (d.code == code && d.a == first && d.b == name && d.phase == second.phase) return;
    found_.push_back({.code = code,
                      .a = first,
                      .b = name,
                      .role_a = role_a,
                      .role_b = 1 - role_a,
                      .iteration = second.iteration,
                      .phase = second.phase});
  }

  const SplitRun& run_;
  const Model& model_;
  const TargetCostModel& names_;
  List<BarrierBook> books_ = {};
  List<List<int>> known_ = List<List<int>>(2);
  Diagnostics found_ = {};
};

}  // namespace detail

template <SplitModel Model>
constexpr Diagnostics find_phase_hazards(const SplitRun& run, const Model& model, const TargetCostModel& names) {
  return detail::SplitChecker<Model>(run, model, names).check();
}

}  // namespace warpwright::schedule

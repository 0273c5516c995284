// The second validator for roles that run programs of their own: both programs run against each other on barriers that
// count as the hardware's do, producer first or consumer first, with MMAs that read at issue or as late as their waits
// allow. K tiles are followed through every copy, as in version.h.
#pragma once
#include "warpwright/schedule/phase_check.h"
#include "warpwright/schedule/version.h"

namespace warpwright::schedule {

namespace detail {

template <SplitModel Model>
class SplitMachine {
 public:
  constexpr SplitMachine(const SplitRun& run, const Model& model, const TargetCostModel& names, int tiles,
                         Diagnostics& found, bool late)
      : run_(run), model_(model), names_(names), found_(found), late_(late), tracker_(0, tiles, names, found) {
    for (const PhaseRing& r : run.rings) {
      for (int slot = 0; slot < r.slots; ++slot) {
        barriers_.push_back({PhaseBarrier::full, r.id, slot, r.full_arrivals, r.full_arrivals});
        barriers_.push_back({PhaseBarrier::empty, r.id, slot, r.empty_arrivals, r.empty_arrivals});
      }
    }
  }

  constexpr void execute(int preferred) {
    while (step(preferred) || step(1 - preferred)) {
    }
    retire(0);
    for (int role = 0; role < 2; ++role) {
      if (next_[role] >= int(run_.role[size_t(role)].instances.size())) continue;
      const Instance& x = run_.role[size_t(role)].instances[size_t(next_[role])];
      found_.push_back(
          {.code = Code::deadlock, .a = names_.name(x.op), .role_a = role, .iteration = x.iteration, .phase = x.phase});
    }
    tracker_.finish();
  }

 private:
  struct Barrier {
    PhaseBarrier kind = PhaseBarrier::full;
    int ring = 0, slot = 0;
    int count = 1, pending = 1;
    int64_t bytes = 0;
    int completed = 0;
  };
  constexpr Barrier* barrier(PhaseBarrier kind, int ring, int slot) {
    for (Barrier& b : barriers_)
      if (b.kind == kind && b.ring == ring && b.slot == slot) return &b;
    return nullptr;
  }
  constexpr void advance(Barrier& b) {
    if (b.pending != 0 || b.bytes != 0) return;
    ++b.completed;
    b.pending = b.count;
  }
  constexpr int64_t expected_bytes(int ring) const {
    for (const PhaseRing& r : run_.rings)
      if (r.id == ring) return r.tile_bytes;
    return 0;
  }

  // Whether the role could go on by one entry.
  constexpr bool step(int role) {
    if (next_[role] >= int(run_.role[size_t(role)].instances.size())) return false;
    const Instance& x = run_.role[size_t(role)].instances[size_t(next_[role])];
    if (x.op.is_phase()) {
      const int tile = model_.phase_tile(x, x.op.phase_ring());
      Barrier* b = barrier(x.op.phase_barrier(), x.op.phase_ring(), x.op.phase_slot(tile));
      if (b == nullptr) return false;
      if (x.op.tag == tags::phase_wait) {
        if ((b->completed & 1) == x.op.phase_parity(tile)) return false;
      } else if (!arrive(*b, role, x)) {
        return false;
      }
    } else if (x.op.tag == tags::wait_wgmma) {
      retire(x.op.wait_count());
    } else if (x.op.tag == tags::commit_wgmma) {
      open_.push_back(running_);
      running_ = {};
    } else if (x.op.tag.is_data()) {
      touch(x);
    }
    ++next_[role];
    return true;
  }
  constexpr bool arrive(Barrier& b, int role, const Instance& x) {
    b.pending -= role == kConsumer ? run_.consumers : 1;
    if (b.kind == PhaseBarrier::full) b.bytes += expected_bytes(b.ring);
    if (b.pending < 0) {
      found_.push_back({.code = Code::arrival_count,
                        .a = names_.name(x.op),
                        .have = b.count - b.pending,
                        .need = b.count,
                        .role_a = role,
                        .iteration = x.iteration,
                        .phase = x.phase});
      return false;
    }
    advance(b);
    return true;
  }
  constexpr void touch(const Instance& x) {
    const AccessList accesses = model_.accesses(x);
    if (x.op.role == OpRole::global_load) {
      tracker_.execute(x, accesses, model_.tile(x, 0));
      for (const Access& a : accesses) {
        Barrier* b = a.space == Space::shared ? barrier(PhaseBarrier::full, model_.ring_of(a), a.slot) : nullptr;
        if (b == nullptr) continue;
        b->bytes -= model_.bytes(x);
        advance(*b);
      }
    } else if (late_ && model_.ticks(x.op).counter == Counter::wgmma_group) {
      running_.push_back(x);
    } else {
      tracker_.execute(x, accesses);
    }
  }
  // All but the last `left` groups are done; 0: what was never committed, too.
  constexpr void retire(int left) {
    while (int(open_.size()) > left) {
      for (const Instance& x : open_[0]) tracker_.execute(x, model_.accesses(x));
      open_.erase(0);
    }
    if (left > 0) return;
    for (const Instance& x : running_) tracker_.execute(x, model_.accesses(x));
    running_ = {};
  }

  const SplitRun& run_;
  const Model& model_;
  const TargetCostModel& names_;
  Diagnostics& found_;
  bool late_;
  VersionTracker tracker_;
  List<Barrier> barriers_ = {};
  List<Instance> running_ = {};     // MMAs not committed yet
  List<List<Instance>> open_ = {};  // groups in flight
  int next_[2] = {0, 0};
};

}  // namespace detail

template <SplitModel Model>
constexpr Diagnostics simulate_split(const SplitRun& run, const Model& model, const TargetCostModel& names, int tiles) {
  Diagnostics found;
  for (const int preferred : {kProducer, kConsumer}) {
    for (const bool late : {false, true}) {
      detail::SplitMachine<Model> machine(run, model, names, tiles, found, late);
      machine.execute(preferred);
      if (!found.empty()) return found;
    }
  }
  return found;
}

}  // namespace warpwright::schedule

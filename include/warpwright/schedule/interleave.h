// The second validator with time in it: executions of several waves in which everything that waits and barriers leave
// open happens at its worst moment. Two waves of every role run, each copies its share of a tile. Between two meetings
// one wave runs as far ahead as it may while another has not moved; what is asynchronous takes effect at once or at the
// last moment, which is the wait that covers it. Whoever reads a place must find the tile that the op is for.
//
// No relation between ops is computed here, so that a mistake in the rules of the happens-before validator is not
// repeated. For pipelines whose waves run one program; role programs have a simulation of their own (phase_run.h).
#pragma once
#include "warpwright/schedule/pipeline_model.h"
#include "warpwright/schedule/version.h"

namespace warpwright::schedule {

namespace detail {

// When asynchronous accesses take effect.
struct Landing {
  bool late_writes = false;  // writes to shared memory may land late
  bool late_reads =
      false;  // reads of shared memory may be late, with the registers that they fill; so may loads to registers
};

class WaveRun {
 public:
  constexpr WaveRun(const Pipeline& p, const Trace& trace, int iterations, const Landing& landing, Diagnostics& found)
      : pipeline_(p), trace_(trace), model_{p, iterations}, landing_(landing), found_(found) {
    for (int role = 0; role < trace.roles; ++role)
      for (int i = 0; i < kWavesOfRole; ++i) waves_.push_back({.role = role});
    shares_.resize(waves_.size());
  }

  constexpr int waves() const { return int(waves_.size()); }

  // `first`: the wave that runs ahead; the others follow in turn, upwards or downwards.
  constexpr void run(int first, bool upwards) {
    const int n = waves();
    for (bool moved = true; moved;) {
      moved = false;
      for (int i = 0; i < n; ++i) {
        const int wave = upwards ? (first + i) % n : (first + n - i) % n;
        if (waves_[size_t(wave)].at >= int(trace_.instances.size())) continue;
        to_next_meeting(wave);
        moved = true;
      }
    }
  }

 private:
  static constexpr int kWavesOfRole = 2;

  struct Open {
    int instance = 0;
    Counter counter = Counter::none;
    bool committed = true;
    int behind = 0;
  };
  struct Wave {
    int role = 0;
    int at = 0;
    bool met_stagger = false;
    PlaceMap registers = {};
    List<Open> open = {};
  };

  constexpr void to_next_meeting(int index) {
    Wave& w = waves_[size_t(index)];
    for (; w.at < int(trace_.instances.size()); ++w.at) {
      if (w.role == 1 && w.at == trace_.stagger_at && !w.met_stagger) {
        w.met_stagger = true;
        return;
      }
      const Instance& i = trace_.instances[size_t(w.at)];
      if (i.op.is_barrier()) {
        if (trace_.barriers_fence) complete(index, Counter::none, 0);
        ++w.at;
        return;
      }
      if (i.op.is_wait()) {
        complete(index, counter_of_sync(i.op), i.op.wait_count());
      } else if (i.op.is_commit()) {
        for (Open& o : w.open) {
          if (o.counter != counter_of_sync(i.op)) continue;
          o.behind += o.committed;
          o.committed = true;
        }
      } else if (i.op.tag.is_data()) {
        issue(index, w.at);
      }
    }
  }

  constexpr bool is_late(const Instance& i) const {
    if (model_.ticks(i.op).counter == Counter::none) return false;
    for (const Access& a : model_.accesses(i))
      if (a.space == Space::shared && a.writes()) return landing_.late_writes;
    return landing_.late_reads;
  }

  constexpr void issue(int index, int at) {
    Wave& w = waves_[size_t(index)];
    const Instance& i = trace_.instances[size_t(at)];
    // Operands in registers are read when the op is issued.
    for (const Access& a : model_.accesses(i))
      if (a.space == Space::registers && a.reads() && a.made_by(w.role)) expect(w, i, a, w.registers.get(a));
    const OpTicks ticks = model_.ticks(i.op);
    if (!counts_groups(ticks.counter)) {
      for (Open& o : w.open)
        if (o.counter == ticks.counter) o.behind += ticks.count;
    }
    if (is_late(i)) {
      w.open.push_back({at, ticks.counter, !counts_groups(ticks.counter), 0});
    } else {
      take_effect(index, at);
    }
  }

  // Everything of a counter but the last `left`; Counter::none: of all counters.
  constexpr void complete(int index, Counter counter, int left) {
    Wave& w = waves_[size_t(index)];
    size_t kept = 0;
    for (size_t k = 0; k < w.open.size(); ++k) {
      const Open o = w.open[k];
      const bool done = counter == Counter::none || (o.counter == counter && o.committed && o.behind >= left);
      if (done) take_effect(index, o.instance);
      if (!done) w.open[kept++] = o;
    }
    w.open.resize(kept);
  }

  constexpr void take_effect(int index, int at) {
    Wave& w = waves_[size_t(index)];
    const Instance& i = trace_.instances[size_t(at)];
    const AccessList accesses = model_.accesses(i);
    for (const Access& a : accesses) {
      if (a.space != Space::shared || !a.reads() || !a.made_by(w.role)) continue;
      for (PlaceMap& share : shares_) expect(w, i, a, share.get(a));
    }
    for (const Access& a : accesses) {
      if (!a.writes() || !a.made_by(w.role)) continue;
      if (a.space == Space::shared) shares_[size_t(index)].set(a, model_.tile_of(i, a));
      if (a.space == Space::registers) w.registers.set(a, model_.tile_of(i, a));
    }
  }

  constexpr void expect(const Wave& w, const Instance& i, const Access& a, int have) {
    const int need = model_.tile_of(i, a);
    if (have == need) return;
    const Diagnostic d{.code = Code::stale_tile,
                       .a = pipeline_.costs.name(i.op),
                       .have = have == kNoTile ? -1 : have,
                       .need = need,
                       .role_a = w.role,
                       .iteration = i.iteration,
                       .phase = i.phase};
    for (const Diagnostic& old : found_)
      if (old.a == d.a && old.role_a == d.role_a && old.phase == d.phase) return;
    found_.push_back(d);
  }

  const Pipeline& pipeline_;
  const Trace& trace_;
  PipelineModel model_;
  Landing landing_;
  Diagnostics& found_;
  List<Wave> waves_;
  List<PlaceMap> shares_;  // for each wave what its own copies have left in shared memory
};

}  // namespace detail

// STALE_TILE: op a of a role reads tile `have` (-1: nothing, or parts of several) where it needs tile `need`.
constexpr Diagnostics simulate_waves(const Pipeline& p, int iterations) {
  Diagnostics found;
  if (!p.ok()) {
    found.push_back(p.error);
    return found;
  }
  if (p.is_split()) return found;
  const int kernel = p.kernel_iterations(iterations);
  const Schedule& s = kernel < 0 ? p.short_runs[size_t(iterations)] : p.schedule;
  const Trace trace = make_trace(s, p.shape, kernel < 0 ? 0 : kernel);
  for (const bool late_writes : {false, true}) {
    for (const bool late_reads : {false, true}) {
      const detail::Landing landing{late_writes, late_reads};
      const int waves = detail::WaveRun(p, trace, iterations, landing, found).waves();
      for (int first = 0; first < waves; ++first) {
        for (const bool upwards : {false, true}) {
          detail::WaveRun(p, trace, iterations, landing, found).run(first, upwards);
        }
      }
    }
  }
  return found;
}

}  // namespace warpwright::schedule

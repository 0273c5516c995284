// From an order of issue to the three phases. The line of issue of N iterations of the body is cut into N + stages - 1
// kernel iterations, in which op i is present iff the iteration that it belongs to exists: the first stages - 1 are the
// prologue, the last stages - 1 the epilogue, and everything between is the kernel. With fewer iterations than
// stages - 1 no kernel iteration is complete; such runs have schedules of their own.
//
// Waits are exact. At the place where a dependence needs an access to be complete, the count is the number of ticks
// that were issued after it; the place has one count for all iterations and run lengths that pass it, the smallest. A
// wait is emitted only where more may be in flight than that. A barrier of a peeled iteration is kept only if some
// dependence needs it.
#pragma once
#include "warpwright/schedule/sync.h"

namespace warpwright::schedule {

// What is at a place of the line of issue.
struct LineElement {
  int place = 0;
  int op = -1;        // -1: a barrier
  int iteration = 0;  // an iteration of the body
  int line = 0;       // kernel iteration, peeled ones included
  Phase phase = Phase::kernel;
};

class Peeler {
 public:
  constexpr Peeler(const LoopBody& body, const Target& target, const KernelOrder& order, const List<SyncDep>& deps,
                   const List<int>& barriers)
      : body_(body), target_(target), order_(order), deps_(deps) {
    for (int x = 0; x < order.size(); ++x) {
      for (const int b : barriers)
        if (b == x) items_.push_back(-1);
      items_.push_back(order.order[size_t(x)]);
    }
    find_groups(barriers);
  }

  constexpr int peeled() const { return order_.stages - 1; }

  // Runs of at least peeled() iterations.
  constexpr Checked<Schedule> schedule() {
    reset((2 * peeled() + 1) * int(items_.size()));
    int longest = 2 * peeled() + 2;
    for (const SyncDep& d : deps_)
      if (longest < 2 * peeled() + 2 + d.distance) longest = 2 * peeled() + 2 + d.distance;
    for (int n = peeled(); n <= longest; ++n) mark_barriers(n);
    for (int i = 0; i < int(items_.size()); ++i) needed_[size_t(peeled() * int(items_.size()) + i)] = true;
    for (int n = peeled(); n <= longest; ++n) require_waits(n);

    Checked<Schedule> r;
    const List<LineElement> line = line_of(longest);
    InFlight in_flight;
    emit(line, Phase::prologue, 0, in_flight, r.value.prologue);
    const InFlight from_prologue = in_flight;
    // What may be in flight when an iteration begins: what the prologue leaves or what the iteration before leaves.
    InFlight entry = from_prologue;
    for (int attempt = 1;; ++attempt) {
      in_flight = entry;
      r.value.kernel = {};
      emit(line, Phase::kernel, peeled(), in_flight, r.value.kernel);
      if (!entry.raise(in_flight, attempt >= kFixedPointTries)) break;
    }
    in_flight.raise(from_prologue);
    emit(line, Phase::epilogue, longest, in_flight, r.value.epilogue);
    drain(r.value.epilogue, Phase::epilogue, in_flight);
    r.error = error_;
    return r;
  }

  // A run too short for the kernel, in one piece.
  constexpr Checked<Schedule> short_run(int iterations) {
    reset(iterations == 0 ? 0 : (iterations + peeled()) * int(items_.size()));
    mark_barriers(iterations);
    require_waits(iterations);
    Checked<Schedule> r;
    InFlight in_flight;
    emit(line_of(iterations), Phase::prologue, 0, in_flight, r.value.prologue);
    drain(r.value.prologue, Phase::prologue, in_flight);
    r.error = error_;
    return r;
  }

 private:
  static constexpr int kUnbounded = 1 << 20;
  static constexpr int kFixedPointTries = 2;

  // Upper bounds of what each counter may still have open.
  struct InFlight {
    int count[kCounters] = {};
    // `limit`: what is still rising has no bound.
    constexpr bool raise(const InFlight& o, bool limit = false) {
      bool raised = false;
      for (int c = 0; c < kCounters; ++c)
        if (o.count[c] > count[c]) count[c] = limit ? kUnbounded : o.count[c], raised = true;
      return raised;
    }
  };

  constexpr void reset(int places) {
    needed_ = List<char>(size_t(places), false);
    need_ = List<List<int>>(size_t(target_.domain_count), List<int>(size_t(places), kUnbounded));
  }

  // Ops of a group are waited for together, so only those that are first needed at the same place share one.
  constexpr void find_groups(const List<int>& barriers) {
    const int n = order_.size();
    first_need_ = List<int>(body_.ops.size(), kUnbounded);
    for (const SyncDep& d : deps_) {
      if (!counts_groups(target_.counter_of(body_.ops[size_t(d.producer)].op.role))) continue;
      // Counted from the kernel iteration in which the producer is issued.
      const int stage = order_.stage[size_t(d.consumer)] + d.distance - order_.stage[size_t(d.producer)];
      int at = stage * n + order_.position[size_t(d.consumer)];
      for (int met = 0; met < d.barriers && !barriers.empty(); --at) {
        for (const int b : barriers) met += b == (at % n + n) % n;
        if (met >= d.barriers) break;
      }
      int& need = first_need_[size_t(d.producer)];
      if (at < need) need = at;
    }
  }

  constexpr List<LineElement> line_of(int iterations) const {
    List<LineElement> line;
    if (iterations == 0) return line;
    const int width = int(items_.size());
    const bool short_run = iterations < peeled();
    for (int k = 0; k < iterations + peeled(); ++k) {
      Phase phase = Phase::prologue;
      int row = k;
      if (!short_run && k >= peeled()) {
        phase = k < iterations ? Phase::kernel : Phase::epilogue;
        row = k < iterations ? peeled() : peeled() + 1 + k - iterations;
      }
      for (int i = 0; i < width; ++i) {
        LineElement e{row * width + i, items_[size_t(i)], 0, k, phase};
        if (e.op >= 0) {
          e.iteration = k - order_.stage[size_t(e.op)];
          if (e.iteration < 0 || e.iteration >= iterations) continue;
        } else if (!marking_ && !needed_[size_t(e.place)]) {
          continue;
        }
        line.push_back(e);
      }
    }
    return line;
  }

  struct Index {
    List<int> at;        // element of (op, iteration)
    List<int> barriers;  // elements that are barriers
    List<int> before;    // barriers before each element
    int iterations = 0;
    constexpr int of(int op, int iteration) const { return at[size_t(op * iterations + iteration)]; }
  };
  constexpr Index index_of(const List<LineElement>& line, int iterations) const {
    Index x;
    x.iterations = iterations;
    x.at = List<int>(body_.ops.size() * size_t(iterations), -1);
    x.before.reserve(line.size());
    for (int e = 0; e < int(line.size()); ++e) {
      x.before.push_back(int(x.barriers.size()));
      if (line[size_t(e)].op < 0) {
        x.barriers.push_back(e);
      } else {
        x.at[size_t(line[size_t(e)].op * iterations + line[size_t(e)].iteration)] = e;
      }
    }
    return x;
  }

  constexpr void mark_barriers(int iterations) {
    marking_ = true;
    const List<LineElement> line = line_of(iterations);
    marking_ = false;
    const Index x = index_of(line, iterations);
    for (const SyncDep& d : deps_) {
      for (int i = 0; d.barriers > 0 && i + d.distance < iterations; ++i) {
        const int use = x.of(d.consumer, i + d.distance);
        for (int b = 1; b <= d.barriers; ++b) {
          const int at = x.before[size_t(use)] - b;
          if (at < 0 || x.barriers[size_t(at)] < x.of(d.producer, i)) {
            fail(d);
            break;
          }
          needed_[size_t(line[size_t(x.barriers[size_t(at)])].place)] = true;
        }
      }
    }
  }

  constexpr void require_waits(int iterations) {
    const List<LineElement> line = line_of(iterations);
    const Index x = index_of(line, iterations);
    for (int domain = 0; domain < target_.domain_count; ++domain) {
      if (target_.domains[domain].id != Counter::phase) require_waits(domain, line, x);
    }
  }
  constexpr void require_waits(int domain, const List<LineElement>& line, const Index& x) {
    const Counter counter = target_.domains[domain].id;
    List<int> issued(line.size() + 1, 0);  // ticks before each element
    for (int e = 0; e < int(line.size()); ++e) {
      issued[size_t(e + 1)] = issued[size_t(e)] + ticks_at(line, e, counter);
    }
    for (const SyncDep& d : deps_) {
      const OpNode& producer = body_.ops[size_t(d.producer)];
      if (target_.counter_of(producer.op.role) != counter) continue;
      const int own = counts_groups(counter) ? 1 : producer.ticks;
      for (int i = 0; i + d.distance < x.iterations; ++i) {
        const int p = x.of(d.producer, i), use = x.of(d.consumer, i + d.distance);
        const int where = d.barriers == 0 ? use : x.barriers[size_t(x.before[size_t(use)] - d.barriers)];
        const int behind = issued[size_t(where)] - issued[size_t(p)] - own;
        if (where <= p || behind < 0) fail(d);
        int& need = need_[size_t(domain)][size_t(line[size_t(where)].place)];
        if (behind < need) need = behind;
      }
    }
  }

  constexpr Counter counter_at(const List<LineElement>& line, int e) const {
    const int op = line[size_t(e)].op;
    return op < 0 ? Counter::none : target_.counter_of(body_.ops[size_t(op)].op.role);
  }
  // A group ends with the last of its ops in a kernel iteration. Copies may have other ops between them: a group that
  // ended where the next op happens to be none of its own would be two in the kernel and one in the prologue, and the
  // wait that serves both would be too strong for the kernel. Groups of wgmmas are not interrupted.
  constexpr bool joins_next(const List<LineElement>& line, int e) const {
    const LineElement& x = line[size_t(e)];
    const Counter counter = counter_at(line, e);
    for (int next = e + 1; next < int(line.size()) && line[size_t(next)].line == x.line; ++next) {
      if (counter_at(line, next) == counter) {
        if (first_need_[size_t(x.op)] == first_need_[size_t(line[size_t(next)].op)]) return true;
      }
      if (counter != Counter::copy_group) return false;
    }
    return false;
  }
  constexpr int ticks_at(const List<LineElement>& line, int e, Counter counter) const {
    if (counter_at(line, e) != counter) return 0;
    if (counts_groups(counter)) return joins_next(line, e) ? 0 : 1;
    return body_.ops[size_t(line[size_t(e)].op)].ticks;
  }

  static constexpr OpDesc wait_for(Counter c, int n) {
    switch (c) {
      case Counter::vm:
        return OpDesc::wait_vm(n);
      case Counter::lgkm:
        return OpDesc::wait_lgkm(n);
      case Counter::copy_group:
        return OpDesc::wait_copy(n);
      default:
        return OpDesc::wait_wgmma(n);
    }
  }

  // The elements of a phase; of the kernel one iteration. `base`: from where on iterations are counted.
  constexpr void emit(const List<LineElement>& line, Phase phase, int base, InFlight& in_flight, EntryList& out) {
    const auto push = [&](const OpDesc& op, int source, int shift) {
      out.push_back({op, int(out.size()), phase, false, int16_t(source), int16_t(shift)});
    };
    for (int e = 0; e < int(line.size()); ++e) {
      const LineElement& x = line[size_t(e)];
      if (x.phase != phase || (phase == Phase::kernel && x.line != peeled())) continue;
      for (int d = 0; d < target_.domain_count; ++d) {
        const Counter counter = target_.domains[d].id;
        const int need = need_[size_t(d)][size_t(x.place)];
        if (need >= in_flight.count[int(counter)]) continue;  // also where nothing is needed
        const int count = need < target_.domains[d].max_value ? need : target_.domains[d].max_value;
        push(wait_for(counter, count), -1, 0);
        in_flight.count[int(counter)] = count;
      }
      if (x.op < 0) {
        push(OpDesc::barrier(), -1, 0);
        continue;
      }
      // A kernel iteration k of a run belongs to iteration k + peeled() - stage of the body.
      const int shift = phase == Phase::kernel ? peeled() - order_.stage[size_t(x.op)] : x.iteration - base;
      const Counter counter = counter_at(line, e);
      const bool first = e == 0 || counter_at(line, e - 1) != counter;
      if (counter == Counter::wgmma_group && (first || !joins_next(line, e - 1))) push(OpDesc::wgmma_fence(), -1, 0);
      push(body_.ops[size_t(x.op)].op, x.op, shift);
      for (int d = 0; d < target_.domain_count; ++d) {
        int& count = in_flight.count[int(target_.domains[d].id)];
        count += ticks_at(line, e, target_.domains[d].id);
        if (count > kUnbounded) count = kUnbounded;
      }
      if (!counts_groups(counter) || joins_next(line, e)) continue;
      push(counter == Counter::copy_group ? OpDesc::commit_copy() : OpDesc::commit_wgmma(), -1, 0);
    }
  }
  // The result of an asynchronous MMA may be touched only when all are retired.
  constexpr void drain(EntryList& out, Phase phase, const InFlight& in_flight) const {
    if (in_flight.count[int(Counter::wgmma_group)] > 0) append(out, OpDesc::wait_wgmma(0), phase);
  }

  constexpr void fail(const SyncDep& d) {
    if (!error_.ok()) return;
    error_ = {.code = d.kind == DepKind::flow ? Code::hazard_raw : Code::hazard_war,
              .a = body_.ops[size_t(d.producer)].name,
              .b = body_.ops[size_t(d.consumer)].name,
              .need = d.barriers};
  }

  const LoopBody& body_;
  const Target& target_;
  const KernelOrder& order_;
  const List<SyncDep>& deps_;
  List<int> items_;       // one kernel iteration: ops in order, -1 for a barrier
  List<int> first_need_;  // for each op the first place where it must be complete
  List<char> needed_;     // for each place whether a barrier is needed there
  List<List<int>> need_;  // for each counter and place how much may be in flight
  bool marking_ = false;
  Diagnostic error_ = {};
};

}  // namespace warpwright::schedule

// Where waves must wait and meet. A dependence through shared memory needs three things between its ends: the wave that
// made the first access knows that it is complete (a wait), the waves meet (barriers), and only then the second access
// is issued. What copies of a warp of their own fill and free is left to the barriers of their rings (phase.h). How
// many barriers depends on the stagger: a role that runs `offset` barriers behind another passes each of its accesses
// that much later, so a dependence from the trailing to the leading role needs one meeting more, and one from the
// leading to the trailing role one less.
#pragma once
#include "warpwright/schedule/depth.h"
#include "warpwright/schedule/trace.h"

namespace warpwright::schedule {

struct SyncDep {
  int producer = 0, consumer = 0;
  int distance = 0;
  int barriers = 0;  // meetings between completion and the second access
  DepKind kind = DepKind::flow;
};

constexpr List<SyncDep> sync_deps(const LoopBody& body, const List<BufferDepth>& depths, const Target& target,
                                  int roles, int stagger) {
  List<SyncDep> deps;
  const auto meetings = [&](const Access& first, const Access& second) {
    int most = 0;
    for (int a = 0; a < roles; ++a) {
      for (int b = 0; b < roles; ++b) {
        if (!first.made_by(a) || !second.made_by(b)) continue;
        const int need = 1 + (a > 0 ? stagger : 0) - (b > 0 ? stagger : 0);
        if (need > most) most = need;
      }
    }
    return most;
  };
  const auto add = [&deps](const SyncDep& d) {
    for (SyncDep& old : deps) {
      if (old.producer == d.producer && old.consumer == d.consumer && old.distance == d.distance &&
          old.kind == d.kind) {
        if (d.barriers > old.barriers) old.barriers = d.barriers;
        return;
      }
    }
    deps.push_back(d);
  };
  const int per_iteration = body.tiles_per_iteration;
  for (int p = 0; p < body.size(); ++p) {
    const Counter counter = target.counter_of(body.ops[size_t(p)].op.role);
    if (counter == Counter::phase) continue;
    for (const Access& first : body.ops[size_t(p)].accesses) {
      const bool shared = first.space == Space::shared;
      if (!shared && counter == Counter::none) continue;
      // Only an MMA that runs on while its wave continues reads registers without the wave knowing when.
      const bool reads_late = shared || counter == Counter::wgmma_group;
      const int depth = depth_of(depths, first);
      for (int c = 0; c < body.size(); ++c) {
        if (c == p) continue;
        for (const Access& second : body.ops[size_t(c)].accesses) {
          int distance = 0;
          if (!first.overlaps(second)) continue;
          const Counter follower = target.counter_of(body.ops[size_t(c)].op.role);
          if (follower == Counter::phase) continue;
          if (first.space == Space::accumulator) {
            // MMAs of one accumulator keep their order themselves.
            const bool follows = update_distance(p, first.tile, c, second.tile, per_iteration, distance);
            if (counter != follower && follows) add({p, c, distance, 0, DepKind::flow});
            continue;
          }
          if (first.writes() && second.reads() && tile_distance(first.tile, second.tile, per_iteration, distance)) {
            add({p, c, distance, shared ? meetings(first, second) : 0, DepKind::flow});
          }
          if (reads_late && !first.writes() && second.writes() &&
              tile_distance(first.tile + depth, second.tile, per_iteration, distance)) {
            add({p, c, distance, shared ? meetings(first, second) : 0, DepKind::anti});
          }
        }
      }
    }
  }
  return deps;
}

// The same from edges alone, for a body that declares them instead of accesses: a consumer waits for what an
// asynchronous op makes.
constexpr List<SyncDep> edge_deps(const LoopBody& body, const Target& target) {
  List<SyncDep> deps;
  for (const DepEdge& e : body.edges) {
    if (e.kind != DepKind::flow || e.producer == e.consumer) continue;
    const Counter counter = target.counter_of(body.ops[size_t(e.producer)].op.role);
    if (counter == Counter::none || counter == target.counter_of(body.ops[size_t(e.consumer)].op.role)) continue;
    deps.push_back({e.producer, e.consumer, e.distance, 0, e.kind});
  }
  return deps;
}

// The ops of one kernel iteration in order of issue. Op i belongs to the iteration of the body that is stage[i] kernel
// iterations old.
struct KernelOrder {
  int stages = 1;
  List<int> order = {};
  List<int> stage = {};
  List<int> row = {};       // start modulo the interval
  List<int> position = {};  // in order
  constexpr int size() const { return int(order.size()); }
};

// The kernel begins at the op that leaves the fewest stages to peel.
constexpr KernelOrder kernel_order(const List<int>& start, int interval) {
  KernelOrder k;
  const int n = int(start.size());
  int best_turn = 0, best_stages = 1 << 28;
  for (int j = 0; j < n; ++j) {
    const int turn = (interval - start[size_t(j)] % interval) % interval;
    int first = 1 << 28, last = 0;
    for (const int t : start) {
      const int stage = (t + turn) / interval;
      if (stage < first) first = stage;
      if (stage > last) last = stage;
    }
    if (last - first + 1 < best_stages) best_stages = last - first + 1, best_turn = turn;
  }
  k.stages = n == 0 ? 1 : best_stages;
  int first = 1 << 28;
  for (const int t : start) {
    k.stage.push_back((t + best_turn) / interval);
    k.row.push_back((t + best_turn) % interval);
    if (k.stage.back() < first) first = k.stage.back();
  }
  for (int& s : k.stage) s -= first;
  for (int i = 0; i < n; ++i) {
    // Insertion by row; ops that start in the same cycle keep the order of declaration.
    k.order.push_back(i);
    for (int at = i; at > 0 && k.row[size_t(k.order[size_t(at - 1)])] > k.row[size_t(i)]; --at) {
      k.order[size_t(at)] = k.order[size_t(at - 1)];
      k.order[size_t(at - 1)] = i;
    }
  }
  k.position.resize(size_t(n));
  for (int x = 0; x < n; ++x) k.position[size_t(k.order[size_t(x)])] = x;
  return k;
}

// Places for barriers, as positions on the endless line of issue: position x is directly before the x-th op.
struct BarrierInterval {
  int first = 0, last = 0;
  int barriers = 1;
};

constexpr List<BarrierInterval> barrier_intervals(const LoopBody& body, const KernelOrder& k, int interval,
                                                  const List<SyncDep>& deps) {
  List<BarrierInterval> out;
  const int n = k.size();
  for (const SyncDep& d : deps) {
    if (d.barriers == 0) continue;
    const int issue = k.stage[size_t(d.producer)] * n + k.position[size_t(d.producer)];
    const int use = (k.stage[size_t(d.consumer)] + d.distance) * n + k.position[size_t(d.consumer)];
    int first = issue + 1;
    // Not before the access is complete: there the wait costs nothing. The use is late enough by construction.
    const int done =
        k.stage[size_t(d.producer)] * interval + k.row[size_t(d.producer)] + body.ops[size_t(d.producer)].latency;
    while (first < use && first / n * interval + k.row[size_t(k.order[size_t(first % n)])] < done) ++first;
    out.push_back({first, use, d.barriers});
  }
  return out;
}

namespace detail {
constexpr int hits(const List<int>& places, const BarrierInterval& i, int n) {
  int count = 0;
  // Positions begin at 1 and places are below n, so n more keeps the divisions away from negative numbers.
  for (const int at : places) count += (i.last - at + n) / n - (i.first - 1 - at + n) / n;
  return count;
}

// Without the intervals that another one inside them, with no fewer barriers, already serves.
constexpr List<BarrierInterval> essential_intervals(const List<BarrierInterval>& all, int n) {
  List<BarrierInterval> out;
  for (size_t i = 0; i < all.size(); ++i) {
    bool served = false;
    for (size_t j = 0; j < all.size() && !served; ++j) {
      if (i == j || all[j].barriers < all[i].barriers) continue;
      // The latest turn of j that ends in i.
      const int turn = (all[i].last - all[j].last + (n << 8)) / n - (1 << 8);
      if (all[j].first + turn * n < all[i].first) continue;
      const bool equal = all[j].last - all[j].first == all[i].last - all[i].first &&
                         all[j].first + turn * n == all[i].first && all[j].barriers == all[i].barriers;
      served = !equal || j < i;
    }
    if (!served) out.push_back(all[i]);
  }
  return out;
}
}  // namespace detail

namespace detail {

// The places in `fixed` and, on the way around the circle from the first of them, the right end of every interval that
// is still short of barriers: on a line the best choice.
constexpr List<int> complete_places(const List<int>& fixed, const List<BarrierInterval>& intervals,
                                    const List<int>& by_end, int n) {
  List<int> places = fixed;
  const int cut = fixed.front();
  int begin = 0;
  while (begin < int(by_end.size()) && intervals[size_t(by_end[size_t(begin)])].last % n <= cut) ++begin;
  for (int step = 0; step < int(by_end.size()); ++step) {
    const BarrierInterval& i = intervals[size_t(by_end[size_t(begin + step) % by_end.size()])];
    while (hits(places, i, n) < i.barriers) places.push_back(i.last % n);
  }
  return places;
}

}  // namespace detail

// The fewest places, repeated every n positions, that give each interval its one or two barriers. A place may move
// right to the next end of an interval, and the shortest interval holds one, so its candidates are few; the circle is
// cut there. An interval of two barriers that contains the cut may have its second one before it, so that one is tried
// too.
constexpr List<int> stab_intervals(const List<BarrierInterval>& all, int n) {
  const List<BarrierInterval> intervals = detail::essential_intervals(all, n);
  if (intervals.empty()) return {};
  List<int> by_end, ends;
  int shortest = 0, most = 1;
  for (int end = 0; end < n; ++end) {
    const size_t before = by_end.size();
    for (int i = 0; i < int(intervals.size()); ++i)
      if (intervals[size_t(i)].last % n == end) by_end.push_back(i);
    if (by_end.size() > before) ends.push_back(end);
  }
  for (int i = 0; i < int(intervals.size()); ++i) {
    const BarrierInterval &a = intervals[size_t(i)], &b = intervals[size_t(shortest)];
    if (a.last - a.first < b.last - b.first) shortest = i;
    if (a.barriers > most) most = a.barriers;
  }
  List<int> best;
  const auto keep = [&best](const List<int>& places) {
    if (best.empty() || places.size() < best.size()) best = places;
  };
  BarrierInterval seed = intervals[size_t(shortest)];
  seed.barriers = 1;
  // From the right: a late barrier waits for less.
  for (int e = int(ends.size()) - 1; e >= 0; --e) {
    const int cut = ends[size_t(e)];
    if (detail::hits({cut}, seed, n) == 0) continue;
    keep(detail::complete_places({cut}, intervals, by_end, n));
    for (int f = 0; most > 1 && f < int(ends.size()); ++f) {
      keep(detail::complete_places({cut, ends[size_t(f)]}, intervals, by_end, n));
    }
  }
  return best;
}

// Moves barriers, without adding any, until the shortest time between two is as long as can be: staggered roles work in
// turns from barrier to barrier, and the turns of one are the other's.
constexpr List<int> spread_barriers(List<int> places, const List<BarrierInterval>& all, const KernelOrder& k,
                                    int interval) {
  const int n = k.size(), count = int(places.size());
  const List<BarrierInterval> intervals = detail::essential_intervals(all, n);
  List<int> time;
  for (const int op : k.order) time.push_back(k.row[size_t(op)]);
  // From the nearest of the barriers but one to a position, and between those barriers.
  const auto nearest = [&](int position, int without) {
    int least = interval;
    for (int i = 0; i < count; ++i) {
      if (i == without) continue;
      const int apart = time[size_t(places[size_t(i)])] - time[size_t(position)];
      const int ahead = apart < 0 ? apart + interval : apart;
      const int back = ahead == 0 ? 0 : interval - ahead;
      const int gap = ahead < back ? ahead : back;
      if (gap < least) least = gap;
    }
    return least;
  };
  constexpr int kPasses = 3;  // what one barrier gains another may lose, so the passes have an end
  bool moved = true;
  for (int pass = 0; moved && pass < kPasses; ++pass) {
    moved = false;
    for (int i = 0; i < count; ++i) {
      const int from = places[size_t(i)];
      int to = from, best = nearest(from, i);
      for (int x = 0; x < n; ++x) {
        const int gap = nearest(x, i);
        if (gap <= best) continue;
        places[size_t(i)] = x;
        bool serves = true;
        for (const BarrierInterval& v : intervals) serves = serves && detail::hits(places, v, n) >= v.barriers;
        if (serves) best = gap, to = x;
      }
      places[size_t(i)] = to;
      moved = moved || to != from;
    }
  }
  return places;
}

}  // namespace warpwright::schedule

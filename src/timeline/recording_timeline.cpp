// Bars, arrows and phases from recorded events.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "timeline/recording.h"

namespace warpwright::timeline {
namespace {

using record::Kind;
using Warp = RecordedTimes::Warp;

// Clocks of two SMs are compared to a few tens of nanoseconds.
constexpr double kSkew = 100;

struct Arrival {
  double time = 0;
  int weight = 0;  // threads
  const Warp* by = nullptr;
  const RecordedEvent* event = nullptr;
  int span = -1;  // drawn when it completes a phase
};

struct Load {
  const Warp* by = nullptr;
  const RecordedEvent* event = nullptr;
  int phase = -1;  // the phase of its barrier
  int span = -1;
};

// A phase of a barrier: who completed it, what was loaded meanwhile, and when a thread saw that it was complete.
struct Phase {
  double time = 0;  // the time of the last arrival
  size_t completing = 0;
  std::vector<Load*> loads;
  double seen = -1;    // the first wait that it let go on
  double landed = -1;  // the same, if that wait was blocked until then
};

struct Barrier {
  std::string name;
  int threads = 0;  // threads that complete a phase
  std::vector<Arrival> arrivals;
  std::vector<Phase> phases;

  void find_phases() {
    std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
      return std::tuple(a.time, a.by->cta, a.by->warp) < std::tuple(b.time, b.by->cta, b.by->warp);
    });
    int have = 0;
    for (size_t i = 0; i < arrivals.size(); ++i) {
      have += arrivals[i].weight;
      if (have < threads) continue;
      phases.push_back({arrivals[i].time, i, {}, -1, -1});
      have -= threads;
    }
  }
  // The last phase of a parity that was complete, or about to be loaded, at a time; -1: the one before the first.
  int phase_at(uint32_t parity, double time) const {
    int found = -1;
    for (size_t p = parity; p < phases.size() && phases[p].time <= time + kSkew; p += 2) found = int(p);
    return found;
  }
};

class Timeline {
 public:
  Timeline(const BlockPlan& plan, const RecordedTimes& times, double rate, int most_ctas)
      : plan_(plan), passed_(kPassedCycles * rate) {
    const int all = times.warps.empty() ? 0 : times.warps.back().cta + 1;
    int shown = most_ctas <= 0 ? all : std::min(all, (most_ctas + plan.cluster - 1) / plan.cluster * plan.cluster);
    out_.us = times.end / 1e3;
    out_.ctas = all;
    out_.shown = shown;
    for (const Warp& w : times.warps) {
      out_.lost += w.lost;
      if (w.cta >= shown) continue;
      warps_.push_back(&w);
      // What a warp did after its last recorded event is not known, so neither are the phases it took part in.
      if (w.lost > 0) horizon_ = std::min(horizon_, w.events.empty() ? 0. : w.events.back().begin);
    }
    for (const Warp* w : warps_) collect(*w);
    for (auto& [key, barrier] : barriers_) barrier.find_phases();
    for (auto& [key, barrier] : together_) barrier.find_phases();
    for (Load& load : loads_) place_load(load);
    for (const Warp* w : warps_) see_phases(*w);
    for (Load& load : loads_) draw_load(load);
    for (const Warp* w : warps_) draw_groups(*w);
    for (const Warp* w : warps_) draw(*w);
    add_phases();
  }

  RecordedTimeline take() { return std::move(out_); }

 private:
  using Key = std::pair<int, uint32_t>;  // CTA and offset, or a number

  bool blocked(const RecordedEvent& e) const { return e.end - e.begin > passed_; }

  std::string track(const Warp& w) const {
    const char* role = "idle";
    for (int i = 0; i < plan_.role_count; ++i) {
      if (plan_.roles[i].holds_warp(w.warp)) role = plan_.roles[i].name;
    }
    return fmt::format("cta {} / {} / warp {}", w.cta, role, w.warp);
  }
  int span(const std::string& track, std::string name, double begin, double end, const std::string& at,
           bool waiting = false, std::string by = {}) {
    out_.result.spans.push_back({track, std::move(name), begin / 1e3, end / 1e3, at, waiting, std::move(by)});
    return int(out_.result.spans.size()) - 1;
  }
  int engine_span(const Warp& by, const char* engine, std::string name, double begin, double end,
                  const std::string& at) {
    return span(fmt::format("cta {} / {}", by.cta, engine), std::move(name), begin, std::max(begin, end), at, false,
                track(by));
  }
  void edge(int from, int to) {
    if (from >= 0 && to >= 0) out_.result.edges.push_back({from, to});
  }

  // Nothing: the plan has no barrier there.
  Barrier* barrier_at(int cta, uint32_t offset) {
    for (int i = 0; i < plan_.barrier_count; ++i) {
      const BarrierSpec& b = plan_.barriers[i];
      if (offset < b.offset || offset >= b.offset + 8 * uint32_t(b.stages)) continue;
      Barrier& barrier = barriers_[{cta, offset}];
      if (barrier.name.empty()) {
        barrier.name = b.stages > 1 ? fmt::format("{}[{}]", b.name, (offset - b.offset) / 8) : std::string(b.name);
        barrier.threads = b.count;
      }
      return &barrier;
    }
    return nullptr;
  }
  std::string region_at(uint32_t offset) const {
    for (int i = 0; i < plan_.region_count; ++i) {
      const RegionSpec& r = plan_.regions[i];
      if (offset < r.offset || offset >= r.offset + r.bytes()) continue;
      const uint32_t in = offset - r.offset;
      return r.stages > 1 ? fmt::format("{}[{}]+{}", r.name, in / r.stage_bytes, in % r.stage_bytes)
                          : fmt::format("{}+{}", r.name, in);
    }
    return fmt::format("shared offset {}", offset);
  }
  // Barriers of a block or a cluster, at which waiting is arriving.
  Barrier& together(const Warp& w, Kind kind, uint32_t id) {
    const bool cluster = kind == Kind::wait_cluster || kind == Kind::arrive_cluster;
    const int group = cluster ? w.cta / plan_.cluster : w.cta;
    Barrier& barrier = together_[{group, cluster ? ~0u : id}];
    if (!barrier.name.empty()) return barrier;
    barrier.name = cluster ? "the cluster barrier" : id == 0 ? "__syncthreads" : fmt::format("named barrier {}", id);
    barrier.threads = cluster ? plan_.threads() * plan_.cluster : plan_.threads();
    for (int i = 0; i < plan_.named_count && !cluster; ++i) {
      if (plan_.named[i].id != int(id)) continue;
      barrier.name = fmt::format("named barrier {} ({})", id, plan_.named[i].name);
      barrier.threads = plan_.named[i].threads;
    }
    return barrier;
  }

  void collect(const Warp& w) {
    for (const RecordedEvent& e : w.events) {
      if (e.begin > horizon_) break;
      const auto arrives = [&](Barrier* b, int weight) {
        if (b != nullptr) b->arrivals.push_back({e.begin, weight, &w, &e, -1});
      };
      switch (e.kind) {
        case Kind::arrive:
        case Kind::arrive_expect:
          arrives(barrier_at(w.cta, e.object), int(e.detail));
          break;
        case Kind::arrive_remote:
          arrives(barrier_at(w.cta - w.cta % plan_.cluster + int(e.detail), e.object), 1);
          break;
        case Kind::arrive_named:
        case Kind::wait_named:
          arrives(&together(w, e.kind, e.object), 32);
          break;
        case Kind::arrive_cluster:
          arrives(&together(w, e.kind, 0), int(e.detail));
          break;
        case Kind::load:
        case Kind::load_multicast:
          loads_.push_back({&w, &e, -1, -1});
          break;
        default:
          break;
      }
    }
  }

  // The phase whose bytes were announced last before the load.
  void place_load(Load& load) {
    Barrier* own = barrier_at(load.by->cta, load.event->barrier);
    if (own == nullptr) return;
    for (size_t p = 0; p < own->phases.size() && own->phases[p].time <= load.event->begin; ++p) load.phase = int(p);
    if (load.phase >= 0) own->phases[size_t(load.phase)].loads.push_back(&load);
  }

  void see_phases(const Warp& w) {
    for (const RecordedEvent& e : w.events) {
      if (e.kind != Kind::wait_mbarrier || e.begin > horizon_) continue;
      Barrier* b = barrier_at(w.cta, e.object);
      const int p = b == nullptr ? -1 : b->phase_at(e.detail, e.end);
      if (p < 0) continue;
      Phase& phase = b->phases[size_t(p)];
      if (phase.seen < 0 || e.end < phase.seen) phase.seen = e.end;
      if (blocked(e) && (phase.landed < 0 || e.end < phase.landed)) phase.landed = e.end;
    }
  }

  void draw_load(Load& load) {
    double end = load.event->begin;
    if (load.phase >= 0) end = barrier_at(load.by->cta, load.event->barrier)->phases[size_t(load.phase)].landed;
    load.span = engine_span(*load.by, "TMA", region_at(load.event->object), load.event->begin, end, load.event->at);
  }

  // Groups of asynchronous operations of a warp: those of wgmma, which its warpgroup issues together, and bulk stores.
  void draw_groups(const Warp& w) {
    const bool leads = w.warp % 4 == 0;
    double before = w.begin;  // the end of what the warp did last: from there on it issued
    double free = 0;          // when the group before was done
    std::vector<std::pair<double, const RecordedEvent*>> multiplies;
    std::vector<std::vector<const RecordedEvent*>> stores(1);
    size_t multiplied = 0, stored = 0;
    for (const RecordedEvent& e : w.events) {
      if (e.kind == Kind::commit_wgmma) {
        multiplies.emplace_back(before, &e);
      } else if (e.kind == Kind::wait_wgmma) {
        for (; multiplied + e.detail < multiplies.size(); ++multiplied) {
          const auto [issued, commit] = multiplies[multiplied];
          if (leads) {
            groups_[{w.cta, uint32_t(w.warp / 4)}].push_back(engine_span(w, "tensor core",
                                                                         fmt::format("wgmma group wg{}", w.warp / 4),
                                                                         std::max(issued, free), e.end, commit->at));
          }
          free = e.end;
        }
        retired_[&e] = int(multiplied) - 1;
      } else if (e.kind == Kind::store) {
        stores.back().push_back(&e);
      } else if (e.kind == Kind::commit_bulk) {
        stores.emplace_back();
      } else if (e.kind == Kind::wait_bulk) {
        for (; stored + e.detail + 1 < stores.size(); ++stored) {
          for (const RecordedEvent* s : stores[stored]) {
            stored_[&e] = engine_span(w, "TMA store", region_at(s->object), s->begin, e.end, s->at);
          }
        }
      }
      before = e.end;
    }
  }

  int arrival_span(const Barrier& b, Arrival& a) {
    if (a.span < 0) a.span = span(track(*a.by), "arrive " + b.name, a.time, a.time, a.event->at);
    return a.span;
  }
  // What completed a phase: the load that was issued last, or the last arrival. Not what the waiting warp did itself.
  int releaser(Barrier& b, size_t phase, const Warp& waiting) {
    Phase& p = b.phases[phase];
    if (!p.loads.empty()) return p.loads.back()->span;
    Arrival& a = b.arrivals[p.completing];
    return a.by == &waiting ? -1 : arrival_span(b, a);
  }

  void draw(const Warp& w) {
    const std::string lane = track(w);
    span(lane, "start", w.begin, w.begin, "");
    for (const RecordedEvent& e : w.events) {
      if (!blocked(e)) continue;
      const auto wait = [&](const std::string& what) { return span(lane, "wait " + what, e.begin, e.end, e.at, true); };
      switch (e.kind) {
        case Kind::wait_mbarrier: {
          Barrier* b = barrier_at(w.cta, e.object);
          if (b == nullptr) {
            wait(fmt::format("shared offset {}", e.object));
            break;
          }
          const int p = e.begin > horizon_ ? -1 : b->phase_at(e.detail, e.end);
          const int s = wait(p < 0 ? b->name : fmt::format("{} phase {}", b->name, p));
          if (p >= 0) edge(releaser(*b, size_t(p), w), s);
          break;
        }
        case Kind::wait_named:
        case Kind::wait_cluster: {
          Barrier& b = together(w, e.kind, e.object);
          const int s = wait(b.name);
          // The phase that ends in this wait: at a barrier of the block the waiting warps arrive when the wait begins.
          int found = -1;
          for (size_t p = 0; p < b.phases.size() && b.phases[p].time <= e.end + kSkew; ++p) found = int(p);
          if (found >= 0 && b.phases[size_t(found)].time + kSkew >= e.begin) edge(releaser(b, size_t(found), w), s);
          break;
        }
        case Kind::wait_wgmma: {
          const int s = wait("its wgmma groups (all four warps of a warpgroup issue them)");
          const auto group = groups_.find({w.cta, uint32_t(w.warp / 4)});
          const int last = retired_.at(&e);
          if (group != groups_.end() && last >= 0 && size_t(last) < group->second.size()) {
            edge(group->second[size_t(last)], s);
          }
          break;
        }
        case Kind::wait_bulk: {
          const int s = wait("its bulk groups");
          if (const auto store = stored_.find(&e); store != stored_.end()) edge(store->second, s);
          break;
        }
        case Kind::wait_grid:
          wait("the kernel ahead in the stream");
          break;
        default:
          break;
      }
    }
    span(lane, "exit", w.end, w.end, "");
  }

  void add_phases() {
    for (const auto& [key, b] : barriers_) {
      for (const Phase& p : b.phases) {
        const double time = p.loads.empty() ? p.time : p.seen;
        if (time >= 0) out_.result.phases.push_back({b.name, key.first, time / 1e3});
      }
    }
    std::sort(out_.result.phases.begin(), out_.result.phases.end(),
              [](const simulator::PhaseEnd& a, const simulator::PhaseEnd& b) {
                return std::tie(a.at_us, a.cta, a.barrier) < std::tie(b.at_us, b.cta, b.barrier);
              });
  }

  const BlockPlan& plan_;
  double passed_;
  double horizon_ = 1e300;
  RecordedTimeline out_;
  std::vector<const Warp*> warps_;
  std::vector<Load> loads_;
  std::map<Key, Barrier> barriers_;              // by CTA and offset
  std::map<Key, Barrier> together_;              // by CTA and id, or by cluster
  std::map<Key, std::vector<int>> groups_;       // by CTA and warpgroup: the spans of its groups
  std::map<const RecordedEvent*, int> retired_;  // by wait: the last group that it waited for
  std::map<const RecordedEvent*, int> stored_;   // by wait: the last store
};

}  // namespace

RecordedTimeline timeline_of(const BlockPlan& plan, const Recording& recording, double rate, int most_ctas) {
  const RecordedTimes times = times_of(plan, recording, rate);
  return Timeline(plan, times, rate, most_ctas).take();
}

}  // namespace warpwright::timeline

#include "timeline/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "sim/timing.h"

namespace warpwright::timeline {
namespace {

constexpr int kEngineOrder = 1000;

int64_t nanoseconds(double us) { return std::llround(us * 1e3); }

int number_after(const std::string& text, size_t at) {
  int value = 0;
  std::from_chars(text.data() + std::min(at, text.size()), text.data() + text.size(), value);
  return value;
}

constexpr const char* kWorkgroup = "workgroup ";

// "cta 3 / load / warp 4", "cta 3 / TMA" or "workgroup 3 / MFMA 0", as the simulator names tracks.
TimelineLane lane_of(const std::string& track) {
  constexpr const char* separator = " / ";
  TimelineLane lane;
  lane.cta = number_after(track, std::min(track.find(' '), track.size() - 1) + 1);
  const size_t first = track.find(separator);
  if (first == std::string::npos) return lane;
  const std::string rest = track.substr(first + 3);
  const size_t second = rest.find(separator);
  if (second == std::string::npos) {
    lane.group = lane.name = rest;
    if (rest.starts_with("MFMA ")) lane.group = "MFMA";  // one for each SIMD
    lane.engine = true;
    lane.order = kEngineOrder;
  } else {
    const std::string warp = rest.substr(second + 3);
    lane.group = rest.substr(0, second);
    lane.name = lane.group + " " + warp;
    lane.order = number_after(warp, std::strlen("warp "));
  }
  return lane;
}

struct Named {
  std::string ring, part;  // "input", "full"
  int slot = -1;
};

// "input.full[2]", "input.a[2]+0", "accum.full", "output[1]+0".
Named stage_of(const std::string& object) {
  Named n;
  const size_t end = object.find_first_of(".[");
  if (end == std::string::npos || object.find(' ') < end) return n;
  n.ring = object.substr(0, end);
  const size_t bracket = object.find('[');
  if (object[end] == '.') n.part = object.substr(end + 1, std::min(bracket, object.size()) - end - 1);
  if (bracket != std::string::npos) n.slot = number_after(object, bracket + 1);
  return n;
}

constexpr const char *kWait = "wait ", *kArrive = "arrive ";

std::string without_verb(const std::string& name) {
  for (const char* verb : {kWait, kArrive}) {
    if (name.starts_with(verb)) return name.substr(std::strlen(verb));
  }
  return name;
}

BarKind kind_of(const simulator::Span& s, const TimelineLane& lane) {
  if (lane.engine) return BarKind::engine;
  if (s.waiting) return BarKind::wait;
  return s.name.starts_with(kArrive) ? BarKind::arrive : BarKind::work;
}

class Builder {
 public:
  explicit Builder(const simulator::Result& result) : result_(result) {
    add_lanes();
    add_spans();
    join_waits();
    add_running();
    lay_out();
    add_arrows();
    add_rings();
    add_multipliers();
    follow_critical_path();
    m_.end = std::max(m_.end, nanoseconds(result.stats.predicted_us));
    if (!m_.bars.empty()) {
      const auto first = std::min_element(m_.bars.begin(), m_.bars.end(),
                                          [](const TimelineBar& a, const TimelineBar& b) { return a.begin < b.begin; });
      m_.begin = first->begin;
    }
  }

  TimelineModel take() { return std::move(m_); }

 private:
  void add_lanes() {
    std::map<std::tuple<int, int, std::string>, TimelineLane> found;
    std::map<std::string, std::tuple<int, int, std::string>> key_of;
    for (const simulator::Span& s : result_.spans) {
      if (key_of.count(s.track) != 0) continue;
      TimelineLane lane = lane_of(s.track);
      const auto key = std::tuple(lane.cta, lane.order, lane.name);
      if (s.track.starts_with(kWorkgroup)) m_.block = "workgroup";
      key_of.emplace(s.track, key);
      found.emplace(key, std::move(lane));
    }
    std::map<std::tuple<int, int, std::string>, int> index;
    for (auto& [key, lane] : found) {
      index[key] = int(m_.lanes.size());
      m_.lanes.push_back(std::move(lane));
    }
    for (const auto& [track, key] : key_of) lane_by_track_[track] = index.at(key);
  }

  void add_spans() {
    for (const simulator::Span& s : result_.spans) {
      bar_of_span_.push_back(int(m_.bars.size()));
      TimelineBar& bar = m_.bars.emplace_back();
      bar.lane = lane_by_track_.at(s.track);
      bar.kind = kind_of(s, m_.lanes[size_t(bar.lane)]);
      bar.name = s.name;
      bar.at = s.detail;
      bar.begin = nanoseconds(s.begin_us);
      bar.end = std::max(bar.begin, nanoseconds(s.end_us));
      const Named stage = stage_of(without_verb(s.name));
      bar.ring = stage.ring;
      bar.slot = stage.slot;
      m_.end = std::max(m_.end, bar.end);
      const auto by = lane_by_track_.find(s.by);
      bar.issuer = by == lane_by_track_.end() ? -1 : by->second;
    }
  }

  std::vector<std::vector<int>> by_time() const {
    std::vector<std::vector<int>> order(m_.lanes.size());
    for (size_t i = 0; i < m_.bars.size(); ++i) order[size_t(m_.bars[i].lane)].push_back(int(i));
    for (std::vector<int>& bars : order) {
      std::sort(bars.begin(), bars.end(), [&](int a, int b) {
        const TimelineBar &x = m_.bars[size_t(a)], &y = m_.bars[size_t(b)];
        return std::tuple(x.begin, x.end, a) < std::tuple(y.begin, y.end, b);
      });
    }
    return order;
  }

  // A thread that is woken and finds that it must wait on is one wait.
  void join_waits() {
    std::vector<int> joined(m_.bars.size(), -1);
    std::map<int, int> last;  // by lane
    for (size_t i = 0; i < m_.bars.size(); ++i) {
      TimelineBar& bar = m_.bars[i];
      if (bar.kind != BarKind::wait) {
        if (!m_.lanes[size_t(bar.lane)].engine) last.erase(bar.lane);
        continue;
      }
      const auto before = last.find(bar.lane);
      if (before != last.end()) {
        TimelineBar& first = m_.bars[size_t(before->second)];
        if (first.end == bar.begin && first.name == bar.name && first.at == bar.at) {
          first.end = bar.end;
          joined[i] = before->second;
          continue;
        }
      }
      last[bar.lane] = int(i);
    }
    std::vector<int> kept(m_.bars.size(), -1);
    std::vector<TimelineBar> bars;
    for (size_t i = 0; i < m_.bars.size(); ++i) {
      if (joined[i] >= 0) {
        kept[i] = kept[size_t(joined[i])];
        continue;
      }
      kept[i] = int(bars.size());
      bars.push_back(std::move(m_.bars[i]));
    }
    m_.bars = std::move(bars);
    for (int& b : bar_of_span_) b = kept[size_t(b)];
  }

  void add_running() {
    const std::vector<std::vector<int>> order = by_time();
    for (size_t lane = 0; lane < m_.lanes.size(); ++lane) {
      if (m_.lanes[lane].engine) continue;
      int64_t from = -1;
      for (int i : order[lane]) {
        const TimelineBar bar = m_.bars[size_t(i)];
        if (from >= 0 && bar.begin > from) {
          TimelineBar run;
          run.name = "run";
          run.at = "to " + bar.at;
          run.begin = from;
          run.end = bar.begin;
          run.lane = int(lane);
          m_.bars.push_back(std::move(run));
        }
        from = std::max(from, bar.end);
      }
    }
  }

  // Rows, then bars in the order of lanes and time.
  void lay_out() {
    const std::vector<std::vector<int>> bars_of = by_time();
    std::vector<int> order;
    in_lane_.resize(m_.lanes.size());
    for (size_t lane = 0; lane < m_.lanes.size(); ++lane) {
      std::vector<int64_t> row_ends;
      for (int i : bars_of[lane]) {
        TimelineBar& bar = m_.bars[size_t(i)];
        size_t row = 0;
        while (row < row_ends.size() && row_ends[row] > bar.begin) ++row;
        if (row == row_ends.size()) row_ends.push_back(0);
        row_ends[row] = bar.end;
        bar.row = int(row);
        in_lane_[lane].push_back(int(order.size()));
        order.push_back(i);
      }
      m_.lanes[lane].rows = std::max(1, int(row_ends.size()));
    }
    std::vector<TimelineBar> bars;
    std::vector<int> place(m_.bars.size());
    for (int i : order) {
      place[size_t(i)] = int(bars.size());
      bars.push_back(std::move(m_.bars[size_t(i)]));
    }
    m_.bars = std::move(bars);
    for (int& b : bar_of_span_) b = place[size_t(b)];
  }

  void add_arrows() {
    released_by_.assign(m_.bars.size(), -1);
    const int spans = int(bar_of_span_.size());
    for (const simulator::Edge& e : result_.edges) {
      if (e.from_span < 0 || e.to_span < 0 || e.from_span >= spans || e.to_span >= spans) continue;
      const int from = bar_of_span_[size_t(e.from_span)], to = bar_of_span_[size_t(e.to_span)];
      if (m_.bars[size_t(from)].end > m_.bars[size_t(to)].end) continue;
      released_by_[size_t(to)] = from;  // when waits are joined, the last release counts
    }
    for (size_t to = 0; to < m_.bars.size(); ++to) {
      if (released_by_[to] >= 0) m_.arrows.push_back({released_by_[to], int(to)});
    }
  }

  void add_rings() {
    struct Ring {
      TimelineCounter counter;
      std::map<int, bool> full;  // by slot
      int value = 0;
    };
    std::map<std::pair<int, std::string>, Ring> rings;
    std::vector<Named> stages;
    for (const simulator::PhaseEnd& p : result_.phases) {
      stages.push_back(stage_of(p.barrier));
      if (stages.back().part == "full") rings[{p.cta, stages.back().ring}].full[stages.back().slot] = false;
    }
    for (size_t i = 0; i < stages.size(); ++i) {
      const simulator::PhaseEnd& p = result_.phases[i];
      const auto ring = rings.find({p.cta, stages[i].ring});
      const bool fills = stages[i].part == "full";
      if (ring == rings.end() || (!fills && stages[i].part != "empty")) continue;
      const auto slot = ring->second.full.find(stages[i].slot);
      if (slot == ring->second.full.end() || slot->second == fills) continue;
      slot->second = fills;
      ring->second.value += fills ? 1 : -1;
      change(ring->second.counter, nanoseconds(p.at_us), ring->second.value);
    }
    for (auto& [key, ring] : rings) {
      ring.counter.cta = key.first;
      ring.counter.name = key.second + " stages full";
      ring.counter.most = int(ring.full.size());
      m_.counters.push_back(std::move(ring.counter));
    }
  }

  // How many of the units of a block that multiply are busy: one tensor core, or four MFMA units.
  void add_multipliers() {
    struct Units {
      int count = 0;
      std::vector<std::pair<int64_t, int>> steps;  // time, +1 or -1
    };
    std::map<std::pair<int, std::string>, Units> found;
    for (size_t lane = 0; lane < m_.lanes.size(); ++lane) {
      if (!m_.lanes[lane].multiplies()) continue;
      Units& units = found[{m_.lanes[lane].cta, m_.lanes[lane].group}];
      ++units.count;
      int64_t until = -1;
      for (int i : in_lane_[lane]) {
        const TimelineBar& bar = m_.bars[size_t(i)];
        if (bar.begin > until) {
          if (until >= 0) units.steps.emplace_back(until, -1);
          units.steps.emplace_back(bar.begin, 1);
        }
        until = std::max(until, bar.end);
      }
      if (until >= 0) units.steps.emplace_back(until, -1);
    }
    for (auto& [key, units] : found) {
      std::sort(units.steps.begin(), units.steps.end());
      TimelineCounter counter{key.first, key.second + (units.count > 1 ? " units busy" : " busy"), units.count, {}};
      int busy = 0;
      for (const auto& [time, by] : units.steps) change(counter, time, busy += by);
      m_.counters.push_back(std::move(counter));
    }
  }

  static void change(TimelineCounter& counter, int64_t time, int value) {
    if (!counter.changes.empty() && counter.changes.back().first >= time) {
      counter.changes.back().second = value;
    } else {
      counter.changes.emplace_back(time, value);
    }
  }

  // The bar of a lane in which it is at a time: the last that has begun.
  std::optional<int> at_time(int lane, int64_t time) const {
    const std::vector<int>& bars = in_lane_[size_t(lane)];
    const auto after =
        std::partition_point(bars.begin(), bars.end(), [&](int b) { return m_.bars[size_t(b)].begin < time; });
    if (after == bars.begin()) return {};
    return *std::prev(after);
  }

  // Backwards from the bar that ends last: a wait leads to what released it, an operation of an engine to the one it
  // queued behind or to the warp that issued it, anything else to what its warp did before.
  void follow_critical_path() {
    if (m_.bars.empty()) return;
    int bar = 0;
    for (size_t i = 0; i < m_.bars.size(); ++i) {
      if (m_.bars[i].end > m_.bars[size_t(bar)].end) bar = int(i);
    }
    int64_t time = m_.bars[size_t(bar)].end;
    for (size_t guard = 0; guard < 4 * m_.bars.size() && time > 0; ++guard) {
      const TimelineBar& b = m_.bars[size_t(bar)];
      const int releaser = released_by_[size_t(bar)];
      if (releaser >= 0 && m_.bars[size_t(releaser)].end > b.begin) {
        const int64_t released = std::min(time, m_.bars[size_t(releaser)].end);
        step(bar, released, time);
        time = released;
        bar = releaser;
        continue;
      }
      step(bar, b.begin, time);
      time = std::min(time, b.begin);
      std::optional<int> next;
      if (b.kind == BarKind::engine) {
        for (int i : in_lane_[size_t(b.lane)]) {
          const TimelineBar& other = m_.bars[size_t(i)];
          if (other.end == b.begin && other.begin < b.begin) next = i;
        }
        if (!next && b.issuer >= 0) next = at_time(b.issuer, time);
      } else {
        next = at_time(b.lane, time);
      }
      if (!next) break;
      bar = *next;
    }
    std::reverse(m_.critical.begin(), m_.critical.end());
  }

  void step(int bar, int64_t begin, int64_t end) {
    if (end > begin) m_.critical.push_back({bar, begin, end});
  }

  const simulator::Result& result_;
  TimelineModel m_;
  std::map<std::string, int> lane_by_track_;
  std::vector<int> bar_of_span_, released_by_;
  std::vector<std::vector<int>> in_lane_;
};

}  // namespace

const char* word_of(BarKind kind) {
  switch (kind) {
    case BarKind::run:
      return "run";
    case BarKind::wait:
      return "wait";
    case BarKind::arrive:
      return "arrive";
    case BarKind::engine:
      return "engine";
    case BarKind::work:
      return "work";
  }
  return "";
}

uint64_t TimelineModel::recorded() const {
  return uint64_t(std::count_if(bars.begin(), bars.end(), [](const TimelineBar& b) { return b.kind != BarKind::run; }));
}

std::string object_of(const TimelineBar& bar) {
  const std::string object = without_verb(bar.name);
  const size_t bracket = object.find('['), space = object.find(' ');
  if (bracket < space) return object.substr(0, bracket);
  for (const char* end : {" phase ", " (all "}) {
    if (const size_t at = object.find(end); at != std::string::npos) return object.substr(0, at);
  }
  return object;
}

TimelineModel model_of(const simulator::Result& result) { return Builder(result).take(); }

void leave_out_launch(TimelineModel& model, const simulator::Stats& stats, Arch arch) {
  if (stats.predicted_cycles == 0) return;
  const double cycles = simulator::ChipTiming::of(arch).launch;
  int64_t ns = nanoseconds(stats.predicted_us * cycles / double(stats.predicted_cycles));
  for (const TimelineBar& b : model.bars) ns = std::min(ns, b.begin);
  for (TimelineBar& b : model.bars) {
    b.begin -= ns;
    b.end -= ns;
  }
  for (TimelineCounter& c : model.counters) {
    for (auto& [time, value] : c.changes) time -= ns;
  }
  for (TimelineStep& s : model.critical) {
    s.begin -= ns;
    s.end -= ns;
  }
  model.begin -= ns;
  model.end -= ns;
}

}  // namespace warpwright::timeline

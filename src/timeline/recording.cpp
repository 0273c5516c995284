#include "timeline/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace warpwright::timeline {
namespace {

using record::Kind;

// A step of the timer that all SMs share, by the clock of one SM.
struct Tick {
  uint64_t ns = 0, clock = 0;
};

std::map<uint32_t, std::vector<Tick>> ticks_by_sm(const Recording& recording) {
  std::map<uint32_t, std::vector<Tick>> ticks;
  for (const record::Warp& w : recording.warps) {
    if (w.written != 0) ticks[w.sm].push_back({w.tick_ns, w.tick_clock});
  }
  return ticks;
}

// Counters begin long before the kernel: differences are taken before anything becomes floating point.
double apart(uint64_t to, uint64_t from) { return double(int64_t(to - from)); }

// A warp sees a step some cycles after it happened, so the tick that puts time 0 at the earliest cycle is nearest.
Tick nearest(const std::vector<Tick>& ticks, double rate) {
  Tick best = ticks.front();
  for (const Tick& t : ticks) {
    if (apart(t.ns, best.ns) > apart(t.clock, best.clock) * rate) best = t;
  }
  return best;
}

bool is_load(Kind kind) { return kind == Kind::load || kind == Kind::load_multicast; }
bool has_address(Kind kind) {
  switch (kind) {
    case Kind::wait_mbarrier:
    case Kind::arrive:
    case Kind::arrive_expect:
    case Kind::arrive_remote:
    case Kind::load:
    case Kind::load_multicast:
    case Kind::store:
      return true;
    default:
      return false;
  }
}

}  // namespace

RecordedTimes times_of(const BlockPlan& plan, const Recording& recording, double rate) {
  std::map<uint32_t, Tick> ticks;
  for (const auto& [sm, list] : ticks_by_sm(recording)) ticks[sm] = nearest(list, rate);
  if (ticks.empty()) return {};
  const uint64_t origin = ticks.begin()->second.ns;
  const auto ns_at = [&](const record::Warp& w, uint64_t clock) {
    const Tick& tick = ticks.at(w.sm);
    return apart(tick.ns, origin) + apart(clock, tick.clock) * rate;
  };
  std::optional<double> zero;
  for (const record::Warp& w : recording.warps) {
    if (w.written == 0) continue;
    const double begin = ns_at(w, w.begin_clock);
    zero = std::min(zero.value_or(begin), begin);
  }
  const auto place = [&](const record::Warp& w, uint32_t at) {
    const auto name = recording.files.find(record::file_of(at, w.file));
    return fmt::format("{}:{}", name == recording.files.end() ? "?" : name->second, record::line_of(at));
  };

  RecordedTimes times;
  for (size_t i = 0; i < recording.warps.size(); ++i) {
    const record::Warp& w = recording.warps[i];
    if (w.written == 0) continue;
    RecordedTimes::Warp out;
    out.cta = int(i) / plan.warps;
    out.warp = int(i) % plan.warps;
    out.begin = ns_at(w, w.begin_clock) - *zero;
    out.end = ns_at(w, w.end_clock) - *zero;
    uint64_t wanted = 0;
    for (const uint32_t n : w.events) wanted += n;
    out.lost = wanted - std::min<uint64_t>(wanted, recording.events[i].size());
    // Events hold the low half of the clock, which may have wrapped since the warp began.
    const auto at = [&](uint32_t low) {
      return ns_at(w, w.begin_clock + uint32_t(low - uint32_t(w.begin_clock))) - *zero;
    };
    for (const record::Event& e : recording.events[i]) {
      RecordedEvent event{e.kind(), e.detail(), e.object(), 0, place(w, e.at), at(e.begin), 0};
      if (has_address(event.kind)) event.object -= w.shared_base;
      if (is_load(event.kind)) {
        event.barrier = (e.end & kSharedOffsetMask) - w.shared_base;
        event.end = event.begin;
      } else {
        event.end = at(e.end);
      }
      out.events.push_back(std::move(event));
    }
    std::sort(out.events.begin(), out.events.end(), [](const RecordedEvent& a, const RecordedEvent& b) {
      return std::tuple(a.begin, a.end, a.kind) < std::tuple(b.begin, b.end, b.kind);
    });
    times.end = std::max(times.end, out.end);
    times.warps.push_back(std::move(out));
  }
  return times;
}

}  // namespace warpwright::timeline

#include "timeline/stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace warpwright::timeline {
namespace {

constexpr double kWorthSaying = 0.01;
constexpr size_t kMostCauses = 3;
constexpr const char* kAfter = " after the issuer's last bar";  // no name of a role

struct Times {
  int64_t begin = 0, end = 0;
};

std::vector<TimelineShare> by_size(const std::map<std::string, double>& times, double whole) {
  std::vector<TimelineShare> list;
  for (const auto& [what, time] : times) {
    if (time > 0 && whole > 0) list.push_back({what, time / whole});
  }
  std::sort(list.begin(), list.end(), [](const TimelineShare& a, const TimelineShare& b) {
    return a.share != b.share ? a.share > b.share : a.what < b.what;
  });
  return list;
}

class Accounts {
 public:
  explicit Accounts(const TimelineModel& model) : m_(model), released_by_(model.bars.size(), -1) {
    first_.assign(m_.lanes.size() + 1, m_.bars.size());
    for (size_t i = m_.bars.size(); i-- > 0;) first_[size_t(m_.bars[i].lane)] = i;
    for (size_t lane = m_.lanes.size(); lane-- > 0;) first_[lane] = std::min(first_[lane], first_[lane + 1]);
    for (const TimelineArrow& a : m_.arrows) released_by_[size_t(a.to)] = a.from;
    for (const TimelineBar& b : m_.bars) {
      const int cta = m_.lanes[size_t(b.lane)].cta;
      const auto [life, fresh] = lives_.try_emplace(cta, Times{b.begin, b.end});
      if (fresh) continue;
      life->second.begin = std::min(life->second.begin, b.begin);
      life->second.end = std::max(life->second.end, b.end);
    }
  }

  std::vector<RoleTime> roles() const {
    struct Sum {
      int warps = 0;
      double whole = 0, busy = 0, done = 0;
      std::map<std::string, double> waits;
    };
    std::map<std::string, Sum> sums;
    std::vector<std::string> order;
    for (size_t lane = 0; lane < m_.lanes.size(); ++lane) {
      if (m_.lanes[lane].engine) continue;
      const auto [found, fresh] = sums.try_emplace(m_.lanes[lane].group);
      if (fresh) order.push_back(m_.lanes[lane].group);
      Sum& sum = found->second;
      const Times life = lives_.at(m_.lanes[lane].cta);
      ++sum.warps;
      sum.whole += double(life.end - life.begin);
      int64_t at = life.begin;
      for (size_t i = first_[lane]; i < first_[lane + 1]; ++i) {
        const TimelineBar& b = m_.bars[i];
        // Before its first bar a warp sets itself up.
        sum.busy += double(std::max<int64_t>(0, b.begin - at));
        (b.kind == BarKind::wait ? sum.waits[object_of(b)] : sum.busy) += double(b.end - std::max(at, b.begin));
        at = std::max(at, b.end);
      }
      sum.done += double(life.end - at);
    }
    std::vector<RoleTime> list;
    for (const std::string& role : order) {
      const Sum& s = sums.at(role);
      const double whole = std::max(1., s.whole);
      list.push_back({role, s.warps, s.busy / whole, s.done / whole, by_size(s.waits, whole)});
    }
    return list;
  }

  IdleTime idle() {
    IdleTime out;
    double whole = 0, idle = 0;
    for (size_t lane = 0; lane < m_.lanes.size(); ++lane) {
      if (!m_.lanes[lane].multiplies()) continue;
      out.unit = m_.lanes[lane].group;
      const Times life = lives_.at(m_.lanes[lane].cta);
      std::set<int> issuers;
      for (size_t i = first_[lane]; i < first_[lane + 1]; ++i) issuers.insert(m_.bars[i].issuer);
      issuers.erase(-1);
      whole += double(life.end - life.begin);
      const auto stands_still = [&](int64_t begin, int64_t end) {
        if (end <= begin) return;
        idle += double(end - begin);
        for (int issuer : issuers) blame(issuer, {begin, end}, 1. / double(issuers.size()), {});
        if (issuers.empty()) causes_["nobody knows who issues"] += double(end - begin);
      };
      int64_t until = life.begin;
      for (size_t i = first_[lane]; i < first_[lane + 1]; ++i) {
        stands_still(until, m_.bars[i].begin);
        until = std::max(until, m_.bars[i].end);
      }
      stands_still(until, life.end);
    }
    if (whole <= 0) return out;
    out.share = idle / whole;
    out.causes = by_size(causes_, whole);
    return out;
  }

 private:
  const std::string& role(int lane) const { return m_.lanes[size_t(lane)].group; }

  void add(std::string cause, Times t, double weight) {
    if (t.end > t.begin) causes_[std::move(cause)] += weight * double(t.end - t.begin);
  }

  // What the warp of a lane does in a time. `above`: the roles that wait for it.
  void blame(int lane, Times t, double weight, std::set<std::string> above) {
    above.insert(role(lane));
    const auto begin = m_.bars.begin() + std::ptrdiff_t(first_[size_t(lane)]),
               end = m_.bars.begin() + std::ptrdiff_t(first_[size_t(lane) + 1]);
    auto bar = std::partition_point(begin, end, [&](const TimelineBar& b) { return b.end <= t.begin; });
    int64_t at = t.begin;
    for (; bar != end && bar->begin < t.end; ++bar) {
      add(role(lane) + " starts", {at, std::min(t.end, bar->begin)}, weight);
      const Times part{std::max(at, bar->begin), std::min(t.end, bar->end)};
      if (part.end <= part.begin) continue;
      if (bar->kind == BarKind::wait) {
        blame_wait(size_t(bar - m_.bars.begin()), part, weight, above);
      } else {
        add(role(lane) + (bar->kind == BarKind::work ? " does " + family(bar->name) : " runs"), part, weight);
      }
      at = part.end;
    }
    if (t.end <= at) return;
    // Then the question is what still keeps the block: who waits for whom is asked once more, from there.
    const int last = last_of(m_.lanes[size_t(lane)].cta);
    if (last < 0 || above.count(kAfter) != 0) return add(role(lane) + " is done", {at, t.end}, weight);
    blame(last, {at, t.end}, weight, {kAfter});
  }

  // The warp of a block of which something is known last.
  int last_of(int cta) {
    const auto [found, fresh] = last_.try_emplace(cta, -1);
    int64_t end = INT64_MIN;
    for (size_t lane = 0; lane < m_.lanes.size() && fresh; ++lane) {
      if (m_.lanes[lane].cta != cta || m_.lanes[lane].engine || first_[lane] == first_[lane + 1]) continue;
      const int64_t its = m_.bars[first_[lane + 1] - 1].end;
      if (its > end) found->second = int(lane);
      end = std::max(end, its);
    }
    return found->second;
  }

  // "MMA" of MMA01: the operations of a schedule differ by digits.
  static std::string family(const std::string& operation) {
    return operation.substr(0, operation.find_last_not_of("0123456789") + 1);
  }

  void blame_wait(size_t wait, Times t, double weight, const std::set<std::string>& above) {
    const TimelineBar& w = m_.bars[wait];
    const std::string waits = role(w.lane) + " waits for " + object_of(w);
    if (released_by_[wait] < 0) return add(waits, t, weight);
    const TimelineBar& r = m_.bars[size_t(released_by_[wait])];
    const TimelineLane& by = m_.lanes[size_t(r.lane)];
    const int64_t released = std::clamp(r.end, t.begin, t.end);
    add(waits, {released, t.end}, weight);  // it takes a while to see it
    int64_t before = released;
    if (by.engine) {
      before = std::clamp(r.begin, t.begin, released);
      const char* does = by.group == "TMA store" ? "writes" : by.group == "LDS" ? "reads" : "loads";
      add(fmt::format("{} {} {}", by.group, by.multiplies() ? "does" : does, r.ring.empty() ? family(r.name) : r.ring),
          {before, released}, weight);
    }
    const int next = by.engine ? r.issuer : r.lane;
    if (next < 0 || above.count(role(next)) != 0) return add(waits, {t.begin, before}, weight);
    if (before > t.begin) blame(next, {t.begin, before}, weight, above);
  }

  const TimelineModel& m_;
  std::vector<int> released_by_;
  std::vector<size_t> first_;   // bar of each lane
  std::map<int, Times> lives_;  // the lifetimes of the blocks
  std::map<int, int> last_;     // by block
  std::map<std::string, double> causes_;
};

int percent(double share) { return int(std::lround(100 * share)); }

}  // namespace

std::string IdleTime::text() const {
  if (unit.empty()) return {};
  std::string list;
  for (size_t i = 0; i < std::min(kMostCauses, causes.size()) && causes[i].share >= kWorthSaying; ++i) {
    list += fmt::format("{} {} % {}", list.empty() ? ":" : ",", percent(causes[i].share), causes[i].what);
  }
  return fmt::format("{} idle {} %{}", unit, percent(share), list);
}

Stalls stalls_of(const TimelineModel& model) {
  Accounts accounts(model);
  return {accounts.roles(), accounts.idle()};
}

Json json_of(const Stalls& stalls) {
  Json roles = Json::array(), causes = Json::array();
  for (const RoleTime& r : stalls.roles) {
    Json waits = Json::array();
    for (const TimelineShare& w : r.waits) waits.push_back({{"for", w.what}, {"share", w.share}});
    roles.push_back({{"role", r.role}, {"warps", r.warps}, {"busy", r.busy}, {"done", r.done}, {"waits", waits}});
  }
  for (const TimelineShare& c : stalls.idle.causes) causes.push_back({{"what", c.what}, {"share", c.share}});
  Json idle;
  if (!stalls.idle.unit.empty()) {
    idle = {{"unit", stalls.idle.unit}, {"share", stalls.idle.share}, {"text", stalls.idle.text()}, {"causes", causes}};
  }
  return {{"roles", roles}, {"idle", idle}};
}

}  // namespace warpwright::timeline

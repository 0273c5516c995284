#include "lanes.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sim/engine.h"

namespace warpwright::simulator {

void waited(Thread& t, const Waited& what) {
  t.trail.add(what);
  t.warp->waited = true;
}

namespace {

std::string text_of(const Waited& w) {
  return fmt::format("{}{}{} at {}", w.word, w.bar ? " on " : "", w.bar ? w.bar->name() : "", where(w.at));
}

[[noreturn]] void report_parted(Engine& e, const Collective& c, const Thread& one, const Thread& other) {
  const Waited& wait = one.trail.beyond(other.trail);
  e.fail("warp.parted",
         fmt::format("{} wants the lanes of its warp together, and they have parted: lane {} of {} has executed {}, "
                     "lane {} has not, and no sync_warp has brought them together since",
                     c.word, one.lane(), one.warp->role_name(), text_of(wait), other.lane()),
         &one, c.at, wait.bar ? wait.bar->name() : std::string(), {"they parted at " + where(wait.at)});
}

}  // namespace

void settle_trails(Engine& e, Warp& w) {
  const Collective& c = w.collective;
  if (!w.waited || c.how == Meeting::apart || c.arrived != w.live) return;
  if (c.how == Meeting::together) {
    const Thread* first = nullptr;
    for (const Thread* t : w.lanes) {
      if (!t || !(c.arrived >> t->lane() & 1)) continue;
      if (!first) first = t;
      if (first->trail == t->trail) continue;
      const bool longer = first->trail.count() >= t->trail.count();
      report_parted(e, c, longer ? *first : *t, longer ? *t : *first);
    }
  }
  for (Thread* t : w.lanes)
    if (t) t->trail.clear();
  w.waited = false;
}

}  // namespace warpwright::simulator

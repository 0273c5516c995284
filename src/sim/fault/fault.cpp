#include "sim/fault/fault.h"

#include <cstring>
#include <string>

#include "sim/words.h"

namespace warpwright::simulator {

using Action = Fault::Action;

bool Engine::looks_at(const Call& call) const {
  if (options_.list_fault_sites) return true;
  for (const Fault& f : options_.faults)
    if ((f.line == 0 || f.line == call.at.line) && f.word == call.word) return true;
  return false;
}

const Fault* Engine::fault(Thread& t, const Call& call, const std::string& object) {
  const char* role = t.warp->role_name();
  if (options_.list_fault_sites) {
    FaultSite& site =
        fault_sites_[{call.word, object.substr(0, object.find_first_of("[+")), role, call.at.file, call.at.line}];
    site.can |= call.can;
    if (site.first_warp < 0) site.first_warp = t.warp->index;
    site.by_several_warps |= site.first_warp != t.warp->index;
  }
  const Fault* hit = nullptr;
  for (const Fault& f : options_.faults) {
    if (f.word != call.word || (!f.object.empty() && object.rfind(f.object, 0) != 0)) continue;
    if (!f.role.empty() && f.role != role) continue;
    if (f.line != 0 && (f.line != call.at.line || f.file != call.at.file)) continue;
    if (f.cta >= 0 && f.cta != int(t.cta->rank)) continue;
    if (f.warp >= 0 && f.warp != t.warp->index) continue;
    const bool now = f.nth == 0 || ++t.fault_counts[&f] == f.nth;
    if (now && !hit) hit = &f;
  }
  return hit;
}

// Each word of the thread has an epoch of its own, so that a release can leave out the last one.
void Engine::keep_moment(Thread& t) {
  bool stepped = t.touched;
  for (int v = kHb; v <= kTcgen; ++v)
    stepped |= t.view[v].base.id() != t.word_began.view[v].base.id() || t.view[v].own != t.word_began.view[v].own;
  if (stepped) t.last_step = t.word_began;
  for (int v = 0; v < kViews; ++v) t.word_began.view[v] = t.view[v];
  t.word_began.epoch = t.epoch++;
  t.word_began.waits = false;
  t.touched = t.releases_early = false;
}

namespace {

uint32_t stages_of(const Bar& b) { return able(b.spec && b.spec->stages > 1, Action::stage); }

// The same barrier, that many stages further on.
Bar& further(const Thread& t, Bar& b, int64_t stages, here at) {
  if (!b.spec) return b;
  const int64_t n = b.spec->stages, to = ((b.index + stages) % n + n) % n;
  return t.cta->engine->bar(*b.cta, uint32_t(int64_t(b.offset) + 8 * (to - b.index)), &t, at, "a word");
}

// Each CTA of the mask replaced by the next one.
uint16_t moved(uint16_t mask, size_t ctas) {
  uint32_t to = 0;
  for (size_t r = 0; r < ctas; ++r) to |= uint32_t(mask >> r & 1) << (r + 1) % ctas;
  return uint16_t(to);
}

}  // namespace

void misdirect(Thread& t, uint32_t can, here at, Arriving& a) {
  using enum Fault::Action;
  const bool can_advance = t.last_step.epoch != 0 && !t.last_step.waits;
  const Engine::Call call{"mbarrier_arrive", at,
                          can | stages_of(*a.at) | able({duplicate}) | able(can_advance, advance)};
  const Fault* f = fault_at(t, call, [&] { return a.at->name(); });
  t.releases_early = f && f->action == advance && can_advance;
  if (!f) return;
  if (f->action == drop) a.times = 0;
  if (f->action == duplicate) a.times = 2;
  if (f->action == alter) a.count = f->value;
  if (f->action == stage) a.at = &further(t, *a.at, f->value, at);
  if (f->action == scope) a.scope = Scope::cta;
  if (f->action == peer) {
    a.at = &t.cta->engine->bar(*t.cta, a.at->offset, &t, at, "mbarrier.arrive.shared::cluster");
  }
}

void misdirect(Thread& t, const char* word, uint32_t can, here at, Announcing& a) {
  using enum Fault::Action;
  const Engine::Call call{word, at, can | stages_of(*a.at) | able({duplicate, add})};
  const Fault* f = fault_at(t, call, [&] { return a.at->name(); });
  if (!f) return;
  if (f->action == drop) a.times = 0;
  if (f->action == duplicate) a.times = 2;
  if (f->action == alter) a.bytes = f->value;
  if (f->action == add) a.bytes += f->value;
  if (f->action == stage) a.at = &further(t, *a.at, f->value, at);
  if (f->action == postpone) a.arrivals = 0;  // the bytes are announced, the arrival is forgotten
}

void misdirect(Thread& t, here at, Waiting& w) {
  using enum Fault::Action;
  const uint32_t can = stages_of(*w.on) | able({alter}) | able(w.scope != Scope::cta, scope);
  const Fault* f = fault_at(t, {"mbarrier_wait", at, can}, [&] { return w.on->name(); });
  if (!f) return;
  if (f->action == drop) w.dropped = true;
  if (f->action == alter) w.parity = f->value < 0 ? w.parity ^ 1 : uint32_t(f->value);  // below 0: the other one
  if (f->action == stage) w.on = &further(t, *w.on, f->value, at);
  if (f->action == scope) w.scope = Scope::cta;
}

int misaimed(Thread& t, const char* word, uint32_t object, here at, Aim& aim, bool* postponed) {
  Engine& e = *t.cta->engine;
  if (!e.has_faults()) return 1;
  const Cluster& c = *t.cta->cluster;
  // The same barrier in any CTA; with a wrong address the word itself complains.
  const auto found = t.cta->bars.find(aim.bar & kSharedOffsetMask);
  Bar* const bar = found == t.cta->bars.end() || !found->second->valid ? nullptr : found->second.get();
  const uint16_t turned = moved(aim.mask, c.ctas.size()), own = uint16_t(1u << t.cta->rank);
  const bool other_peer = aim.multicast ? turned != aim.mask : aim.bar >> kSharedRankShift != t.cta->rank;
  Engine::Call call{word, at, able({Action::duplicate})};
  if (bar) call.can |= stages_of(*bar);
  if (postponed) call.can |= able({Action::postpone});
  call.can |= able(other_peer, Action::peer) | able(aim.multicast && aim.mask != own, Action::scope);
  const Fault* f = fault_at(t, call, [&] { return e.name_of(*t.cta, object & kSharedOffsetMask); });
  if (!f) return 1;
  switch (f->action) {
    case Action::drop:
      return 0;
    case Action::duplicate:
      return 2;
    case Action::alter:
      aim.mask = uint16_t(f->value);
      break;
    case Action::stage:
      if (bar) aim.bar = (aim.bar & ~uint32_t(kSharedOffsetMask)) | further(t, *bar, f->value, at).offset;
      break;
    case Action::peer:
      aim.mask = turned;
      if (!aim.multicast) aim.bar = t.cta->rank << kSharedRankShift | (aim.bar & kSharedOffsetMask);
      break;
    case Action::scope:
      aim.mask = own;
      break;
    case Action::postpone:
      if (postponed) *postponed = true;
      break;
    default:
      break;
  }
  return 1;
}

}  // namespace warpwright::simulator

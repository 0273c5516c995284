// Why nothing can run any more: who waits for whom, and which of these waits is the one to look at.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report.h"

namespace warpwright::simulator {
namespace {

// Something that threads wait for and nobody completes.
struct Stuck {
  Wait why = Wait::none;
  const void* object = nullptr;
  std::vector<const Thread*> waiters;
  uint64_t since = ~uint64_t(0);       // when the first waiter came
  std::vector<const Thread*> missing;  // who would have to come and is alive
  std::string gone;                    // who would have to come but has exited
  const Thread* passed = nullptr;      // one of the missing that has gone on without coming
  std::vector<size_t> on;              // what the missing wait for

  const Bar* bar() const { return why == Wait::mbarrier ? static_cast<const Bar*>(object) : nullptr; }
};

bool is_barrier(const Thread& t, const void* object) {
  return std::any_of(t.cta->bars.begin(), t.cta->bars.end(), [&](const auto& b) { return b.second.get() == object; });
}

// The other half of a ring: "input.full" and "input.empty", in the CTA of a thread.
const Bar* partner(const Bar& b, const Cta& cta, int index) {
  if (!b.spec) return nullptr;
  std::string name = b.spec->name;
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const std::string half = name.substr(dot + 1);
  if (half != "full" && half != "empty") return nullptr;
  name = name.substr(0, dot + 1) + (half == "full" ? "empty" : "full");
  for (const auto& [offset, other] : cta.bars)
    if (other->spec && other->index == index && name == other->spec->name) return other.get();
  return nullptr;
}

bool is_full(const Bar& b) {
  const size_t n = std::strlen(b.spec->name);
  return n >= 5 && std::strcmp(b.spec->name + n - 5, ".full") == 0;
}

// Whether a thread that should arrive on `b` waits at a later place of the same ring. A consumer may hold a stage or
// two while it takes the next; a producer fills one after the other.
bool has_passed(const Bar& b, const Thread& t) {
  if (!b.spec || t.waiting != Wait::mbarrier || t.wait_phase < 0) return false;
  const auto* at = static_cast<const Bar*>(t.wait_object);
  const Bar* other = partner(b, *t.cta, at->index);
  if (!at->spec || other != at) return false;
  const int64_t stages = b.spec->stages, due = b.generation * stages + b.index;
  if (is_full(b)) return (t.wait_phase + 1) * stages + at->index > due;
  return t.wait_phase * stages + at->index - due >= std::min<int64_t>(stages, 3);
}

bool may_arrive(const Bar& b, const Thread& t) {
  return b.spec && std::any_of(std::begin(b.spec->arrivals), std::end(b.spec->arrivals), [&](const ArrivalSpec& a) {
           return a.role && std::strcmp(a.role, t.warp->role_name()) == 0;
         });
}

// Who arrived on a barrier when it last completed, or has copied to it; stages of one ring stand for each other. If
// nobody has, by role: everybody who may arrive; of those who copy, only the ones that a barrier holds back.
std::vector<const Thread*> contributors(const Bar& b, bool copies, bool& known) {
  std::set<const Thread*> all;
  for (const auto& [offset, other] : b.cta->bars) {
    if (other.get() != &b && (!b.spec || other->spec != b.spec)) continue;
    if (copies) {
      all.insert(other->last_copiers.begin(), other->last_copiers.end());
      all.insert(other->copiers.begin(), other->copiers.end());
    } else {
      for (const Arrival& a : other->last_arrivals)
        if (a.by) all.insert(a.by);
    }
  }
  // Warpgroups that take turns arrive in turn: if all who came before have exited, the remaining ones of their role are
  // candidates.
  if (!copies && std::all_of(all.begin(), all.end(), [](const Thread* t) { return t->done; })) all.clear();
  known = !all.empty();
  if (known) return {all.begin(), all.end()};
  // The whole cluster counts if a thread of another CTA has come, or if none of this CTA is left.
  const auto add = [&](const Cta& cta) {
    for (const auto& t : cta.threads)
      if (may_arrive(b, *t) && (!copies || t->waiting == Wait::mbarrier)) all.insert(t.get());
  };
  const auto came = [&](const Warp* w) {
    return std::any_of(b.arrivals.begin(), b.arrivals.end(), [&](const Arrival& a) { return a.by && a.by->warp == w; });
  };
  add(*b.cta);
  const bool local = std::any_of(all.begin(), all.end(), [&](const Thread* t) { return !t->done && !came(t->warp); });
  const bool remote =
      std::any_of(b.arrivals.begin(), b.arrivals.end(), [&](const Arrival& a) { return a.by && a.by->cta != b.cta; });
  if (!local || remote || copies)
    for (const Cta* c : b.cta->cluster->ctas) add(*c);
  return {all.begin(), all.end()};
}

// Lanes that wait for the elected lane of their warp, or ahead of it at the end, do not stand for their role.
bool is_idle_lane(const Thread& t) {
  const auto meets = [](const Thread& o) {
    return o.waiting == Wait::warp || o.waiting == Wait::cluster || o.waiting == Wait::named;
  };
  return meets(t) && std::any_of(std::begin(t.warp->lanes), std::end(t.warp->lanes),
                                 [&](const Thread* o) { return o && !o->done && !meets(*o); });
}

class Deadlock {
 public:
  explicit Deadlock(Engine& engine) : e_(engine) {
    for (const auto& cta : e_.ctas)
      for (const auto& t : cta->threads)
        if (!t->done) add(*t);
    for (Stuck& s : stuck_) find_missing(s);
    for (Stuck& s : stuck_) {
      std::set<size_t> on;
      for (const Thread* t : s.missing) on.insert(of_.at(t));
      s.on.assign(on.begin(), on.end());
    }
  }

  const std::vector<Stuck>& all() const { return stuck_; }

  // The wait that causes the others: one that can no longer end because whoever would end it has exited or has gone on;
  // otherwise the first of those that wait for each other in a circle and for nobody else.
  const Stuck* root() const {
    if (stuck_.empty()) return nullptr;
    // Where no mbarrier is waited for, a value in global memory that nobody can store any more.
    if (std::none_of(stuck_.begin(), stuck_.end(), [](const Stuck& x) { return x.bar(); }))
      if (const Stuck* s = oldest([](const Stuck& x) { return x.why == Wait::poll; })) return s;
    // The barriers wait for a warpgroup that gets no registers, unless others have yet to give theirs back.
    for (const Stuck& s : stuck_)
      if (s.why == Wait::registers && s.missing.empty()) return &s;
    if (const Stuck* s = oldest([](const Stuck& x) { return !x.gone.empty() && x.missing.empty(); })) return s;
    // Whoever would have to arrive waits there.
    if (const Stuck* s = oldest(
            [&](const Stuck& x) { return x.bar() && x.on.size() == 1 && x.on.front() == size_t(&x - stuck_.data()); }))
      return s;
    if (const Stuck* s = oldest([](const Stuck& x) { return waits_for_nothing_filled(x); })) return s;
    if (const Stuck* s = oldest([](const Stuck& x) { return x.passed != nullptr; })) return s;
    // Everybody who copies there has brought its bytes, but more were announced.
    if (const Stuck* s = oldest(
            [](const Stuck& x) { return x.bar() && x.bar()->pending == 0 && x.bar()->tx > 0 && x.missing.empty(); }))
      return s;
    const std::vector<bool> last = last_circles();
    const auto in_circle = [&](const Stuck& x) { return bool(last[size_t(&x - stuck_.data())]); };
    const auto all_at = [&](const Stuck& x, bool (*place)(const Stuck&)) {
      return !x.on.empty() && std::all_of(x.on.begin(), x.on.end(), [&](size_t i) { return place(stuck_[i]); });
    };
    const auto all_meet = [&](const Stuck& x) { return all_at(x, is_meeting); };
    // Lanes of one warp that went different ways, and a meeting to which everyone that the barriers need has gone:
    // there the kernel hangs, and the other waits follow.
    if (const Stuck* s = oldest([&](const Stuck& x) { return in_circle(x) && x.why == Wait::warp && all_meet(x); }))
      return s;
    if (std::all_of(stuck_.begin(), stuck_.end(),
                    [&](const Stuck& x) { return !in_circle(x) || !x.bar() || all_meet(x); }))
      if (const Stuck* s = oldest([&](const Stuck& x) { return in_circle(x) && is_meeting(x); })) return s;
    // Whoever has gone to the end of the kernel does nothing more for a barrier. All others wait there too in the end,
    // so the meeting itself explains nothing while a barrier does.
    if (const Stuck* s = oldest([&](const Stuck& x) { return in_circle(x) && x.bar() && all_at(x, is_end); })) return s;
    if (const Stuck* s = oldest([&](const Stuck& x) { return in_circle(x) && x.bar(); })) return s;
    return oldest(in_circle);
  }

  // "mma waits for input.full[0] phase 1 at x.h:12; epilogue of CTA 1 has exited ..."
  std::string fates(const Stuck& s) const {
    std::vector<std::string> list;
    if (!s.gone.empty()) list.push_back(s.gone);
    const Cta* home = s.waiters.front()->cta;
    std::vector<const Thread*> others = s.missing;
    // Nothing says who has to come to a barrier of the block: tell what has become of the rest of the block.
    if (others.empty() && s.why == Wait::named)
      for (const auto& t : home->threads)
        if (!t->done && t->wait_object != s.object && !is_idle_lane(*t)) others.push_back(t.get());
    // A thread that has gone on is the reason; the others merely wait as well.
    if (s.passed) std::erase_if(others, [&](const Thread* t) { return !has_passed(*s.bar(), *t); });
    const bool all_idle = std::all_of(others.begin(), others.end(), [](const Thread* t) { return is_idle_lane(*t); });
    for (const Thread* t : others) {
      if (!all_idle && is_idle_lane(*t)) continue;
      std::string text = t->warp->role_name();
      if (t->cta != home) text += fmt::format(" of CTA {}", t->cta->id);
      if (s.bar() && has_passed(*s.bar(), *t)) text += " has gone on without it and";
      text += fmt::format(" waits for {} at {}", waited_for(e_, *t, t->waiting, t->wait_object), where(t->where));
      if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
    }
    constexpr size_t most = 4;
    std::string all;
    for (size_t i = 0; i < std::min(list.size(), most); ++i) all += (i ? "; " : "") + list[i];
    if (list.size() > most) all += fmt::format("; and {} more", list.size() - most);
    return all;
  }

 private:
  static bool is_meeting(const Stuck& s) { return s.why == Wait::named || s.why == Wait::cluster; }
  // Where a thread that has done its work waits: a meeting, or a barrier with a single phase.
  static bool is_end(const Stuck& s) { return is_meeting(s) || (s.bar() && s.bar()->spec && s.bar()->spec->once); }

  template <class Is>
  const Stuck* oldest(const Is& is) const {
    const Stuck* best = nullptr;
    for (const Stuck& s : stuck_)
      if (is(s) && (!best || s.since < best->since)) best = &s;
    return best;
  }

  // A producer that waits for a stage to be emptied although nobody has ever filled it.
  static bool waits_for_nothing_filled(const Stuck& s) {
    const Bar* b = s.bar();
    if (!b || !b->spec || is_full(*b) || b->generation != 0 || !b->arrivals.empty()) return false;
    const Bar* full = partner(*b, *b->cta, b->index);
    return full && full->generation == 0 && full->arrivals.empty() && full->in_flight_bytes == 0 && full->tx == 0;
  }

  void add(const Thread& t) {
    Wait why = t.waiting;
    const void* object = t.wait_object;
    if (why == Wait::poll && is_barrier(t, object)) why = Wait::mbarrier;
    if (why == Wait::registers || why == Wait::none) object = &t;
    const auto [at, fresh] = index_.try_emplace(object, stuck_.size());
    if (fresh) stuck_.emplace_back();
    Stuck& s = stuck_[at->second];
    s.why = why;
    s.object = object;
    s.waiters.push_back(&t);
    if (t.waiting_since < s.since) {
      s.since = t.waiting_since;
      std::swap(s.waiters.front(), s.waiters.back());
    }
    of_[&t] = at->second;
  }

  void find_missing(Stuck& s) {
    switch (s.why) {
      case Wait::mbarrier:
        return find_missing(s, *static_cast<const Bar*>(s.object));
      case Wait::named: {
        const auto* barrier = static_cast<const NamedBarrier*>(s.object);
        for (const Warp* w : barrier->last_arrived)
          if (std::find(barrier->arrived.begin(), barrier->arrived.end(), w) == barrier->arrived.end()) miss(s, *w);
        return;
      }
      case Wait::cluster:
        for (const Cta* c : s.waiters.front()->cta->cluster->ctas)
          for (const auto& t : c->threads)
            if (!t->done && t->waiting != Wait::cluster) s.missing.push_back(t.get());
        return;
      case Wait::registers: {
        // A role gives its registers back before its loop: one that waits on an mbarrier has gone on without doing so.
        const Cta& cta = *s.waiters.front()->cta;
        for (const auto& w : cta.warps)
          if (w->role && w->role->registers > 0 && cta.warpgroups[size_t(w->index / 4)]->registers > w->role->registers)
            miss(s, *w);
        std::erase_if(s.missing, [](const Thread* t) { return t->waiting == Wait::mbarrier || is_idle_lane(*t); });
        return;
      }
      case Wait::warp: {
        const Warp& w = *s.waiters.front()->warp;
        for (const Thread* t : w.lanes)
          if (t && !t->done && t->waiting != Wait::warp) s.missing.push_back(t);
        return;
      }
      default:
        return;
    }
  }

  static void miss(Stuck& s, const Warp& w) {
    for (const Thread* t : w.lanes)
      if (t && !t->done && !is_idle_lane(*t)) s.missing.push_back(t);
  }

  static void find_missing(Stuck& s, const Bar& b) {
    std::map<std::string, const Thread*> gone;  // for each role, the one that got farthest
    std::set<std::string> there;
    std::vector<const Thread*> idle;
    bool known = false;  // from earlier phases
    const auto look = [&](bool copies, const auto& has_come) {
      for (const Thread* t : contributors(b, copies, known)) {
        if (has_come(*t)) continue;
        const char* role = t->warp->role_name();
        if (t->done) {
          const Thread*& last = gone[role];
          if (!last || last->waiting_since < t->waiting_since) last = t;
        } else {
          there.insert(role);
          (is_idle_lane(*t) ? idle : s.missing).push_back(t);
          if (!s.passed && has_passed(b, *t)) s.passed = t;
        }
      }
    };
    if (b.pending > 0) {
      // A role does not tell how many of its threads arrive: one thread of a warp stands for it.
      std::set<const Thread*> came;
      std::set<const Warp*> warps;
      for (const Arrival& a : b.arrivals)
        if (a.by) {
          came.insert(a.by);
          warps.insert(a.by->warp);
        }
      look(false, [&](const Thread& t) { return came.count(&t) != 0 || (!known && warps.count(t.warp) != 0); });
    } else if (b.tx > 0) {
      const auto& came = b.copiers;
      const auto& arrived = b.arrivals;
      look(true, [&](const Thread& t) {
        const auto own = [&](const Arrival& a) { return a.by == &t; };  // it announced the bytes, and has gone on
        return std::find(came.begin(), came.end(), &t) != came.end() ||
               std::any_of(arrived.begin(), arrived.end(), own);
      });
    }
    if (s.missing.empty()) s.missing = idle;
    // While some threads of a role live, nobody waits for those that have exited.
    for (const auto& [role, t] : gone)
      if (there.count(role) == 0)
        s.gone += fmt::format("{}{} has exited (last word at {})", s.gone.empty() ? "" : "; ", role, where(t->where));
  }

  // Which of the stuck waits lie in a circle, or at an end, from which no wait leads elsewhere.
  std::vector<bool> last_circles() const {
    const size_t n = stuck_.size();
    std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));
    for (size_t i = 0; i < n; ++i) {
      std::vector<size_t> next = {i};
      reaches[i][i] = true;
      while (!next.empty()) {
        const size_t at = next.back();
        next.pop_back();
        for (const size_t to : stuck_[at].on)
          if (!reaches[i][to]) {
            reaches[i][to] = true;
            next.push_back(to);
          }
      }
    }
    std::vector<bool> last(n, true);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        if (reaches[i][j] && !reaches[j][i]) last[i] = false;
    return last;
  }

  Engine& e_;
  std::vector<Stuck> stuck_;
  std::map<const void*, size_t> index_;
  std::map<const Thread*, size_t> of_;
};

// Numbers as "0", "0 and 3" or "0 to 7".
std::string span_text(const std::set<int>& numbers) {
  const int first = *numbers.begin(), last = *numbers.rbegin();
  if (numbers.size() == 1) return fmt::format("{}", first);
  if (numbers.size() == 2) return fmt::format("{} and {}", first, last);
  return int(numbers.size()) == last - first + 1 ? fmt::format("{} to {}", first, last)
                                                 : fmt::format("{} to {}, {} of them", first, last, numbers.size());
}

// All who wait, with equal ones listed together.
std::vector<std::string> waiting_list(const Engine& e) {
  struct Alike {
    std::set<int> ctas, warps;
    int lanes = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Alike> groups;
  for (const auto& cta : e.ctas)
    for (const auto& t : cta->threads) {
      if (t->done) continue;
      Alike& a = groups[{t->warp->role_name(), waited_for(e, *t, t->waiting, t->wait_object), where(t->where)}];
      a.ctas.insert(int(cta->id));
      a.warps.insert(t->warp->index);
      ++a.lanes;
    }
  std::vector<std::string> lines;
  for (const auto& [key, a] : groups)
    lines.push_back(fmt::format("{} (CTA{} {}, warp{} {}, {} lane{}) waits for {} at {}", std::get<0>(key),
                                a.ctas.size() > 1 ? "s" : "", span_text(a.ctas), a.warps.size() > 1 ? "s" : "",
                                span_text(a.warps), a.lanes, a.lanes == 1 ? "" : "s", std::get<1>(key),
                                std::get<2>(key)));
  return lines;
}

std::vector<std::string> barrier_list(const Engine& e) {
  std::map<std::string, std::set<int>> groups;
  for (const auto& cta : e.ctas) {
    for (const auto& [offset, b] : cta->bars) {
      if (b->pending == b->count && b->tx == 0 && b->waiters.empty()) continue;
      groups[fmt::format("{}: phase {}, {} of {} arrivals missing, {} bytes outstanding", b->name(), b->generation,
                         b->pending, b->count, b->tx)]
          .insert(int(cta->id));
    }
    for (int i = 0; i < 16; ++i)
      if (cta->named[i].got)
        groups[fmt::format("named barrier {}: {} of {} threads have arrived", i, cta->named[i].got, cta->named[i].need)]
            .insert(int(cta->id));
  }
  std::vector<std::string> lines;
  for (const auto& [text, ctas] : groups)
    lines.push_back(fmt::format("CTA{} {} {}", ctas.size() > 1 ? "s" : "", span_text(ctas), text));
  return lines;
}

// An arrival that went to the same barrier of another CTA, on which nobody has ever waited.
const Arrival* misdirected(const Bar& b, const Bar*& where_to) {
  for (const Cta* c : b.cta->cluster->ctas) {
    if (c == b.cta) continue;
    const auto other = c->bars.find(b.offset);
    if (other == c->bars.end() || other->second->awaited) continue;
    where_to = other->second.get();
    for (const auto* arrivals : {&where_to->arrivals, &where_to->last_arrivals})
      if (!arrivals->empty()) return &arrivals->front();
  }
  return nullptr;
}

}  // namespace

void report_deadlock(Engine& e) {
  const Deadlock deadlock(e);
  const Stuck* root = deadlock.root();
  Finding f;
  f.rule = "deadlock";
  if (root) {
    const Thread& w = *root->waiters.front();
    const std::string what = waited_for(e, w, w.waiting, w.wait_object), fates = deadlock.fates(*root);
    const Bar* stray = nullptr;
    here at = w.where;
    f.object = what;
    if (const Bar* b = root->bar()) {
      f.object = b->name();
      f.message = fmt::format("{} waits on {} phase {} ({})", who(w), b->name(), w.wait_phase, where(w.where));
      const Arrival* arrival = b->pending > 0 ? misdirected(*b, stray) : nullptr;
      if (arrival) {
        f.rule = "deadlock.elsewhere";
        at = arrival->at;
        f.message = fmt::format(
            "{} by {} at {} arrives on {} of CTA {}, on which nobody waits; {}, for which it is missing", arrival->what,
            arrival->by ? who(*arrival->by) : "a copy", where(at), b->name(), stray->cta->id, f.message);
      } else if (b->pending == 0 && b->tx > 0) {
        f.rule = "deadlock.bytes";
        f.message += fmt::format(": all arrivals are in, but {} bytes were announced and never delivered{}{}", b->tx,
                                 b->in_flight_bytes ? fmt::format(" ({} bytes in flight)", b->in_flight_bytes) : "",
                                 fates.empty() ? "" : ": " + fates);
      } else if (b->pending > 0 && b->tx < 0) {
        f.rule = "deadlock.bytes";
        f.message +=
            fmt::format(": {} bytes were delivered that no expect_tx announced, and {} of {} arrivals are missing{}{}",
                        -b->tx, b->pending, b->count, fates.empty() ? "" : ": ", fates);
      } else {
        if (root->missing.empty() && !root->gone.empty()) f.rule = "deadlock.role_exited";
        f.message += fmt::format("; {} of {} arrivals are missing, and nobody {}", b->pending, b->count,
                                 fates.empty() ? "is left who would arrive" : "will arrive: " + fates);
      }
    } else {
      const auto* named = static_cast<const NamedBarrier*>(w.wait_object);
      switch (root->why) {
        case Wait::named:
          f.rule = "deadlock.named";
          f.message = fmt::format("{} waits for {} at {}, where {} of {} threads have come", who(w), what,
                                  where(w.where), named->got, named->need);
          break;
        case Wait::cluster:
          f.rule = "deadlock.cluster";
          f.message = fmt::format("{} waits for {} at {}, where {} of {} threads have come", who(w), what,
                                  where(w.where), w.cta->cluster->arrived, w.cta->cluster->alive);
          break;
        default:
          f.rule = root->why == Wait::registers ? "deadlock.registers"
                   : root->why == Wait::warp    ? "deadlock.partial_warp"
                   : root->why == Wait::tmem    ? "deadlock.tmem"
                   : root->why == Wait::wgmma   ? "deadlock.wgmma"
                                                : "deadlock";
          f.message = fmt::format("{} waits for {} at {}, and nothing can run", who(w), what, where(w.where));
      }
      if (!fates.empty()) f.message += "; " + fates;
    }
    f.role = w.warp->role_name();
    f.cta = int(w.cta->id);
    f.warp = w.warp->index;
    f.lane = w.lane();
    f.file = at.file;
    f.line = at.line;
  }
  f.details = waiting_list(e);
  for (std::string& line : barrier_list(e)) f.details.push_back(std::move(line));
  try {
    e.report(std::move(f));
  } catch (const Abort&) {
  }
}

}  // namespace warpwright::simulator

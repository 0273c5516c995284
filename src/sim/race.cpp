#include "race.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace warpwright::simulator {
namespace {

const char* proxy_name(Proxy p) {
  switch (p) {
    case Proxy::generic:
      return "generic proxy";
    case Proxy::async:
      return "async proxy";
    case Proxy::tcgen:
      return "tcgen05";
  }
  return "";
}

std::string describe(const Access& a, bool write) {
  return fmt::format("{} by {} at {} ({}{})", a.word, a.by ? who(*a.by) : "the host", where(a.at), proxy_name(a.proxy),
                     a.in_flight ? ", not complete"
                     : write     ? ", complete"
                                 : "");
}

// The same access would be ordered if only the proxies were the same: then what is missing is a fence.
bool ordered_but_for_proxy(const Access& prior, const Thread& t) {
  if (prior.asynchronous) return false;
  return prior.by == &t || t.view[kHb].knows(t.channel, prior.stamp);
}

bool tcgen_fence_missing(const Access& prior, const Thread& t) {
  if (prior.in_flight) return false;
  auto known = [&](Stamp s) {
    return t.view[kHb].knows(t.channel, s) || (t.tcgen_pending && t.tcgen_pending.at(s.channel) >= s.epoch);
  };
  for (Stamp s : prior.done)
    if (known(s)) return true;
  return false;
}

struct Verdict {
  const char* rule;
  std::string why;
};

// On which barrier a copy completed, in which phase, and how far the thread has seen that barrier go.
std::string told_by(const Engine& e, const Access& prior, const Thread& t) {
  for (const Stamp& s : prior.done)
    for (const auto& cta : e.ctas)
      for (const auto& [offset, bar] : cta->bars) {
        if (bar->channel != s.channel) continue;
        const uint32_t seen = t.view[kHb].base.at(s.channel);
        return fmt::format(": it is told by phase {} of {}, of which the thread has seen {}", s.epoch - 1, bar->name(),
                           seen == 0 ? "none" : fmt::format("none after {}", seen - 1));
      }
  return "";
}

// Fences of other threads are easily taken to stand for the thread that raises or reads a flag.
std::string about_fences(const Engine& e, const Access& prior, const Thread& t) {
  bool published = false;
  for (const auto& [flag, releases] : e.global_sync)
    published |= releases.at(kHb, prior.stamp.channel) >= prior.stamp.epoch;
  if (!published && prior.by && prior.by->fence_epoch >= prior.stamp.epoch)
    return "; its thread has fenced since, but only for what it stores itself after that: the thread that raises a "
           "flag "
           "for others fences, behind the barrier that they meet at";
  if (published && t.fence_epoch != 0)
    return "; a flag has told of it, but not to this thread: the one that reads a flag for others fences, before the "
           "barrier that they meet at";
  return "";
}

Verdict classify(const Access& prior, const Toucher& now, const Thread& t) {
  if (prior.in_flight && prior.by && prior.by->warp == t.warp && prior.proxy == Proxy::tcgen)
    return {"tcgen05.wait",
            "the earlier tcgen05 access is not complete: a wait::ld or wait::st (or a commit) is missing"};
  if (prior.in_flight) return {"race.in_flight", "the earlier operation has not completed"};
  if (prior.proxy == Proxy::generic && now.proxy != Proxy::generic && ordered_but_for_proxy(prior, t))
    return {"race.proxy",
            "the accesses are ordered, but no fence.proxy.async stands between them: the writer or reader in the "
            "generic proxy must execute it before it hands over"};
  if (prior.proxy == Proxy::tcgen && tcgen_fence_missing(prior, t))
    return {"race.tcgen_fence", "the hand-over lacks tcgen05.fence::before_thread_sync or ::after_thread_sync"};
  if (prior.asynchronous) return {"race.completion", "nothing makes its completion known to this thread"};
  return {"race", "no synchronization orders them"};
}

template <class Name>
void conflict(Engine& e, const Toucher& now, uint32_t prior_id, bool write, bool other_cta, bool global,
              const Name& name) {
  const Access& prior = e.log[prior_id];
  const Access& mine = e.log[now.id];
  ++e.stats.checks;
  if (mine.atomic && prior.atomic) return;
  if (ordered(prior, *now.thread, mine, now.proxy, other_cta, global)) return;
  Verdict v = classify(prior, now, *now.thread);
  if (other_cta && prior.proxy == Proxy::generic && now.proxy == Proxy::async &&
      now.thread->view[kToShared].knows(now.thread->channel, prior.stamp))
    v = {"race.proxy_scope",
         "the fence.proxy.async names shared::cta, but the operation reaches shared memory of another CTA"};
  // elect.sync always names the same lane, so two lanes of a warp at one issue are a missing election.
  if (mine.pipe != Pipe::none && prior.pipe != Pipe::none && prior.by != now.thread &&
      prior.by->warp == now.thread->warp && prior.at.line == now.at.line)
    v = {"tcgen05.elect",
         "lanes of one warp issue the same operation: one elected thread issues tcgen05.mma and tcgen05.cp"};
  // A thread touches what an operation has not delivered yet, or what is being replaced, after a wait that did not
  // wait: that wait is to blame.
  const Thread* misled = nullptr;
  if (prior.asynchronous && now.proxy == Proxy::generic) misled = now.thread;
  if (!prior.asynchronous && prior.by && now.proxy == Proxy::async && prior.stamp.epoch >= prior.by->repeated.epoch)
    misled = prior.by;
  if (misled && misled->repeated.bar) v = {"phase.repeated", v.why + repeated_wait(*misled)};
  if (std::string_view(v.rule) == "race.completion") v.why += told_by(e, prior, *now.thread);
  if (global && std::string_view(v.rule) == "race") v.why += about_fences(e, prior, *now.thread);
  Finding f;
  f.rule = v.rule;
  f.object = name();
  f.message = fmt::format("{} {} {} while {}: {}", now.word, write ? "writes" : "reads", f.object,
                          describe(prior, write), v.why);
  f.details.push_back(fmt::format("first:  {}", describe(prior, true)));
  f.details.push_back(
      fmt::format("second: {} by {} at {} ({})", now.word, who(*now.thread), where(now.at), proxy_name(now.proxy)));
  f.role = now.thread->warp->role_name();
  f.cta = int(now.thread->cta->id);
  f.warp = now.thread->warp->index;
  f.lane = now.thread->lane();
  f.file = now.at.file;
  f.line = now.at.line;
  if (misled && misled->repeated.bar) {
    f.role = misled->warp->role_name();
    f.cta = int(misled->cta->id);
    f.warp = misled->warp->index;
    f.lane = misled->lane();
    f.file = misled->repeated.at.file;
    f.line = misled->repeated.at.line;
  }
  e.report(std::move(f));
}

// PTX 9.7.13.4: fence.proxy.async orders accesses to objects in the state space that it names. What the peer wrote to
// its own shared memory is in shared::cta of the thread that fences there.
bool fenced_by_owner(const Access& prior, const Cta& owner, const Toucher& now) {
  if (!now.reads_own_sm || !prior.by || prior.by->cta != &owner) return false;
  for (const auto& t : owner.threads)
    if (t->view[kToShared].knows(t->channel, prior.stamp)) return true;
  return false;
}

}  // namespace

bool ordered(const Access& prior, const Thread& t, const Access& mine, Proxy proxy, bool other_cta, bool global) {
  if (prior.asynchronous) {
    const bool two_mmas = prior.pipe == Pipe::mma && mine.pipe == Pipe::mma;
    if (prior.by == &t && prior.pipe != Pipe::none && mine.pipe != Pipe::none &&
        !(two_mmas && prior.accumulator != mine.accumulator))
      return true;  // kept in order by hardware
    if (prior.in_flight) return false;
    for (Stamp s : prior.done)
      if (prior.proxy == Proxy::tcgen ? t.tcgen_known.at(s.channel) >= s.epoch : t.view[kHb].knows(t.channel, s))
        return true;
    return false;
  }
  if (proxy == Proxy::generic) return prior.by == &t || t.view[kHb].knows(t.channel, prior.stamp);
  const ViewName v = global ? kToGlobal : other_cta ? kToCluster : kToShared;
  return t.view[v].knows(t.channel, prior.stamp);
}

Toucher own_access(Engine& e, Thread& t, const char* word, here at, bool atomic) {
  const uint8_t kind = atomic ? 2 : 1;
  t.touched = true;
  if (!(t.last_access && t.last_access_epoch == t.epoch && t.last_access_kind == kind &&
        t.last_access_at.line == at.line && t.last_access_at.file == at.file && e.log[t.last_access].word == word)) {
    Access a;
    a.by = &t;
    a.at = at;
    a.word = word;
    a.atomic = atomic;
    a.stamp = {t.channel, t.epoch};
    t.last_access = e.log.add(std::move(a));
    t.last_access_at = at;
    t.last_access_epoch = t.epoch;
    t.last_access_kind = kind;
  }
  return {&t, Proxy::generic, word, at, t.last_access};
}

Toucher async_access(Engine& e, Thread& t, const char* word, here at, Proxy proxy, Pipe pipe) {
  Access a;
  a.by = &t;
  a.at = at;
  a.word = word;
  a.proxy = proxy;
  a.pipe = pipe;
  a.asynchronous = true;
  a.in_flight = true;
  t.touched = true;
  return {&t, proxy, word, at, e.log.add(std::move(a))};
}

void complete(Engine& e, uint32_t access, Stamp s) {
  Access& a = e.log[access];
  a.in_flight = false;
  a.done.push_back(s);
}

void touch_shared(Engine& e, Cta& owner, const Toucher& now, uint32_t address, uint32_t bytes, bool write) {
  const uint32_t offset = address & kSharedOffsetMask;
  if (offset < owner.window - e.launch().shared_bytes || offset + bytes > owner.window)
    e.fail("bounds.shared",
           fmt::format("{} {} {} bytes at shared offset {}, outside the {} bytes of the block", now.word,
                       write ? "writes" : "reads", bytes, int64_t(offset) - 1024, e.launch().shared_bytes),
           now.thread, now.at);
  // The eight bytes of a live mbarrier belong to the mbarrier words.
  if (offset < owner.bars_end && offset + bytes > owner.bars_begin) {
    auto it = owner.bars.upper_bound(offset + bytes - 1);
    if (it != owner.bars.begin() && (--it)->second->valid && it->first + 8 > offset)
      e.fail(
          "mbarrier.overwritten",
          fmt::format("{} {} the bytes of live mbarrier {}", now.word, write ? "writes" : "reads", it->second->name()),
          now.thread, now.at, it->second->name());
  }
  if (!e.options().check) return;
  const uint32_t at = offset - (owner.window - e.launch().shared_bytes);
  if (!e.in_one_stage(at, bytes))
    e.fail("bounds.region",
           fmt::format("{} {} {} bytes from {} to {}: an access stays in one stage of one region of the block plan",
                       now.word, write ? "writes" : "reads", bytes, e.name_of(owner, offset),
                       e.name_of(owner, offset + bytes - 1)),
           now.thread, now.at, e.name_of(owner, offset));
  const bool other = &owner != now.thread->cta;
  auto name = [&] {
    return other ? fmt::format("{} of CTA {}", e.name_of(owner, offset), owner.id) : e.name_of(owner, offset);
  };
  uint32_t last = 0;
  owner.shadow.access(
      e.log, offset, bytes, now.id, write,
      [&](uint32_t prior) {
        if (prior == last) return;
        last = prior;
        conflict(e, now, prior, write, other && !fenced_by_owner(e.log[prior], owner, now), false, name);
      },
      [&](uint64_t at) {
        e.fail("uninitialised.shared",
               fmt::format("{} reads {} before anything was written there", now.word, e.name_of(owner, uint32_t(at))),
               now.thread, now.at, name());
      });
}

void touch_global(Engine& e, const Toucher& now, const void* p, uint64_t bytes, bool write) {
  const Buffer* b = e.buffer_of(p, bytes);
  if (!b)
    e.fail("bounds.global",
           fmt::format("{} {} {} bytes outside of every buffer of the launch: {}", now.word, write ? "writes" : "reads",
                       bytes, e.name_of_global(p, bytes)),
           now.thread, now.at, e.name_near(p));
  // A reader waits itself; a writer has waited, or follows a thread that has.
  if (e.options().primary_pending && b->from_primary && !now.thread->primary_waited &&
      !(write && e.knows_primary_ended(*now.thread))) {
    e.fail("dependent_launch.stale",
           fmt::format("{} {} {}, which the preceding kernel still {}: {} has not executed griddepcontrol.wait",
                       now.word, write ? "writes" : "reads", b->name, write ? "uses" : "writes",
                       write ? "this thread, or one that it waited for," : "this thread"),
           now.thread, now.at, b->name);
  }
  if (b->use == Buffer::Use::input) {
    if (write)
      e.fail("bounds.input", fmt::format("{} writes {}, which the launch declares as input", now.word, b->name),
             now.thread, now.at, b->name);
    return;  // nobody writes it: reads cannot race
  }
  if (!e.options().check) return;
  const uint64_t offset = uint64_t(static_cast<const uint8_t*>(p) - static_cast<const uint8_t*>(b->data));
  uint32_t last = 0;
  e.shadow_of(b).access(
      e.log, offset, bytes, now.id, write,
      [&](uint32_t prior) {
        if (prior == last) return;
        last = prior;
        conflict(e, now, prior, write, false, true, [&] { return fmt::format("{}+{}", b->name, offset); });
      },
      [&](uint64_t at) {
        if (b->use == Buffer::Use::output)
          e.fail("uninitialised.global",
                 fmt::format("{} reads {}+{} before anything was written there", now.word, b->name, at), now.thread,
                 now.at, b->name);
      });
}

void check_columns(Engine& e, Cta& owner, const Toucher& now, uint32_t column, uint32_t columns, bool write) {
  bool inside = false;
  for (const TmemAllocation& a : owner.allocations)
    inside |= column >= a.column && column + columns <= a.column + a.columns;
  if (!inside)
    e.fail("tmem.bounds",
           fmt::format("{} {} tensor-memory columns {}..{}, which are not allocated in CTA {}", now.word,
                       write ? "writes" : "reads", column, column + columns - 1, owner.id),
           now.thread, now.at);
}

void touch_tmem(Engine& e, Cta& owner, const Toucher& now, uint32_t lane, uint32_t lanes, uint32_t column,
                uint32_t columns, bool write) {
  check_columns(e, owner, now, column, columns, write);
  if (!e.options().check) return;
  uint32_t last = 0;
  auto name = [&] {
    return fmt::format("tmem lanes {}..{} columns {}..{}", lane, lane + lanes - 1, column, column + columns - 1);
  };
  // An accumulator of 64 rows fills 16 of the 32 lanes of a warp, whose load takes the others along.
  const uint32_t tolerated = lanes == 32 ? 1 : 0;
  for (uint32_t c = column; c < column + columns; ++c) {
    uint32_t unwritten = 0;
    for (uint32_t l = lane / 16; l <= (lane + lanes - 1) / 16; ++l)
      owner.tmem_shadow.access_cell(
          e.log, l * kTmemColumns + c, now.id, write,
          [&](uint32_t prior) {
            if (prior == last) return;
            last = prior;
            conflict(e, now, prior, write, false, false, name);
          },
          [&](uint64_t) { ++unwritten; });
    if (unwritten > tolerated)
      e.fail("uninitialised.tmem", fmt::format("{} reads {} before anything was written there", now.word, name()),
             now.thread, now.at, name());
  }
}

}  // namespace warpwright::simulator

// mbarrier words and the barrier object itself.
#include <algorithm>
#include <memory>
#include <string>

#include "fault/fault.h"
#include "words.h"

namespace warpwright::simulator {

std::string Bar::name() const {
  if (!spec) return fmt::format("mbarrier at shared offset {}", offset - 1024);
  return spec->stages > 1 ? fmt::format("{}[{}]", spec->name, index) : std::string(spec->name);
}

Bar& Engine::bar(Cta& cta, uint32_t offset, const Thread* t, here at, const char* what) {
  auto it = cta.bars.find(offset);
  if (it == cta.bars.end() || !it->second->valid)
    fail("mbarrier.invalid",
         fmt::format("{} on {}, which was never initialised (or was invalidated)", what, name_of(cta, offset)), t, at,
         name_of(cta, offset));
  return *it->second;
}

Cta& Engine::cta_at(Thread& t, uint32_t address, here at, const char* what) {
  const uint32_t rank = address >> kSharedRankShift;
  Cluster& c = *t.cta->cluster;
  if (rank >= c.ctas.size())
    fail("cluster.rank", fmt::format("{} names CTA rank {} of a cluster of {}", what, rank, c.ctas.size()), &t, at);
  Cta& cta = *c.ctas[rank];
  if (cta.alive == 0)
    fail("cluster.exited", fmt::format("{} reaches shared memory of CTA rank {}, which has exited", what, rank), &t,
         at);
  return cta;
}

// fence.mbarrier_init is a release of the initialisation alone, so a relaxed arrival at the cluster's barrier after it
// tells whoever waits there.
bool knows_initialisation(const Thread& t, const Bar& b) {
  if (b.initialised_by == &t || t.view[kHb].knows(t.channel, b.init)) return true;
  return b.announced != 0 && b.cta->cluster == t.cta->cluster && t.cluster_seen >= b.announced;
}

Bar& own_bar(Engine& e, Thread& t, uint32_t address, here at, const char* word) {
  if (address >> kSharedRankShift != t.cta->rank)
    e.fail("mbarrier.remote",
           fmt::format("{} is for barriers of the executing CTA; this address belongs to rank {}", word,
                       address >> kSharedRankShift),
           &t, at);
  const uint32_t offset = address & kSharedOffsetMask;
  if (offset % 8) e.fail("mbarrier.alignment", fmt::format("{}: an mbarrier is 8-byte aligned", word), &t, at);
  Bar& b = e.bar(*t.cta, offset, &t, at, word);
  if (e.options().check && !knows_initialisation(t, b))
    e.fail("mbarrier.init_order",
           fmt::format("{} on {}: nothing orders it after the initialisation at {}", word, b.name(), where(b.init_at)),
           &t, at, b.name());
  return b;
}

void check_remote_ready(Engine& e, Thread& t, const Bar& b, here at, const char* word) {
  if (!e.options().check) return;
  if (!b.init_fenced)
    e.fail("mbarrier.init_fence",
           fmt::format(
               "{} completes on {}, but the thread that initialised it ({}) has executed no fence.mbarrier_init since",
               word, b.name(), where(b.init_at)),
           &t, at, b.name());
  if (!knows_initialisation(t, b))
    e.fail("mbarrier.init_order",
           fmt::format("{} on {}: nothing orders it after the initialisation at {}", word, b.name(), where(b.init_at)),
           &t, at, b.name());
}

std::string repeated_wait(const Thread& t) {
  const Thread::Repeated& r = t.repeated;
  if (!r.bar) return {};
  return fmt::format("; the wait of {} on {} at {} did not wait: it passed on {}, as the one before it had", who(t),
                     r.bar->name(), where(r.at),
                     r.generation == 0 ? "the fresh barrier" : fmt::format("phase {}", r.generation - 1));
}

void Engine::arrive(Bar& b, int64_t count, Arrival who, const Issue* issued) {
  progress();
  if (options_.certify) certify_arrival(b, who, issued);
  // A surplus arrival is a symptom if the arriving thread came here through a wait that did not wait.
  auto surplus = [&](const char* rule, std::string message) {
    const std::string why = who.by ? repeated_wait(*who.by) : std::string();
    if (who.by) message = simulator::who(*who.by) + ": " + message;
    fail(why.empty() ? rule : "phase.repeated", message + why, who.by, why.empty() ? who.at : who.by->repeated.at,
         b.name());
  };
  if (b.generation > 0 && !b.observed && b.arrivals.empty())
    surplus("mbarrier.missing_wait", fmt::format("{} on {} starts phase {}, but no wait has observed that phase {} "
                                                 "completed: an arrival too many, or a wait too few",
                                                 who.what, b.name(), b.generation, b.generation - 1));
  if (b.pending < count)
    surplus("mbarrier.over_arrival",
            fmt::format("{} on {}: {} arrival{} when {} of {} are pending in phase {}", who.what, b.name(), count,
                        count == 1 ? "" : "s", b.pending, b.count, b.generation));
  if (b.spec && who.by) {
    const char* role = who.by->warp->role_name();
    int allowed = 0;
    for (const ArrivalSpec& a : b.spec->arrivals)
      if (a.role && same_text(a.role, role)) allowed += a.per_phase;
    int64_t have = count;
    for (const Arrival& a : b.arrivals)
      if (a.by && same_text(a.by->warp->role_name(), role)) ++have;
    if (allowed == 0)
      fail("mbarrier.foreign_arrival",
           fmt::format("{}: {} on {}, where the block plan lets only other roles arrive", simulator::who(*who.by),
                       who.what, b.name()),
           who.by, who.at, b.name());
    if (have > allowed)
      surplus("mbarrier.role_arrivals",
              fmt::format("{} on {}: role {} arrives {} times in phase {}, the block plan says {}", who.what, b.name(),
                          role, have, b.generation, allowed));
  }
  b.pending -= count;
  b.arrivals.push_back(who);
  if (options_.timeline && who.by && b.pending == 0 && b.tx == 0) {
    b.completing_span = who.asynchronous ? who.by->tcgen_last_span : arrival_span(*who.by, b.name(), who.at);
  }
  check_phase(b);
}

void Engine::complete_tx(Bar& b, int64_t bytes, here at, const Issue* issued) {
  progress();
  if (options_.certify) certify_arrival(b, {nullptr, at, "an asynchronous copy", true}, issued);
  b.tx -= bytes;
  b.in_flight_bytes -= bytes;
  if (b.pending == 0 && b.tx < 0)
    fail("mbarrier.tx_over",
         fmt::format("{} bytes more were delivered to {} in phase {} than its expect_tx announced", -b.tx, b.name(),
                     b.generation),
         nullptr, at, b.name());
  check_phase(b);
}

void Engine::check_phase(Bar& b) {
  if (b.pending != 0 || b.tx != 0) return;
  if (options_.certify) certify_completion(b);
  ++b.generation;
  b.pending = b.count;
  b.observed = false;
  b.last_arrivals.swap(b.arrivals);
  b.arrivals.clear();
  b.last_copiers.swap(b.copiers);
  b.copiers.clear();
  if (b.spec && b.spec->once && b.generation > 1) {
    fail("mbarrier.once",
         fmt::format("{} completes a second phase, and the block plan says that it is used once", b.name()), nullptr,
         b.last_arrivals.empty() ? here("", 0) : b.last_arrivals.back().at, b.name());
  }
  if (options_.check) {
    b.collecting.raise(kHb, b.channel, uint32_t(b.generation), clocks);
    if (options_.certify) b.collecting.raise(kControl, b.channel, uint32_t(b.generation), clocks);
    const size_t slot = size_t(b.generation - 1) & 1;
    b.released[slot] = b.collecting.freeze();
    b.released_cluster[slot] = b.collecting_cluster.freeze();
  }
  uint64_t time = now_;
  if (timed()) {
    b.completed_at = std::max(b.completed_at, now_);
    time = b.completed_at + timing.chip.barrier_wake;
    if (options_.timeline) phases.push_back({b.name(), int(b.cta->id), double(b.completed_at)});
  }
  wake_all(b.waiters, time);
}

}  // namespace warpwright::simulator

namespace warpwright::inline WW_WORLD::machine {
using namespace simulator;

void mbarrier_init(Shared<Mbarrier> a, uint32_t count, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const uint32_t offset = a.address & kSharedOffsetMask;
  e.word(t, e.timing.chip.barrier_init, at);
  if (a.address >> kSharedRankShift != t.cta->rank)
    e.fail("mbarrier.remote", "mbarrier.init of another CTA's barrier", &t, at);
  if (offset % 8) e.fail("mbarrier.alignment", "mbarrier.init: an mbarrier is 8-byte aligned", &t, at);
  if (offset + 8 > t.cta->window) e.fail("bounds.shared", "mbarrier.init outside the block's shared memory", &t, at);
  if (const Fault* f =
          fault_at(t, {"mbarrier_init", at, able({Fault::Action::add})}, [&] { return e.name_of(*t.cta, offset); })) {
    if (f->action == Fault::Action::drop) return;
    count = uint32_t(f->action == Fault::Action::add ? count + f->value : f->value);
  }
  if (count < 1 || count > 0xfffff)
    e.fail("mbarrier.count", fmt::format("mbarrier.init with count {}: 1..1048575 is legal", count), &t, at);
  auto& slot = t.cta->bars[offset];
  if (slot && slot->valid)
    e.fail("mbarrier.init_twice",
           fmt::format("mbarrier.init of {}, which is live (PTX: mbarrier.inval first)", slot->name()), &t, at,
           slot->name());
  const bool fresh = slot == nullptr;
  if (fresh) slot = std::make_unique<Bar>();
  Bar& b = *slot;
  const Channel channel = b.channel ? b.channel : t.cta->new_channel();
  const size_t number = fresh ? t.cta->bars.size() - 1 : b.number;
  b = Bar{};
  b.channel = channel;
  b.number = number;
  t.cta->bars_begin = std::min(t.cta->bars_begin, offset);
  t.cta->bars_end = std::max(t.cta->bars_end, offset + 8);
  b.cta = t.cta;
  b.offset = offset;
  b.valid = true;
  b.count = b.pending = count;
  b.initialised_by = &t;
  b.init = {t.channel, t.epoch};
  b.init_at = at;
  const BlockPlan& plan = *e.launch().plan;
  for (int i = 0; i < plan.barrier_count; ++i) {
    const BarrierSpec& s = plan.barriers[i];
    const uint32_t first = t.cta->window - e.launch().shared_bytes + s.offset;
    if (offset >= first && offset < first + 8 * uint32_t(s.stages)) {
      b.spec = &s;
      b.index = int(offset - first) / 8;
    }
  }
}

void mbarrier_invalidate(Shared<Mbarrier> a, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Bar& b = own_bar(e, t, a.address, at, "mbarrier.inval");
  e.word(t, e.timing.chip.barrier_arrive, at);
  if (!b.waiters.empty() || b.in_flight_bytes != 0)
    e.fail("mbarrier.inval_in_use",
           fmt::format("mbarrier.inval of {} while threads wait or bytes are in flight", b.name()), &t, at, b.name());
  b.valid = false;
}

namespace {
void arrive_local(Shared<Mbarrier> a, int64_t count, bool relaxed, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Arriving as{&own_bar(e, t, a.address, at, "mbarrier.arrive"), count};
  e.word(t, e.timing.chip.barrier_arrive, at);
  if (e.has_faults()) misdirect(t, 0, at, as);
  Bar& b = *as.at;
  for (; as.times > 0; --as.times) {
    b.completed_at = std::max(b.completed_at, t.time);
    if (!relaxed) e.release(t, b.collecting);
    if (relaxed && e.options().check) b.collecting.add(kTcgen, t.view[kTcgen], t.channel, e.clocks);
    if (relaxed) e.release_control(t, b.collecting);
    e.arrive(b, as.count, {&t, at, "mbarrier.arrive"});
  }
  e.maybe_yield(t);
}
}  // namespace

void mbarrier_arrive(Shared<Mbarrier> a, uint32_t count, here at) { arrive_local(a, count, false, at); }
void mbarrier_arrive_relaxed(Shared<Mbarrier> a, here at) { arrive_local(a, 1, true, at); }

namespace {
void expect(Engine& e, Thread& t, Bar& b, int64_t bytes, here at) {
  if (b.tx + bytes > 0xfffff)
    e.fail("mbarrier.tx_range",
           fmt::format("expect_tx({}) on {}: more than 1048575 bytes in one phase", bytes, b.name()), &t, at, b.name());
  b.tx += bytes;
}
}  // namespace

void mbarrier_arrive_expect_tx(Shared<Mbarrier> a, uint32_t bytes, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Announcing as{&own_bar(e, t, a.address, at, "mbarrier.arrive.expect_tx"), bytes};
  e.word(t, e.timing.chip.barrier_arrive, at);
  if (e.has_faults()) misdirect(t, "mbarrier_arrive_expect_tx", able({Fault::Action::postpone}), at, as);
  Bar& b = *as.at;
  for (; as.times > 0; --as.times) {
    expect(e, t, b, as.bytes, at);
    if (as.arrivals == 0) return;
    b.completed_at = std::max(b.completed_at, t.time);
    e.release(t, b.collecting);
    e.arrive(b, 1, {&t, at, "mbarrier.arrive.expect_tx"});
  }
  e.maybe_yield(t);
}

void mbarrier_expect_tx(Shared<Mbarrier> a, uint32_t bytes, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Announcing as{&own_bar(e, t, a.address, at, "mbarrier.expect_tx"), bytes};
  e.word(t, e.timing.chip.barrier_arrive, at);
  if (e.has_faults()) misdirect(t, "mbarrier_expect_tx", 0, at, as);
  for (; as.times > 0; --as.times) expect(e, t, *as.at, as.bytes, at);
}

namespace {
// What hardware answers, and whether that is the completion the caller means.
bool passes(Engine& e, Thread& t, Bar& b, Phase phase, uint32_t parity, here at, const char* word) {
  const bool pass = (uint32_t(b.generation) & 1) != parity;
  if (phase.parity_only()) return pass;
  const int64_t lap = phase.lap();
  if (pass && b.generation != lap + 1)
    e.fail("phase.alias",
           fmt::format("{}: {} on {} means the completion of phase {} but passes on that of phase {}: {}", who(t), word,
                       b.name(), lap, b.generation - 1,
                       b.generation <= lap ? "the parity of an older phase lets it through"
                                           : "it comes too late and sees a newer phase"),
           &t, at, b.name());
  if (!pass && b.generation != lap)
    e.fail(
        b.generation > lap ? "phase.missed" : "phase.alias",
        b.generation > lap
            ? fmt::format("{}: {} on {} means phase {}, which completed, but phase {} has completed as well: the "
                          "wait was overtaken and blocks",
                          who(t), word, b.name(), lap, b.generation - 1)
            : fmt::format("{}: {} on {} means phase {} while phase {} is still to come: it will pass one phase early",
                          who(t), word, b.name(), lap, b.generation),
        &t, at, b.name());
  return pass;
}

void observe(Engine& e, Thread& t, Bar& b, Scope scope, here at) {
  waited(t, {"mbarrier.try_wait", at, &b, b.generation, &b});
  if (e.options().certify) e.certify_wait(t, b, at);
  if (t.observed.size() <= b.number) t.observed.resize(t.cta->bars.size(), -1);
  if (t.observed[b.number] == b.generation) {
    t.repeated = {&b, b.generation, t.epoch, at};
  } else if (t.repeated.bar == &b) {
    t.repeated = {};
  }
  t.observed[b.number] = b.generation;
  b.awaited = true;
  t.word_began.waits = true;
  if (b.generation == 0) return;  // vacuous: a fresh barrier
  b.observed = true;
  const size_t slot = size_t(b.generation - 1) & 1;
  e.acquire(t, b.released[slot]);
  if (scope >= Scope::cluster) e.acquire(t, b.released_cluster[slot]);
}

bool poll(Shared<Mbarrier> a, Phase phase, bool may_suspend, here at, const char* word) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Waiting as{&own_bar(e, t, a.address, at, word), phase.parity()};
  e.word(t, e.timing.chip.barrier_arrive, at);
  e.path_may_change(fmt::format("{} at {}: what a thread does may depend on the answer", word, where(at)));
  if (e.has_faults()) misdirect(t, at, as);
  if (as.dropped) return true;
  Bar& b = *as.on;
  const uint32_t parity = as.parity;
  if (passes(e, t, b, phase, parity, at, word)) {
    t.polls = 0;
    observe(e, t, b, Scope::cta, at);
    return true;
  }
  if (may_suspend && e.gives_up()) {
    e.maybe_yield(t);
    return false;
  }
  if (may_suspend || ++t.polls > 1) {  // a spinning loop: let others run, and be seen as waiting
    t.wait_phase = phase.lap();
    b.awaited = true;
    b.waiters.push_back(&t);
    e.pollers().push_back(&t);
    e.block(t, Wait::poll, &b, at);
    if (may_suspend && passes(e, t, b, phase, parity, at, word)) {
      observe(e, t, b, Scope::cta, at);
      return true;
    }
  }
  return false;
}
}  // namespace

bool mbarrier_test_wait(Shared<Mbarrier> a, Phase phase, here at) {
  return poll(a, phase, false, at, "mbarrier.test_wait");
}
bool mbarrier_try_wait(Shared<Mbarrier> a, Phase phase, here at) {
  return poll(a, phase, true, at, "mbarrier.try_wait");
}

namespace detail {

void mbarrier_wait(Shared<Mbarrier> a, Phase phase, Scope scope, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Waiting as{&own_bar(e, t, a.address, at, "mbarrier.try_wait"), phase.parity(), scope};
  e.word(t, e.timing.chip.word_issue, at);
  e.maybe_yield(t);
  if (e.has_faults()) misdirect(t, at, as);
  if (as.dropped) return;
  Bar& b = *as.on;
  while (!passes(e, t, b, phase, as.parity, at, "mbarrier.try_wait")) {
    t.wait_phase = phase.lap();
    b.awaited = true;
    b.waiters.push_back(&t);
    e.block(t, Wait::mbarrier, &b, at);
  }
  if (e.timed() && b.generation > 0) t.time = std::max(t.time, b.completed_at + e.timing.chip.barrier_wake);
  observe(e, t, b, as.scope, at);
}

namespace {
// An arrival that releases ordinary stores follows those to the other CTAs.
uint64_t remote_arrival_time(const Engine& e, const Thread& t, bool own, Scope scope) {
  const ChipTiming& c = e.timing.chip;
  if (scope == Scope::cta) return t.time + (own ? 0 : c.cluster_latency);
  const auto sent = uint64_t(t.cta->peers.free_at);
  return (sent > t.time ? sent + c.cluster_latency : t.time) + c.cluster_release;
}
}  // namespace

void mbarrier_arrive_remote(ClusterShared<Mbarrier> a, uint32_t count, Scope scope, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = "mbarrier.arrive.shared::cluster";
  Arriving as{nullptr, count, scope};
  as.at = &e.bar(e.cta_at(t, a.address, at, word), a.address & kSharedOffsetMask, &t, at, word);
  e.word(t, e.timing.chip.barrier_arrive, at);
  if (e.has_faults()) {
    misdirect(t,
              able(as.at->cta != t.cta, Fault::Action::peer) |
                  able(scope != Scope::cta && as.at->cta != t.cta, Fault::Action::scope),
              at, as);
  }
  Bar& b = *as.at;
  Cta& cta = *b.cta;
  const bool own = &cta == t.cta;
  if (!own) check_remote_ready(e, t, b, at, word);
  for (; as.times > 0; --as.times) {
    if (e.timed()) b.completed_at = std::max(b.completed_at, remote_arrival_time(e, t, own, as.scope));
    if (!own) cta.remote.push_back({0, {t.channel, t.epoch}, &t, word, at, &b, b.generation + 1});
    if (own || as.scope == Scope::cta) {
      e.release(t, b.collecting, !own);
    } else {
      e.release(t, b.collecting, true);
      e.release(t, b.collecting_cluster);
    }
    e.arrive(b, as.count, {&t, at, word});
  }
  e.maybe_yield(t);
}

void mbarrier_arrive_expect_tx_remote(ClusterShared<Mbarrier> a, uint32_t bytes, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = "mbarrier.arrive.expect_tx.shared::cluster";
  Cta& cta = e.cta_at(t, a.address, at, word);
  Announcing as{&e.bar(cta, a.address & kSharedOffsetMask, &t, at, word), bytes};
  e.word(t, e.timing.chip.barrier_arrive, at);
  if (e.has_faults()) misdirect(t, "mbarrier_arrive_expect_tx", 0, at, as);
  Bar& b = *as.at;
  if (&cta != t.cta) check_remote_ready(e, t, b, at, word);
  for (; as.times > 0; --as.times) {
    expect(e, t, b, as.bytes, at);
    b.completed_at = std::max(b.completed_at, t.time);
    if (&cta != t.cta) cta.remote.push_back({0, {t.channel, t.epoch}, &t, word, at, &b, b.generation + 1});
    e.release(t, b.collecting, &cta != t.cta);
    e.arrive(b, 1, {&t, at, "mbarrier.arrive.expect_tx"});
  }
  e.maybe_yield(t);
}

}  // namespace detail
}  // namespace warpwright::inline WW_WORLD::machine

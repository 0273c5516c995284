// Words that threads execute together, barriers of block and cluster, fences, identity.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "fault/fault.h"
#include "report.h"
#include "warpwright/machine/sim/lanes.h"
#include "words.h"

namespace warpwright::simulator {

void finish_collective(Engine& e, Warp& w) {
  Collective& c = w.collective;
  ++e.stats.warp_instructions;
  const uint32_t present = c.arrived;
  const uint64_t time = c.time;
  settle_trails(e, w);
  e.meet(w, present);
  c.finish(c.context);
  c.arrived = 0;
  ++c.generation;
  for (int i = 0; i < 32; ++i)
    if (present >> i & 1) e.wake(*w.lanes[i], time);
}

namespace {
void finish_group_if_complete(Engine& e, Warp& w, uint32_t mask, LaneGroup& g) {
  if (g.arrived == 0 || g.arrived != (mask & w.live)) return;
  g.released = g.collecting.freeze();
  ++g.generation;
  for (int i = 0; i < 32; ++i)
    if (g.arrived >> i & 1) e.wake(*w.lanes[i], g.time);
  g.arrived = 0;
  g.time = 0;
}
}  // namespace

void finish_collective_after_exit(Engine& e, Warp& w) {
  Collective& c = w.collective;
  for (auto& [mask, group] : w.groups) finish_group_if_complete(e, w, mask, group);
  if (c.arrived != 0 && c.arrived == (c.mask & w.live)) finish_collective(e, w);
}

namespace {

void complete_named(Engine& e, Cta& cta, int id) {
  NamedBarrier& b = cta.named[id];
  e.progress();
  if (e.options().check) {
    if (!b.channel) b.channel = cta.new_channel();
    b.collecting.raise(kHb, b.channel, uint32_t(b.generation + 1), e.clocks);
  }
  b.released = b.collecting.freeze();
  b.got = b.need = 0;
  b.last_arrived.swap(b.arrived);
  b.arrived.clear();
  ++b.generation;
  e.wake_all(b.waiters, b.completed_at + (e.timed() ? e.timing.chip.named_barrier : 0));
}

// A warp counts with all its threads as long as one of them lives.
int threads_of_live_warps(const Cta& cta) {
  int threads = 0;
  for (const auto& w : cta.warps) threads += w->live != 0 ? 32 : 0;
  return threads;
}

// The warp has met: one arrival of its live lanes.
void arrive_named(Engine& e, Thread& t, int id, int threads, bool sync, bool aligned, here at, const char* word) {
  Cta& cta = *t.cta;
  NamedBarrier& b = cta.named[id];
  auto name = [&] {
    const BlockPlan& plan = *e.launch().plan;
    for (int i = 0; i < plan.named_count; ++i)
      if (plan.named[i].id == id) return fmt::format("named barrier {} ({})", id, plan.named[i].name);
    return fmt::format("named barrier {}", id);
  };
  if (threads % 32 || threads < 32 || threads > int(e.launch().threads))
    e.fail("named.count",
           fmt::format("{} on {} with {} threads: a multiple of 32 in the block is legal", word, name(), threads), &t,
           at, name());
  if (b.got == 0) {
    b.need = threads;
    b.first_at = at;
    b.aligned = aligned;
  } else if (b.need != threads) {
    e.fail("named.count",
           fmt::format("{} on {} says {} threads, {} said {}", word, name(), threads, where(b.first_at), b.need), &t,
           at, name());
  }
  if ((b.aligned || aligned) && !same_place(b.first_at, at))
    e.fail("named.aligned",
           fmt::format(
               "the aligned barrier {} is reached from {} and from {}: all threads must execute the same instruction",
               name(), where(b.first_at), where(at)),
           &t, at, name());
  for (const Warp* w : b.arrived)
    if (w == t.warp)
      e.fail("named.lap",
             fmt::format("warp {} ({}) arrives again on {} before the others have: it has lapped them", t.warp->index,
                         t.warp->role_name(), name()),
             &t, at, name());
  if (e.options().check && b.generation > 0) {
    // Unless the warp knows that the last use of the barrier is over, its arrival could have fallen into that use.
    bool knows = false, again = false;
    for (const Thread* l : t.warp->lanes)
      knows |= l && !l->done && l->view[kHb].knows(l->channel, {b.channel, uint32_t(b.generation)});
    for (const Warp* w : b.last_arrived) again |= w == t.warp;
    if (!knows && again)
      e.fail("named.lap",
             fmt::format("warp {} ({}) arrives again on {}, and nothing tells it that the others have come to its last "
                         "use: it can lap them",
                         t.warp->index, t.warp->role_name(), name()),
             &t, at, name());
    if (!knows)
      e.fail("named.over",
             fmt::format("warp {} ({}) arrives on {} after its {} threads have come, and nothing orders it after them: "
                         "more threads use the barrier than its count, or two groups share its id",
                         t.warp->index, t.warp->role_name(), name(), threads),
             &t, at, name());
  }
  if (e.options().certify) {
    BarrierProof& proof = e.proof(id == 0 ? "__syncthreads" : name().c_str());
    proof.phases += b.got == 0;
    ++proof.arrivals;
    proof.waits += sync;
  }
  b.arrived.push_back(t.warp);
  b.got += 32;
  b.completed_at = std::max(b.completed_at, t.time);
  for (Thread* l : t.warp->lanes)
    if (l && !l->done && e.options().check) e.release(*l, b.collecting);
  if (b.got > b.need)
    e.fail("named.over", fmt::format("more threads arrive on {} than its {}", name(), b.need), &t, at, name());
  if (b.got == b.need || (id == 0 && b.got >= threads_of_live_warps(cta))) {
    b.completing_span = e.arrival_span(t, name(), at);
    complete_named(e, cta, id);
  }
}

void named(uint32_t id, int threads, bool sync, bool aligned, here at, const char* word) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (id > 15) e.fail("named.id", fmt::format("{}: barrier id {} is not in 0..15", word, id), &t, at);
  {
    using enum Fault::Action;
    const uint32_t can = id == 0 ? 0 : able({add, stage}) | able(sync, postpone);  // 0 is __syncthreads
    if (const Fault* f = fault_at(t, {word, at, can}, [&] { return std::to_string(id); })) {
      if (f->action == drop) return;
      if (f->action == alter) threads = int(f->value);
      if (f->action == add) threads += int(f->value);
      if (f->action == postpone) sync = false;  // an arrival instead of a wait
      if (f->action == duplicate) id = uint32_t(f->value);
      if (f->action == stage) id = (id + uint32_t(f->value)) % 16;
    }
  }
  NamedBarrier& b = t.cta->named[id];
  rendezvous(e, t, word, machine::kFullMask, aligned ? Meeting::here : Meeting::apart, at,
             [&] { arrive_named(e, t, int(id), threads, sync, aligned, at, word); });
  if (!sync) return;
  // The generation that this warp's arrival belongs to is over when the warp is no longer in `arrived`.
  auto pending = [&] {
    for (const Warp* w : b.arrived)
      if (w == t.warp) return true;
    return false;
  };
  while (pending()) {
    b.waiters.push_back(&t);
    e.block(t, Wait::named, &b, at);
  }
  e.adopt(t, b.released);
}

}  // namespace

void named_barriers_after_exit(Engine& e, Cta& cta) {
  // __syncthreads counts live threads only; a count given explicitly never shrinks.
  NamedBarrier& b = cta.named[0];
  if (b.got > 0 && b.got >= threads_of_live_warps(cta)) complete_named(e, cta, 0);
}

namespace {
void complete_cluster(Engine& e, Cluster& c) {
  e.progress();
  if (e.options().check) {
    if (!c.channel) c.channel = c.ctas.front()->new_channel();
    c.collecting.raise(kHb, c.channel, uint32_t(c.generation + 1), e.clocks);
  }
  c.released = c.collecting.freeze();
  c.arrived = 0;
  c.arrived_threads.clear();
  ++c.generation;
  e.wake_all(c.waiters, c.completed_at + (e.timed() ? e.timing.chip.cluster_barrier : 0));
}
}  // namespace

void cluster_barrier_after_exit(Engine& e, Cluster& c) {
  if (c.arrived > 0 && c.arrived >= c.alive) complete_cluster(e, c);
}

}  // namespace warpwright::simulator

namespace warpwright::inline WW_WORLD::machine {
using namespace simulator;

uint32_t thread_index() { return Engine::self().index; }
uint32_t block_threads() { return Engine::self().cta->engine->launch().threads; }
Index3 block_index() { return Engine::self().cta->block; }
Index3 grid_size() { return Engine::self().cta->engine->launch().grid; }
uint32_t cluster_rank() { return Engine::self().cta->rank; }
uint32_t cluster_size() { return uint32_t(Engine::self().cta->cluster->ctas.size()); }
uint32_t cluster_index() { return Engine::self().cta->cluster->id; }
uint32_t cluster_count() { return Engine::self().cta->engine->total_clusters; }
uint32_t shared_base() { return Engine::self().cta->rank << kSharedRankShift | 1024; }

bool elect_one(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  Collective& c = t.warp->collective;
  rendezvous(e, t, "elect.sync", kFullMask, Meeting::here, at,
             [&] { c.out[0] = uint32_t(std::countr_zero(c.arrived)); });
  if (const Fault* f = fault_at(t, {"elect_one", at, able({Fault::Action::alter})}))
    if (f->action == Fault::Action::alter) return f->value == 0;  // all lanes do it; otherwise none
  return c.out[0] == uint32_t(t.lane());
}

void sync_warp(uint32_t mask, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "sync_warp", at)) return;
  Warp& w = *t.warp;
  if (mask != kFullMask && mask >> t.lane() & 1) {
    LaneGroup& g = w.groups[mask];
    const uint64_t generation = g.generation;
    g.arrived |= 1u << t.lane();
    g.time = std::max(g.time, t.time);
    e.release(t, g.collecting);
    finish_group_if_complete(e, w, mask, g);
    while (g.generation == generation) e.block(t, Wait::warp, &g, at);
    e.acquire(t, g.released);
    waited(t, {"bar.warp.sync", at, &g, int64_t(generation)});
    return;
  }
  rendezvous(e, t, "bar.warp.sync", mask, Meeting::anywhere, at, [&] {
    if (!e.options().check) return;
    SyncBuilder all;
    for (Thread* l : w.lanes)
      if (l && (w.collective.arrived >> l->lane() & 1)) e.release(*l, all);
    const SyncClocks clocks = all.freeze();
    for (Thread* l : w.lanes)
      if (l && (w.collective.arrived >> l->lane() & 1)) e.adopt(*l, clocks);
  });
}

namespace {
// Every lane offers a word; returns what they offered.
const uint32_t* exchange(Engine& e, Thread& t, uint32_t value, const char* word, here at) {
  Collective& c = t.warp->collective;
  e.word(t, std::max(e.timing.chip.word_issue, e.timing.chip.shuffle), at);
  c.in[t.lane()] = value;
  rendezvous(e, t, word, kFullMask, Meeting::here, at, [&] {
    for (int i = 0; i < 32; ++i) c.out[i] = c.arrived >> i & 1 ? c.in[i] : 0;
  });
  return c.out;
}
}  // namespace

uint32_t ballot(bool predicate, here at) {
  Thread& t = Engine::self();
  const uint32_t* offered = exchange(*t.cta->engine, t, predicate, "vote.ballot", at);
  uint32_t r = 0;
  for (int i = 0; i < 32; ++i) r |= (offered[i] & 1) << i;
  return r;
}

namespace {
// How many of the lanes that vote say yes, of how many.
std::pair<int, int> vote(bool predicate, const char* word, here at) {
  Thread& t = Engine::self();
  const uint32_t* offered = exchange(*t.cta->engine, t, predicate ? 1 : 2, word, at);
  int yes = 0, all = 0;
  for (int i = 0; i < 32; ++i) {
    yes += offered[i] == 1;
    all += offered[i] != 0;
  }
  return {yes, all};
}
}  // namespace

bool vote_any(bool predicate, here at) { return vote(predicate, "vote.any", at).first > 0; }
bool vote_all(bool predicate, here at) {
  const auto [yes, all] = vote(predicate, "vote.all", at);
  return yes == all;
}

uint32_t detail::shuffle_bits(uint32_t value, uint32_t source_lane, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  if (!(t.warp->live >> (source_lane % 32) & 1))
    e.fail("warp.mask", fmt::format("shfl.sync reads lane {}, which has exited", source_lane), &t, at);
  const uint32_t v = exchange(e, t, value, "shfl.sync", at)[source_lane % 32];
  if (const Fault* f = fault_at(t, {"shuffle", at}); f && f->action == Fault::Action::alter) return uint32_t(f->value);
  return v;
}

void sync_block(here at) { named(0, int(Engine::self().cta->engine->launch().threads), true, true, at, "sync_block"); }
void named_barrier_sync(uint32_t id, uint32_t threads, here at) {
  named(id, int(threads), true, false, at, "named_barrier_sync");
}
void named_barrier_arrive(uint32_t id, uint32_t threads, here at) {
  named(id, int(threads), false, false, at, "named_barrier_arrive");
}
void named_barrier_sync_aligned(uint32_t id, uint32_t threads, here at) {
  named(id, int(threads), true, true, at, "named_barrier_sync_aligned");
}

namespace {
void arrive_cluster(bool relaxed, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Cluster& c = *t.cta->cluster;
  e.word(t, e.timing.chip.word_issue, at);
  if (const Fault* f = fault_at(t, {"cluster_sync", at, able(!relaxed, Fault::Action::scope)})) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::scope) relaxed = true;
  }
  for (const Thread* o : c.arrived_threads)
    if (o == &t) e.fail("cluster.lap", "barrier.cluster.arrive twice in one phase", &t, at);
  if (t.cluster_phase != 0 && e.options().check &&
      !t.view[kHb].knows(t.channel, {c.channel, uint32_t(t.cluster_phase)}))
    e.fail("cluster.lap",
           "barrier.cluster.arrive again, and nothing tells the thread that the others have come to the last one: it "
           "can lap them",
           &t, at);
  c.arrived_threads.push_back(&t);
  if (e.options().certify) {
    BarrierProof& proof = e.proof("the cluster's barrier");
    proof.phases += c.arrived == 0;
    ++proof.arrivals;
  }
  if (!relaxed) e.release(t, c.collecting);
  if (relaxed) e.release_control(t, c.collecting);
  c.completed_at = std::max(c.completed_at, t.time + (relaxed || !e.timed() ? 0 : e.timing.chip.cluster_release));
  t.cluster_phase = c.generation + 1;
  if (relaxed)
    for (auto& [offset, b] : t.cta->bars)
      if (b->initialised_by == &t && b->init_fenced && b->announced == 0) b->announced = t.cluster_phase;
  if (++c.arrived == c.alive) {
    c.completing_span = e.arrival_span(t, "the cluster barrier", at);
    complete_cluster(e, c);
  }
}
}  // namespace

void cluster_arrive(here at) { arrive_cluster(false, at); }
void cluster_arrive_relaxed(here at) { arrive_cluster(true, at); }

void cluster_wait(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Cluster& c = *t.cta->cluster;
  e.word(t, e.timing.chip.word_issue, at);
  if (const Fault* f = fault_at(t, {"cluster_sync", at, able({Fault::Action::postpone})}))
    if (f->action == Fault::Action::drop || f->action == Fault::Action::postpone) return;
  if (t.cluster_phase == 0) e.fail("cluster.wait", "barrier.cluster.wait without an arrive of this thread", &t, at);
  if (e.options().certify) ++e.proof("the cluster's barrier").waits;
  while (c.generation < t.cluster_phase) {
    c.waiters.push_back(&t);
    e.block(t, Wait::cluster, &c, at);
  }
  waited(t, {"barrier.cluster.wait", at, &c, int64_t(t.cluster_phase)});
  t.cluster_seen = t.cluster_phase;
  t.cluster_phase = 0;
  e.acquire(t, c.released);
}

void fence_mbarrier_init(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "fence_mbarrier_init", at)) return;
  for (auto& [offset, b] : t.cta->bars)
    if (b->initialised_by == &t) b->init_fenced = true;
}

void fence_tensormap_release(here at) { Engine::self().cta->engine->word(Engine::self(), 200, at); }

void fence_tensormap_acquire(const TensorMap* map, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, 200, at);
  if (is_dropped(t, "fence_tensormap_acquire", at)) return;
  t.cta->seen_maps[map] = e.map_versions[map];
}

namespace detail {

void fence_proxy_async(ProxySpace space, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, std::max(e.timing.chip.word_issue, e.timing.chip.proxy_fence), at);
  if (const Fault* f =
          fault_at(t, {"fence_proxy_async", at, able(space != ProxySpace::shared_cta, Fault::Action::scope)})) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::alter) space = ProxySpace(f->value);
    if (f->action == Fault::Action::scope) space = ProxySpace::shared_cta;
  }
  for (auto& [offset, b] : t.cta->bars)
    if (b->initialised_by == &t) b->init_fenced = true;
  if (!e.options().check) return;
  auto cover = [&](int v) {
    t.view[v].base = e.clocks.join(t.view[v].base, t.view[kHb].base);
    t.view[v].own = t.epoch;
  };
  if (space != ProxySpace::global) cover(kToShared);
  if (space == ProxySpace::all || space == ProxySpace::shared_cluster) cover(kToCluster);
  if (space == ProxySpace::all || space == ProxySpace::global) cover(kToGlobal);
  ++t.epoch;
}

void fence_memory(Order order, Scope, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, 40, at);
  if (is_dropped(t, "fence_memory", at) || !e.options().check) return;
  if ((order == Order::acquire || order == Order::acq_rel) && t.fence_pending)
    e.path_may_change(
        fmt::format("a fence at {} takes up a value in global memory: the path may depend on it", where(at)));
  if (order == Order::acquire || order == Order::acq_rel)
    t.view[kHb].base = e.clocks.join(t.view[kHb].base, t.fence_pending);
  if (order == Order::release || order == Order::acq_rel) {
    t.fence_base = t.view[kHb].base;
    t.fence_epoch = t.epoch++;
  }
}

}  // namespace detail
}  // namespace warpwright::inline WW_WORLD::machine

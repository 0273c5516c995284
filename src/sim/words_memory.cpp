// Loads, stores and atomics.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "fault/fault.h"
#include "warpwright/machine/sim/atomics.h"
#include "words.h"

namespace warpwright::inline WW_WORLD::machine::detail {
using namespace simulator;

namespace {
template <class Name>
void check_alignment(Engine& e, Thread& t, uint64_t address, uint32_t bytes, here at, const char* word,
                     const Name& name) {
  if (address % bytes)
    e.fail("bounds.alignment",
           fmt::format("{} of {} bytes at {}, which is not a multiple of {}", word, bytes, name(), bytes), &t, at,
           name());
}

void shared_access(uint32_t address, void* to, const void* from, uint32_t bytes, bool cluster, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word =
      from ? (cluster ? "st.shared::cluster" : "st.shared") : (cluster ? "ld.shared::cluster" : "ld.shared");
  Cta& cta = cluster ? e.cta_at(t, address, at, word) : *t.cta;
  if (!cluster && address >> kSharedRankShift != t.cta->rank)
    e.fail("bounds.shared",
           fmt::format("{} with an address of CTA rank {}: map_to_rank gives a ClusterShared", word,
                       address >> kSharedRankShift),
           &t, at);
  check_alignment(e, t, address, bytes, at, word, [&] { return e.name_of(cta, address & kSharedOffsetMask); });
  const bool other = &cta != t.cta;
  e.word(t, from ? e.timing.chip.shared_store : e.timing.chip.shared_load, at);
  if (cluster && e.timed()) {  // the path is the same to the CTA's own memory
    t.cta->peers.carry(t.time, bytes, e.timing.chip.cluster_bytes_per_cycle);
    if (!from) t.time += e.timing.chip.cluster_latency;
  }
  const Toucher now = own_access(e, t, word, at);
  if (other) cta.remote.push_back({0, {t.channel, t.epoch}, &t, word, at});
  touch_shared(e, cta, now, address, bytes, from != nullptr);
  uint8_t* p = cta.shared + (address & kSharedOffsetMask);
  if (from) {
    std::memcpy(p, from, bytes);
  } else {
    std::memcpy(to, p, bytes);
  }
}

// On a chip whose loads go through the L1, stores by threads take the same path out of the SM as those of the TMA, and
// they stay in the L2.
void store_ordinary(Engine& e, const Thread& t, const void* p, uint32_t bytes) {
  const ChipTiming& c = e.timing.chip;
  if (c.l2_load == 0) return;
  const uint64_t sent = t.cta->store.carry(t.time, bytes, c.tma_store_bytes_per_cycle);
  e.timing.stored_at = std::max(e.timing.stored_at, sent + c.l2_load);
  e.timing.cached.ask(e.device_address(p), bytes);
  e.timing.cached.came(sent);
}
// When others can see them: a release to the GPU waits for them.
uint64_t stored(const Engine& e, const Thread& t) {
  if (e.timing.chip.l2_load == 0) return t.time;
  return std::max(t.time, uint64_t(t.cta->store.free_at)) + e.timing.chip.cluster_release;
}

// Synchronisation through global memory: what the writes to an address have published.
void publish(Engine& e, Thread& t, const void* p, Order order) {
  if (!e.options().check) return;
  SyncBuilder& b = e.global_sync[p];
  if (order == Order::release || order == Order::acq_rel) {
    e.release(t, b);
  } else if (t.fence_epoch) {
    View v{t.fence_base, t.fence_epoch};
    b.add(kHb, v, t.channel, e.clocks);
  }
}
void subscribe(Engine& e, Thread& t, const void* p, Order order) {
  if (!e.options().check) return;
  auto it = e.global_sync.find(p);
  if (it == e.global_sync.end()) return;
  SyncClocks snapshot = it->second.freeze();
  it->second.join(snapshot, e.clocks);
  if (order == Order::acquire || order == Order::acq_rel) {
    e.path_may_change(
        fmt::format("a value in global memory is acquired at {}: the path may depend on it", where(t.where)));
    e.acquire(t, snapshot);
  } else {
    t.fence_pending = e.clocks.join(t.fence_pending, snapshot.view[kHb]);
  }
}
uint64_t number_at(const void* p, uint32_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, p, std::min<size_t>(bytes, sizeof value));
  return value;
}
}  // namespace

void load_shared(uint32_t address, void* to, uint32_t bytes, here at) {
  shared_access(address, to, nullptr, bytes, false, at);
}
void store_shared(uint32_t address, const void* from, uint32_t bytes, here at) {
  shared_access(address, nullptr, from, bytes, false, at);
}
void load_cluster(uint32_t address, void* to, uint32_t bytes, here at) {
  shared_access(address, to, nullptr, bytes, true, at);
}
void store_cluster(uint32_t address, const void* from, uint32_t bytes, here at) {
  shared_access(address, nullptr, from, bytes, true, at);
}

void load_global(const void* p, void* to, uint32_t bytes, Order order, Scope, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const bool strong = order != Order::relaxed;
  const char* word = strong ? "ld.acquire" : "ld.global";
  check_alignment(e, t, reinterpret_cast<uintptr_t>(p), bytes, at, word, [&] { return e.name_of_global(p, bytes); });
  if (strong) {  // a spinning loop must let others run, and may see every value on the way
    e.word(t, e.timing.chip.global_load, at);
    // A loop that spins waits for something new to see; in a timed run it sees what is there when its load is made.
    const bool news = e.timed() && (t.wait_object != p || t.polled != number_at(e.host(p), bytes));
    if (news) {
      t.wait_object = p;
      e.let_earlier_run(t);
    } else if (!e.gives_up()) {
      e.pollers().push_back(&t);
      e.block(t, Wait::poll, p, at);
    }
    waited(t, {word, at, at.file, at.line});
  } else {
    e.load_word(t, p, bytes, at);
  }
  touch_global(e, own_access(e, t, word, at, strong), p, bytes, false);
  const Fault* f = strong ? fault_at(t, {"load_acquire", at}, [&] { return e.name_of_global(p); }) : nullptr;
  if (strong && !f) subscribe(e, t, p, order);
  std::memcpy(to, e.host(p), bytes);
  if (strong) t.polled = number_at(e.host(p), bytes);
  // Dropped: what was published stays unknown. Altered: the value that a loop waits for comes at once.
  if (f && f->action == Fault::Action::alter) std::memcpy(to, &f->value, std::min<size_t>(bytes, sizeof f->value));
}

void store_global(void* p, const void* from, uint32_t bytes, Order order, Scope, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const bool strong = order != Order::relaxed;
  const char* word = strong ? "st.release" : "st.global";
  const Fault* f =
      strong ? fault_at(t, {"store_release", at, able({Fault::Action::alter})}, [&] { return e.name_of_global(p); })
             : nullptr;
  if (f && f->action == Fault::Action::drop) return;
  check_alignment(e, t, reinterpret_cast<uintptr_t>(p), bytes, at, word, [&] { return e.name_of_global(p, bytes); });
  e.word(t, e.timing.chip.global_store, at);
  if (e.timed()) {
    e.let_earlier_run(t);
    e.timing.look_at_clock(t.time, e.stats.tensor_busy_cycles);
    e.timing.through_memory(t.time, bytes);  // written back at some time, to make room
    e.timing.written += bytes;
    if (strong) t.time = stored(e, t);
    store_ordinary(e, t, p, bytes);
  }
  touch_global(e, own_access(e, t, word, at, strong), p, bytes, true);
  if (strong && !f) publish(e, t, p, order);  // altered: the value without what was written before it
  e.progress();
  std::memcpy(e.host(p), from, bytes);
  e.wake_pollers(p, t.time);
  auto it = e.map_versions.upper_bound(static_cast<const TensorMap*>(p));
  if (it != e.map_versions.begin() && reinterpret_cast<const uint8_t*>((--it)->first) + sizeof(TensorMap) > p) {
    ++it->second;
    auto uses = e.map_uses.find(it->first);
    if (uses == e.map_uses.end()) return;
    for (const uint32_t id : uses->second)
      if (const Access& use = e.log[id]; !ordered(use, t, {}, Proxy::generic, false, true))
        e.fail("tma.map_in_flight",
               fmt::format("{} rewrites a tensor map that the {} at {} uses: {}", word, use.word, where(use.at),
                           use.in_flight ? "that copy is not complete"
                                         : "nothing makes the completion of that copy known to this thread"),
               &t, at, e.name_of_global(p));
    uses->second.clear();
  }
}

namespace {
constexpr int kExchange = 1;  // among the operations of atomic()

template <class T>
void apply(T& x, int op, T v, T compare, T& old) {
  old = x;
  switch (op) {
    case 0:
      x = T(x + v);
      break;
    case kExchange:
      x = v;
      break;
    case 2:
      x = x == compare ? v : x;
      break;
    case int(Atom::max):
      x = std::max(x, v);
      break;
    case int(Atom::min):
      x = std::min(x, v);
      break;
    default:
      if constexpr (std::is_integral_v<T>)
        x = op == int(Atom::bit_and) ? x & v : op == int(Atom::bit_or) ? x | v : x ^ v;
  }
}
template <class T>
void apply_at(void* p, int op, const void* value, const void* compare, void* old) {
  T v, c{}, o, x;
  std::memcpy(&v, value, sizeof(T));
  if (compare) std::memcpy(&c, compare, sizeof(T));
  std::memcpy(&x, p, sizeof(T));
  apply(x, op, v, c, o);
  std::memcpy(p, &x, sizeof(T));
  std::memcpy(old, &o, sizeof(T));
}
}  // namespace

void atomic(void* p, uint32_t shared_address, bool is_shared, char type, uint32_t bytes, int op, const void* value,
            const void* compare, void* old, Order order, Scope, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, is_shared ? e.timing.chip.shared_load : e.timing.chip.global_load, at);
  if (!is_shared && op == 0)
    if (const Fault* f = fault_at(t, {"atomic_add", at, able(order != Order::relaxed, Fault::Action::alter)},
                                  [&] { return e.name_of_global(p); })) {
      if (f->action == Fault::Action::drop) return;
      if (f->action == Fault::Action::alter) order = Order::relaxed;
    }
  if (e.timed() && !is_shared && (order == Order::release || order == Order::acq_rel)) t.time = stored(e, t);
  e.path_may_change(fmt::format("an atomic operation at {}: its answer depends on the order", where(at)));
  const Toucher now = own_access(e, t, "atom", at, true);
  const bool reads = op != kExchange;  // what it replaces may be anything
  if (is_shared) {
    check_alignment(e, t, shared_address, bytes, at, "atom",
                    [&] { return e.name_of(*t.cta, shared_address & kSharedOffsetMask); });
    if (reads) touch_shared(e, *t.cta, now, shared_address, bytes, false);
    touch_shared(e, *t.cta, now, shared_address, bytes, true);
    p = t.cta->shared + (shared_address & kSharedOffsetMask);
  } else {
    check_alignment(e, t, reinterpret_cast<uintptr_t>(p), bytes, at, "atom",
                    [&] { return e.name_of_global(p, bytes); });
    if (reads) touch_global(e, now, p, bytes, false);
    touch_global(e, now, p, bytes, true);
  }
  subscribe(e, t, p, order == Order::acquire || order == Order::acq_rel ? Order::acquire : Order::relaxed);
  publish(e, t, p, order);
  e.progress();
  const void* const address = p;
  if (!is_shared) p = e.host(p);
  switch (type) {
    case 'f':
      bytes == 8 ? apply_at<double>(p, op, value, compare, old) : apply_at<float>(p, op, value, compare, old);
      break;
    case 'i':
      bytes == 8 ? apply_at<int64_t>(p, op, value, compare, old) : apply_at<int32_t>(p, op, value, compare, old);
      break;
    default:
      bytes == 8 ? apply_at<uint64_t>(p, op, value, compare, old) : apply_at<uint32_t>(p, op, value, compare, old);
  }
  if (!is_shared) e.wake_pollers(address, t.time);
  e.maybe_yield(t);
}

}  // namespace warpwright::inline WW_WORLD::machine::detail

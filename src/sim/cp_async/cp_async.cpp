// cp.async: copies by threads, which are complete once their group has been waited for, or which signal a barrier.
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "sim/fault/fault.h"
#include "sim/words.h"

namespace warpwright::inline WW_WORLD::machine {
using namespace simulator;

namespace detail {

void cp_async(uint32_t dst, const void* src, uint32_t bytes, uint32_t valid_bytes, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = "cp.async";
  e.word(t, e.timing.chip.shared_store, at);
  check_shared_alignment(e, t, dst, bytes, at, word);
  // A generic-proxy access that is not complete until its group is waited for.
  Toucher now = async_access(e, t, word, at, Proxy::generic);
  touch_shared(e, *t.cta, now, dst, bytes, true);
  if (valid_bytes) touch_global(e, now, src, valid_bytes, false);
  if (!t.cp_channel) t.cp_channel = t.cta->new_channel();
  auto op = std::make_shared<Thread::CpOp>();
  op->access = now.id;
  t.cp_ops.push_back(op);
  Cta* cta = t.cta;
  std::memset(cta->shared + (dst & kSharedOffsetMask), 0xff, bytes);
  e.async(e.timed() ? t.time + e.timing.chip.tma_latency : 0,
          [&e, &t, cta, op, dst, src = e.host(src), bytes, valid_bytes] {
            uint8_t* p = cta->shared + (dst & kSharedOffsetMask);
            std::memset(p, 0, bytes);
            if (valid_bytes) std::memcpy(p, src, valid_bytes);
            op->done = true;
            e.wake(t, e.now());
          });
}

void cp_async_wait(int pending, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (const Fault* f = fault_at(t, {"cp_async_wait", at, able({Fault::Action::add})})) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::alter) pending = int(f->value);
    if (f->action == Fault::Action::add) pending += int(f->value);
  }
  const int64_t upto = int64_t(t.cp_groups) - pending;
  auto unfinished = [&] {
    for (const auto& op : t.cp_ops)
      if (op->group && int64_t(op->group) <= upto && !op->done) return true;
    return false;
  };
  while (unfinished()) e.block(t, Wait::cp_async, &t, at);
  waited(t, {"cp.async.wait_group", at, t.warp});
  // From now on these are this thread's own accesses.
  for (const auto& op : t.cp_ops)
    if (op->group && int64_t(op->group) <= upto) {
      Access& a = e.log[op->access];
      a.asynchronous = a.in_flight = false;
      a.stamp = {t.channel, t.epoch};
    }
  std::erase_if(t.cp_ops, [&](const auto& op) { return op->group && int64_t(op->group) <= upto; });
}

}  // namespace detail

void cp_async_commit(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, 1, at);
  if (is_dropped(t, "cp_async_commit", at)) return;
  ++t.cp_groups;
  for (const auto& op : t.cp_ops)
    if (op->group == 0) op->group = t.cp_groups;
}

namespace {
// Arrives when all earlier copies of the thread have landed, and publishes those that no earlier arrival publishes.
struct CpArrival {
  Engine* e;
  Thread* t;
  Bar* b;
  std::vector<std::shared_ptr<Thread::CpOp>> waits, own;
  here at;
  Issue issued;

  void operator()() const {
    for (const auto& op : waits)
      if (!op->done) {
        e->async(e->timed() ? e->now() + 1 : ~0ull, *this);
        return;
      }
    for (const auto& op : own) {
      if (e->log[op->access].in_flight) complete(*e, op->access, {b->channel, uint32_t(b->generation + 1)});
    }
    e->arrive(*b, 1, {t, at, "cp.async.mbarrier.arrive", true}, &issued);
  }
};

void cp_async_arrive(Shared<Mbarrier> a, bool increment, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Arriving as{&own_bar(e, t, a.address, at, "cp.async.mbarrier.arrive")};
  e.word(t, e.timing.chip.barrier_arrive, at);
  if (e.has_faults()) misdirect(t, 0, at, as);
  if (as.times == 0) return;
  Bar& b = *as.at;
  if (increment) ++b.pending;
  CpArrival arrival{&e, &t, &b, {}, {}, at, e.issue(t)};
  for (const auto& op : t.cp_ops) {
    if (!op->done || !op->tracked) arrival.waits.push_back(op);
    if (!op->tracked) arrival.own.push_back(op);
    op->tracked = true;
  }
  uint64_t last = 0;
  for (; as.times > 0; --as.times) e.async(e.timed() ? t.time + e.timing.chip.tma_latency : 0, arrival, &last);
}
}  // namespace

void cp_async_mbarrier_arrive(Shared<Mbarrier> b, here at) { cp_async_arrive(b, true, at); }
void cp_async_mbarrier_arrive_noinc(Shared<Mbarrier> b, here at) { cp_async_arrive(b, false, at); }

}  // namespace warpwright::inline WW_WORLD::machine

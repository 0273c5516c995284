// tcgen05: loads and stores of tensor memory, their waits, and the fences.
#include <vector>

#include "fault/fault.h"
#include "model.h"
#include "words.h"

namespace warpwright::inline WW_WORLD::machine {
using namespace simulator;

namespace detail {
namespace {

// A warp reaches the quarter of the lanes that its index modulo 4 names.
uint32_t window(Engine& e, Thread& t, uint32_t address, here at, const char* word) {
  const uint32_t lane = address >> 16, own = uint32_t(t.warp->index % 4) * 32;
  if (lane / 32 != own / 32)
    e.fail("tmem.window",
           fmt::format("{} at lane {}: warp {} reaches lanes {}..{} only", word, lane, t.warp->index, own, own + 31),
           &t, at);
  return address;
}

void access_tmem(Engine& e, Thread& t, TmemShape shape, int repeat, uint32_t address, bool write, const char* word,
                 here at) {
  Warp& w = *t.warp;
  const Toucher now = async_access(e, t, word, at, Proxy::tcgen);
  const uint32_t columns = uint32_t(repeat) * (shape == TmemShape::b32x32    ? 1u
                                               : shape == TmemShape::b64x16  ? 2u
                                               : shape == TmemShape::b128x16 ? 4u
                                                                             : 8u);
  touch_tmem(e, *t.cta, now, address >> 16, shape == TmemShape::b32x32 ? 32 : 16, address & 0xffff, columns, write);
  (write ? w.tmem_sts : w.tmem_lds).push_back(now.id);
  ++(write ? w.tmem_st_seq : w.tmem_ld_seq);
}

void wait_tmem(std::vector<uint32_t>& list, Channel channel, uint32_t seq, const char* word, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warp& w = *t.warp;
  rendezvous(e, t, word, 0xffff'ffffu, Meeting::together, at, [&] {
    for (uint32_t a : list) complete(e, a, {channel, seq});
    list.clear();
    if (!e.options().check) return;
    for (Thread* l : w.lanes) {
      l->tcgen_known = e.clocks.raise(l->tcgen_known, channel, seq);
      l->view[kHb].base = e.clocks.raise(l->view[kHb].base, channel, seq);
    }
  });
}

}  // namespace

void tcgen05_ld(TmemShape shape, int repeat, uint32_t* r, TmemState& state, uint32_t address, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warp& w = *t.warp;
  e.word(t, e.timing.chip.word_issue, at);
  window(e, t, address, at, "tcgen05.ld");
  w.collective.in[t.lane()] = address;
  rendezvous(e, t, "tcgen05.ld", 0xffff'ffffu, Meeting::together, at, [&] {
    for (int i = 0; i < 32; ++i)
      if (w.collective.in[i] != address)
        e.fail("tmem.uniform", "tcgen05.ld: the address differs between the lanes of a warp", &t, at);
    access_tmem(e, t, shape, repeat, address, false, "tcgen05.ld", at);
  });
  const int n = tmem_registers(shape, repeat);
  for (int i = 0; i < n; ++i) {
    const model::TmemCell c = model::tmem_register_cell(int(shape), i, t.lane(), address);
    r[i] = t.cta->tmem[size_t(c.lane) * kTmemColumns + size_t(c.column)];
  }
  if (e.timed()) t.time += uint64_t(e.timing.chip.tmem_load) * uint64_t(n) / 64;
  state.pending = w.tmem_ld_seq;
}

void tcgen05_st(TmemShape shape, int repeat, const uint32_t* r, uint32_t address, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  window(e, t, address, at, "tcgen05.st");
  rendezvous(e, t, "tcgen05.st", 0xffff'ffffu, Meeting::together, at,
             [&] { access_tmem(e, t, shape, repeat, address, true, "tcgen05.st", at); });
  const int n = tmem_registers(shape, repeat);
  for (int i = 0; i < n; ++i) {
    const model::TmemCell c = model::tmem_register_cell(int(shape), i, t.lane(), address);
    t.cta->tmem[size_t(c.lane) * kTmemColumns + size_t(c.column)] = r[i];
  }
}

void tmem_register_read(const TmemState& state, here at) {
  Thread& t = Engine::self();
  if (state.pending > t.warp->tmem_ld_waited)
    t.cta->engine->fail("tcgen05.wait", "a register filled by tcgen05.ld is read before tcgen05.wait::ld", &t, at);
}

}  // namespace detail

void tcgen05_wait_ld(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (const Fault* f = fault_at(t, {"tcgen05_wait_ld", at, able({Fault::Action::postpone})})) {
    // Postponed: the registers happen to arrive in time; the order in memory is what is lost.
    if (f->action == Fault::Action::postpone) t.warp->tmem_ld_waited = t.warp->tmem_ld_seq;
    return;
  }
  detail::wait_tmem(t.warp->tmem_lds, t.warp->tmem_ld_channel, t.warp->tmem_ld_seq, "tcgen05.wait::ld", at);
  t.warp->tmem_ld_waited = t.warp->tmem_ld_seq;
}

void tcgen05_wait_st(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "tcgen05_wait_st", at)) return;
  detail::wait_tmem(t.warp->tmem_sts, t.warp->tmem_st_channel, t.warp->tmem_st_seq, "tcgen05.wait::st", at);
}

void tcgen05_fence_before(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "tcgen05_fence_before", at)) return;
  t.view[kTcgen].base = t.tcgen_known;
}

void tcgen05_fence_after(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "tcgen05_fence_after", at)) return;
  t.tcgen_known = e.clocks.join(t.tcgen_known, t.tcgen_pending);
}

}  // namespace warpwright::inline WW_WORLD::machine

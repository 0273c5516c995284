// Registers, dependent launches, cluster launch control, timers.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fault/fault.h"
#include "words.h"

namespace warpwright::inline WW_WORLD::machine {
using namespace simulator;

namespace detail {

void set_max_registers(uint32_t count, bool increase, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warpgroup& g = *t.cta->warpgroups[t.index / 128];
  e.word(t, e.timing.chip.set_registers, at);
  int want = int(count);
  if (const Fault* f = fault_at(t, {increase ? "registers_increase" : "registers_decrease", at})) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::alter) want = int(f->value);
  }
  bool last = false;
  rendezvous(e, t, "setmaxnreg", kFullMask, Meeting::together, at, [&] {
    if (g.set_max_warps == 0) {
      g.set_max_want = want;
    } else if (g.set_max_want != want) {
      e.fail("registers.mismatch",
             fmt::format("warps of one warpgroup ask setmaxnreg for {} and {} registers", g.set_max_want, want), &t,
             at);
    }
    last = ++g.set_max_warps == 4;
    if (!last) return;
    if (increase ? want < g.registers : want > g.registers)
      e.fail("registers.direction",
             fmt::format("setmaxnreg.{} to {} when the warpgroup has {}", increase ? "inc" : "dec", want, g.registers),
             &t, at);
  });
  // The warpgroup gets or gives back its registers when its fourth warp has come; an increase waits for the pool.
  auto settled = [&] { return g.registers == want && g.set_max_warps % 4 == 0; };
  if (g.set_max_warps == 4 && g.registers != want) {
    if (!increase) {
      t.cta->register_pool += (g.registers - want) * 128;
      g.registers = want;
      g.set_max_warps = 0;
      e.progress();
      for (auto& other : t.cta->threads)
        if (other->waiting == Wait::registers) e.wake(*other, t.time);
    }
  }
  if (!increase) {
    if (g.set_max_warps == 4) g.set_max_warps = 0;
    return;
  }
  while (!settled()) {
    const int need = (want - g.registers) * 128;
    if (g.set_max_warps == 4 && t.cta->register_pool >= need) {
      t.cta->register_pool -= need;
      g.registers = want;
      g.set_max_warps = 0;
      e.progress();
      for (auto& other : t.cta->threads)
        if (other->waiting == Wait::registers) e.wake(*other, t.time);
      break;
    }
    e.block(t, Wait::registers, &g, at);
  }
}

void clc_try_cancel(uint32_t response, uint32_t bar, bool multicast, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = "clusterlaunchcontrol.try_cancel";
  e.word(t, e.timing.chip.tma_issue, at);
  if (response % 16) e.fail("clc.alignment", "clusterlaunchcontrol: the response is 16-byte aligned", &t, at);
  e.path_may_change(fmt::format("{} at {}: which tiles a cluster gets depends on the others", word, where(at)));
  Cluster& c = *t.cta->cluster;
  uint32_t receivers = 0xffff'ffffu;  // a fault names the ranks that still get the answer
  if (const Fault* f = fault_at(t, {"clc_try_cancel", at, able(multicast && c.ctas.size() > 1, Fault::Action::scope)},
                                [&] { return e.name_of(*t.cta, response & kSharedOffsetMask); })) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::alter) receivers = uint32_t(f->value);
    if (f->action == Fault::Action::scope) receivers = 1u << t.cta->rank;
  }
  if (t.cta->clc_failed)
    e.fail("clc.after_failure", "clusterlaunchcontrol.try_cancel after a response that said there is no more work", &t,
           at);
  struct To {
    Cta* cta;
    Bar* bar;
    uint32_t access;
    Issue issued;
  };
  std::vector<To> to;
  for (Cta* cta : c.ctas) {
    if (!multicast && cta != t.cta) continue;
    if (!(receivers >> cta->rank & 1)) continue;
    if (cta->alive == 0)
      e.fail("cluster.exited", fmt::format("{} multicast when CTA rank {} has exited", word, cta->rank), &t, at);
    Bar& b = e.bar(*cta, bar & kSharedOffsetMask, &t, at, word);
    check_remote_ready(e, t, b, at, word);
    const Toucher now = async_access(e, t, word, at);
    touch_shared(e, *cta, now, response, 16, true);
    if (cta != t.cta) cta->remote.push_back({now.id, {}, &t, word, at});
    b.in_flight_bytes += 16;
    b.copiers.push_back(&t);
    to.push_back({cta, &b, now.id, e.issue(t)});
  }
  e.async(e.timed() ? t.time + 1000 : 0, [&e, &t, to, response, at] {
    uint32_t words[4] = {0, 0, 0, 0};
    if (e.next_block_cluster < e.total_clusters) {
      const uint32_t block = e.next_block_cluster++ * uint32_t(e.launch().plan->cluster);
      const Index3 grid = e.launch().grid;
      words[0] = 1;
      words[1] = block % grid.x;
      words[2] = block / grid.x % grid.y;
      words[3] = block / grid.x / grid.y;
    } else {
      t.cta->clc_failed = true;
    }
    for (const To& d : to) {
      std::memcpy(d.cta->shared + (response & kSharedOffsetMask), words, 16);
      complete(e, d.access, {d.bar->channel, uint32_t(d.bar->generation + 1)});
      d.bar->completed_at = std::max(d.bar->completed_at, e.now());
      e.complete_tx(*d.bar, 16, at, &d.issued);
    }
  });
  e.maybe_yield(t);
}

}  // namespace detail

bool clc_is_canceled(const ClcResponse& r, here) { return r[0] == 1; }

Index3 clc_first_ctaid(const ClcResponse& r, here at) {
  Thread& t = Engine::self();
  if (r[0] != 1) t.cta->engine->fail("clc.no_work", "get_first_ctaid of a response that canceled nothing", &t, at);
  return {r[1], r[2], r[3]};
}

void grid_dependency_wait(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "grid_dependency_wait", at)) return;
  if (e.timed() && t.cta->id < uint32_t(e.ctas_at_once()))
    e.timing.dependency_at = std::max(e.timing.dependency_at, t.time);
  t.primary_waited = true;
  waited(t, {"griddepcontrol.wait", at, &e});
  e.learn_primary_ended(t);
}

void grid_dependency_launch(here at) { Engine::self().cta->engine->word(Engine::self(), 1, at); }

uint64_t clock_cycles() { return Engine::self().time; }
uint64_t global_timer_ns() {
  const Thread& t = Engine::self();
  return uint64_t(double(t.time) / t.cta->engine->timing.chip.clock_ghz);
}

void trap(const char* why, here at) {
  Thread& t = Engine::self();
  t.cta->engine->fail("trap", fmt::format("the kernel trapped: {}", why), &t, at);
}

}  // namespace warpwright::inline WW_WORLD::machine

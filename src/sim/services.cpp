// What the engine does for the words: handing clocks on, findings, buffers, timeline spans.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffers/buffers.h"
#include "call/call.h"
#include "debug/debug.h"
#include "engine.h"
#include "mode.h"

namespace warpwright::simulator {

void Engine::release(Thread& t, SyncBuilder& to, bool async_only) {
  if (!options_.check) return;
  release_control(t, to);
  const uint32_t first = async_only ? launch_.threads : 0;
  const View* view = t.releases_early ? t.last_step.view : t.view;
  View hb = view[kHb];
  hb.own = t.releases_early ? t.last_step.epoch : t.epoch;
  to.add(kHb, hb, t.channel, clocks, first);
  for (int v = kToShared; v <= kTcgen; ++v) to.add(v, view[v], t.channel, clocks, v == kTcgen ? 0 : first);
  ++t.epoch;
}

void Engine::acquire(Thread& t, const SyncClocks& from) {
  if (!options_.check) return;
  for (int v = kHb; v < kTcgen; ++v) t.view[v].base = clocks.join(t.view[v].base, from.view[v]);
  t.tcgen_pending = clocks.join(t.tcgen_pending, from.view[kTcgen]);
  t.view[kControl].base = clocks.join(t.view[kControl].base, from.view[kControl]);
}

void Engine::adopt(Thread& t, const SyncClocks& from) {
  if (!options_.check) return;
  for (int v = kHb; v < kTcgen; ++v)
    if (from.view[v]) t.view[v].base = from.view[v];
  t.tcgen_pending = clocks.join(t.tcgen_pending, from.view[kTcgen]);
  t.view[kControl].base = clocks.join(t.view[kControl].base, from.view[kControl]);
}

void Engine::report(Finding f) {
  f.seed = options_.seed;
  f.mode = mode_text(options_);
  if (options_.step_limit != 0) announce(f);  // otherwise nobody asked for a run
  findings_.push_back(std::move(f));
  if (int(findings_.size()) >= options_.max_findings) throw Abort{};
}

void Engine::give_up(GivenUp why) {
  Thread& t = self();
  t.given_up = why;
  leave(t);
}

void Engine::report_given_up(Thread& t) {
  abandon(std::move(t.self), t.stack_bottom);
  t.done = true;
  Finding f = finding_of("", "", &t, t.where);
  describe(f, t.given_up, who(t), t.where, options_.hang_seconds, launch_.buffers);
  findings_.push_back(std::move(f));
  options_.max_findings = 0;
}

void Engine::report_thrown(Thread& t, const std::string& what) {
  std::string message = fmt::format("{} threw{}", who(t), what);
  if (t.where.line != 0) message += fmt::format("; its last word was at {}", where(t.where));
  findings_.push_back(finding_of("exception", std::move(message), &t, t.where));
}

bool Engine::is_late() {
  return options_.max_seconds > 0 &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() >= options_.max_seconds;
}

Finding Engine::finding_of(std::string rule, std::string message, const Thread* t, here at) const {
  Finding f;
  f.rule = std::move(rule);
  f.message = std::move(message);
  if (t) {
    f.role = t->warp->role_name();
    f.cta = int(t->cta->id);
    f.warp = t->warp->index;
    f.lane = t->lane();
  }
  f.file = at.file;
  f.line = at.line;
  f.seed = options_.seed;
  f.mode = mode_text(options_);
  return f;
}

void Engine::fail(std::string rule, std::string message, const Thread* t, here at, std::string object,
                  std::vector<std::string> details) {
  Finding f = finding_of(std::move(rule), std::move(message), t, at);
  f.object = std::move(object);
  f.details = std::move(details);
  if (inside_) f.call = call_of_word();
  announce(f);
  findings_.push_back(std::move(f));
  options_.max_findings = 0;  // what follows would be built on sand
  throw Abort{};
}

std::vector<BarrierUse> Engine::barrier_use() const {
  const BlockPlan& plan = *launch_.plan;
  std::vector<BarrierUse> uses;
  std::map<const BarrierSpec*, size_t> first;
  for (int i = 0; i < plan.barrier_count; ++i) {
    first[&plan.barriers[i]] = uses.size();
    for (int stage = 0; stage < plan.barriers[i].stages; ++stage) uses.push_back({plan.barriers[i].name, stage, 0});
  }
  for (const auto& cta : ctas) {
    for (const auto& [offset, bar] : cta->bars) {
      if (!bar->spec) continue;
      BarrierUse& use = uses[first.at(bar->spec) + size_t(bar->index)];
      use.phases = std::max(use.phases, bar->generation);
    }
  }
  for (int i = 0; i < plan.named_count; ++i) {
    BarrierUse use{plan.named[i].name, 0, 0};
    for (const auto& cta : ctas) use.phases = std::max(use.phases, int64_t(cta->named[plan.named[i].id].generation));
    uses.push_back(std::move(use));
  }
  return uses;
}

std::string mode_text(const Options& o) {
  constexpr const char* landing[] = {"eager", "late", "seeded", "timed"};
  constexpr const char* scheduling[] = {"fifo", "freeze", "random", "pct", "lanes"};
  std::string s = fmt::format("--landing {} --schedule {}", landing[int(o.landing)], scheduling[int(o.scheduling)]);
  if (o.scheduling == Scheduling::freeze) s += ":" + o.frozen_role;
  if (o.scheduling == Scheduling::pct) s += fmt::format(":{}", o.pct_depth);
  return s;
}

void Engine::learn_primary_ended(Thread& t) {
  if (!options_.check) return;
  if (primary_ == 0) {
    primary_ = t.cta->new_channel();
    SyncBuilder end;
    end.raise(kHb, primary_, 1, clocks);
    primary_end_ = end.freeze();
  }
  acquire(t, primary_end_);
}

bool Engine::knows_primary_ended(const Thread& t) const {
  return !options_.check || (primary_ != 0 && t.view[kHb].knows(t.channel, {primary_, 1}));
}

void Engine::wake_pollers(const void* p, uint64_t time) {
  std::erase_if(pollers_, [&](Thread* t) {
    if (t->waiting != Wait::poll || t->wait_object != p) return false;
    wake(*t, time);
    return true;
  });
}

bool Engine::in_one_stage(uint32_t at, uint32_t bytes) const {
  const uint16_t first = stage_at_[at / kStageGrain];
  return first != 0 && first == stage_at_[(at + bytes - 1) / kStageGrain];
}

const Buffer* Engine::buffer_of(const void* p, uint64_t bytes) const {
  return simulator::buffer_of(launch_.buffers, p, bytes);
}

uint8_t* Engine::host(const void* p) const { return host_of(launch_.buffers, p); }

uint64_t Engine::device_address(const void* p) const {
  constexpr uint64_t kAlignment = 256;  // of memory from cudaMalloc (CUDA C++ Programming Guide, 5.3.2)
  uint64_t begin = kAlignment;
  for (const Buffer& b : launch_.buffers) {
    const uint64_t offset = reinterpret_cast<uint64_t>(p) - reinterpret_cast<uint64_t>(b.data);
    if (offset < b.bytes) return begin + offset;
    begin += (b.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return reinterpret_cast<uint64_t>(p);  // in no buffer: only the caller has placed it
}

Shadow& Engine::shadow_of(const Buffer* b) {
  auto& s = global_shadow_[b];
  if (!s) {
    s = std::make_unique<Shadow>();
    s->resize(b->bytes);
  }
  return *s;
}

int Engine::span(const std::string& track, std::string name, uint64_t begin, uint64_t end, std::string detail,
                 bool waiting) {
  if (!options_.timeline) return -1;
  // In cycles; run() turns them into microseconds when it knows the clock.
  spans.push_back({track, std::move(name), double(begin), double(end), std::move(detail), waiting});
  return int(spans.size()) - 1;
}

int Engine::engine_span(const Thread& by, const char* engine, std::string name, uint64_t begin, uint64_t end, here at) {
  if (!options_.timeline) return -1;
  const int s = span(fmt::format("cta {} / {}", by.cta->id, engine), std::move(name), begin, end, where(at));
  spans.back().by = track(by);
  return s;
}

int Engine::arrival_span(const Thread& t, const std::string& barrier, here at) {
  if (!options_.timeline) return -1;
  const uint64_t cost = timing.chip.barrier_arrive;
  return span(track(t), "arrive " + barrier, t.time > cost ? t.time - cost : 0, t.time, where(at));
}

}  // namespace warpwright::simulator

#include "engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/context/preallocated.hpp>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <utility>

#include "debug/debug.h"
#include "fiber.h"
#include "guard/stacks.h"
#include "report.h"
#include "warpwright/sim/instance.h"

namespace warpwright::simulator {
namespace {

thread_local Thread* current = nullptr;

constexpr uint32_t kReserved = 1024;  // the system's share at the start of the shared window

thread_local const void* engine_stack = nullptr;
thread_local size_t engine_stack_size = 0;

uint64_t splitmix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

Thread& Engine::self() { return *current; }

Engine::Engine(const Launch& launch, const Options& options, const std::function<void()>& body)
    : launch_(launch), options_(options), body_(body), rng_(options.seed * 0x2545f4914f6cdd1dull + 1) {
  const BlockPlan& plan = *launch_.plan;
  if (launch_.threads == 0) launch_.threads = uint32_t(plan.threads());
  if (launch_.shared_bytes == 0) launch_.shared_bytes = plan.shared_bytes;
  timing.chip = ChipTiming::of(plan.arch);
  keeps_moments_ = options_.list_fault_sites;
  for (const Fault& f : options_.faults) keeps_moments_ |= f.action == Fault::Action::advance;
  const uint32_t blocks = launch_.grid.x * launch_.grid.y * launch_.grid.z;
  total_clusters = blocks / uint32_t(plan.cluster);
  if (options_.check) {
    stage_at_.resize(launch_.shared_bytes / kStageGrain + 1);
    uint16_t number = 0;
    for (int i = 0; i < plan.region_count; ++i) {
      const RegionSpec& r = plan.regions[i];
      for (uint32_t s = 0; s < uint32_t(r.stages); ++s) {
        const auto first = stage_at_.begin() + (r.offset + s * r.stage_bytes) / kStageGrain;
        std::fill(first, first + (r.stage_bytes + kStageGrain - 1) / kStageGrain, uint16_t(number + 1));
        ++number;
      }
    }
  }
  if (options_.scheduling == Scheduling::pct) {
    for (int i = 1; i < options_.pct_depth; ++i) pct_changes_.push_back(random() % 4000);
    pct_low_ = 1u << 20;
  }
}

Engine::~Engine() { dying = true; }

uint64_t Engine::random() { return splitmix(rng_); }

uint64_t Engine::start_of_cta() const {
  const ChipTiming& c = timing.chip;
  const bool first = now_ == 0;  // a CTA that takes the place of another one is there already
  return (first ? c.launch : 0) + c.start + (launch_.plan->cluster > 1 ? c.cluster_start : 0);
}

void Engine::start_cluster() {
  const BlockPlan& plan = *launch_.plan;
  auto cluster = std::make_unique<Cluster>();
  cluster->id = next_block_cluster++;
  const uint32_t first = cluster->id * uint32_t(plan.cluster);
  for (uint32_t r = 0; r < uint32_t(plan.cluster); ++r) {
    auto cta = std::make_unique<Cta>();
    cta->engine = this;
    cta->cluster = cluster.get();
    cta->id = uint32_t(ctas.size());
    cta->rank = r;
    const uint32_t b = first + r;
    cta->block = {b % launch_.grid.x, b / launch_.grid.x % launch_.grid.y, b / launch_.grid.x / launch_.grid.y};
    cta->window = kReserved + launch_.shared_bytes;
    cta->storage.assign(cta->window + 2048, 0xff);  // poison: NaN in every format
    const auto raw = reinterpret_cast<uintptr_t>(cta->storage.data());
    cta->shared = cta->storage.data() + ((raw + 1023) / 1024 * 1024 - raw);
    cta->shadow.resize(cta->window);
    cta->alive = int(launch_.threads);
    cta->channels = launch_.threads;
    cta->register_pool = 0;  // what setmaxnreg.dec gives back; the launch has handed out all others
    if (plan.arch == Arch::sm100) {
      cta->tmem.assign(128 * kTmemColumns, 0xffff'ffffu);
      cta->tmem_shadow.resize(8 * kTmemColumns * Shadow::kGranule);
    }
    for (uint32_t w = 0; w < (launch_.threads + 31) / 32; ++w) {
      auto warp = std::make_unique<Warp>();
      warp->cta = cta.get();
      warp->index = int(w);
      for (int i = 0; i < plan.role_count; ++i)
        if (plan.roles[i].holds_warp(int(w))) warp->role = &plan.roles[i];
      warp->priority = random() | 1ull << 32;
      warp->live = launch_.threads - w * 32 >= 32 ? 0xffff'ffffu : (1u << (launch_.threads % 32)) - 1;
      warp->tmem_ld_channel = cta->new_channel();
      warp->tmem_st_channel = cta->new_channel();
      cta->warps.push_back(std::move(warp));
    }
    for (uint32_t g = 0; g < (launch_.threads + 127) / 128; ++g) {
      auto group = std::make_unique<Warpgroup>();
      group->cta = cta.get();
      group->index = int(g);
      group->channel = cta->new_channel();
      group->registers = plan.launch_registers();
      cta->warpgroups.push_back(std::move(group));
    }
    for (uint32_t i = 0; i < launch_.threads; ++i) {
      auto t = std::make_unique<Thread>();
      Thread* p = t.get();
      t->cta = cta.get();
      t->warp = cta->warps[i / 32].get();
      t->index = i;
      t->channel = (cta->id << kChannelBits) | i;
      t->time = now_ + (timed() ? start_of_cta() : 0);
      t->view[kHb].own = 0xffff'ffffu;
      t->warp->lanes[i % 32] = p;
      const boost::context::stack_context stack = Stacks::allocate();
      t->stack_size = stack.size;
      t->stack_bottom = static_cast<char*>(stack.sp) - stack.size;
      const boost::context::preallocated place(stack.sp, stack.size, stack);
      t->self = boost::context::fiber(std::allocator_arg, place, Stacks(), [this, p](boost::context::fiber&& back) {
        p->back = std::move(back);
        arrived(nullptr, &engine_stack, &engine_stack_size);
        try {
          if (!dying) body_();
        } catch (const Abort&) {
        } catch (const std::exception& x) {
          report_thrown(*p, fmt::format(": {}", x.what()));
        } catch (const boost::context::detail::forced_unwind&) {
          throw;  // how the library ends a fiber that is destroyed
        } catch (...) {
          report_thrown(*p, " something that is not a std::exception");
        }
        p->done = true;
        leaving(nullptr, engine_stack, engine_stack_size);
        return std::move(p->back);
      });
      cta->threads.push_back(std::move(t));
    }
    for (auto& w : cta->warps) enqueue(*w);
    cluster->alive += cta->alive;
    cluster->ctas.push_back(cta.get());
    ctas.push_back(std::move(cta));
  }
  clusters.push_back(std::move(cluster));
}

void Engine::enter(Thread& t) {
  current = &t;
  words_in_a_row_ = 0;
  ++stats.switches;
  void* fake = nullptr;
  leaving(&fake, t.stack_bottom, t.stack_size);
  if (following_threads) follow(&t);
  inside_ = true;
  t.self = std::move(t.self).resume();
  inside_ = false;
  if (following_threads) follow(nullptr);
  arrived(fake, nullptr, nullptr);
  if (t.given_up.signal != 0) report_given_up(t);
}

void Engine::leave(Thread& t) {
  void* fake = nullptr;
  leaving(&fake, engine_stack, engine_stack_size);
  t.back = std::move(t.back).resume();
  arrived(fake, &engine_stack, &engine_stack_size);
}

namespace {
// The bar of the timeline whose end let the thread go on.
int released_by(const Thread& t, Wait why, const void* object) {
  switch (why) {
    case Wait::mbarrier:
      return static_cast<const Bar*>(object)->completing_span;
    case Wait::named:
      return static_cast<const NamedBarrier*>(object)->completing_span;
    case Wait::cluster:
      return static_cast<const Cluster*>(object)->completing_span;
    case Wait::wgmma:
      return static_cast<const Warpgroup*>(object)->last_span;
    case Wait::bulk:
      return t.bulk_last_span;
    default:
      return -1;
  }
}
}  // namespace

void Engine::block(Thread& t, Wait why, const void* object, here at) {
  if (why != Wait::poll || t.wait_object != object) t.waiting_since = ++waits_;
  t.waiting = why;
  t.wait_object = object;
  t.where = at;
  t.ready = false;
  const uint64_t begin = t.time;
  leave(t);
  if (dying) throw Abort{};
  if (why != Wait::poll) t.polls = 0;
  t.waiting = Wait::none;
  if (options_.timeline && t.lane() == 0 && why != Wait::warp && t.time > begin) {
    std::string what = waited_for(*this, t, why, object);
    const int s = span(track(t), "wait " + what, begin, t.time, where(at), true);
    if (const int from = released_by(t, why, object); from >= 0 && s >= 0) edges.push_back({from, s});
  }
}

size_t Engine::place(here at) {
  constexpr size_t lines = 1024;  // per file; more would share numbers
  size_t file = 0;
  while (file < files_.size() && files_[file] != at.file) ++file;
  if (file == files_.size()) files_.push_back(at.file);
  return file * lines + at.line % lines;
}

void Engine::word(Thread& t, uint64_t cycles, here at) {
  if (t.orphaned_fragment)
    fail("wgmma.register", "registers of a wgmma in flight went out of scope before a wgmma.wait_group covered it", &t,
         t.where);
  ++stats.words;
  if (keeps_moments_) keep_moment(t);
  t.time = std::max(t.time, t.loads_due) + cycles;
  t.where = at;
  if (timed() && timing.chip.fetch) {
    if (t.sums_read > 0) {
      const bool beside = t.cta->tensor.free_at > t.time;  // MMAs of other warpgroups use the registers too
      t.time += uint64_t(std::exchange(t.sums_read, 0) * (beside ? timing.chip.sum_read_beside : timing.chip.sum_read));
    }
    const size_t p = place(at);
    if (t.cta->fetched.size() <= p) t.cta->fetched.resize(p + 1);
    if (!t.cta->fetched[p]) t.time += timing.chip.fetch;
    t.cta->fetched[p] = true;
  }
  // A loop that never blocks would never come back to the scheduler, which counts the steps.
  ++words_in_a_row_;
  if ((words_in_a_row_ > options_.step_limit + 1'000'000 || (words_in_a_row_ % 65536 == 0 && is_late())) && !dying)
    fail("livelock",
         t.loaded_again > options_.step_limit / 10
             ? fmt::format("{} at {} is loaded again and again by an ordinary load, which need not see what others "
                           "store: load_acquire does",
                           name_of_global(t.loaded), where(at))
             : fmt::format("{} words in a row without an end, the last at {}: a loop that never finishes, or a trip "
                           "count that underflowed",
                           words_in_a_row_, where(at)),
         &t, at);
}

void Engine::load_word(Thread& t, const void* p, uint32_t bytes, here at) {
  t.loaded_again = std::exchange(t.loaded, p) == p ? t.loaded_again + 1 : 0;
  const uint64_t in_flight = std::exchange(t.loads_due, 0);
  if (in_flight <= t.time) let_earlier_run(t);
  word(t, timing.chip.word_issue, at);
  uint64_t came = t.time;
  if (timed()) {
    timing.cached.ask(device_address(p), bytes);
    if (const uint64_t missing = timing.cached.missing_bytes()) {
      timing.look_at_clock(t.time, stats.tensor_busy_cycles);
      came = timing.through_memory(t.time, missing);
      if (timing.chip.l2_load > 0) came += timing.chip.memory_latency;
    }
    came = std::max(came, timing.cached.latest());
    timing.cached.came(came);
  }
  t.loads_due = std::max(in_flight, timing.chip.l2_load > 0 ? through_l1(t, device_address(p), bytes, came)
                                                            : came + timing.chip.global_load);
}

uint64_t Engine::through_l1(Thread& t, uint64_t address, uint32_t bytes, uint64_t in_l2) {
  constexpr uint64_t kSector = 32;
  uint64_t due = t.time + timing.chip.l1_load;
  for (uint64_t sector = address / kSector; sector <= (address + bytes - 1) / kSector; ++sector) {
    const auto [unit, fresh] = t.cta->l1.try_emplace(sector, 0);
    if (fresh)
      unit->second =
          std::max(in_l2, t.cta->loads.carry(t.time, kSector, timing.chip.tma_bytes_per_cycle)) + timing.chip.l2_load;
    due = std::max(due, unit->second);
  }
  return due;
}

void Engine::async(uint64_t due, std::function<void()> land, uint64_t* in_order) {
  if (options_.landing == Landing::seeded) due = steps_ + random() % 64;
  if (options_.landing == Landing::late) due = ~0ull;
  if (options_.landing == Landing::eager) due = 0;
  if (in_order) due = *in_order = std::max(due, *in_order);
  events_.push_back({due, seq_++, std::move(land)});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

bool Engine::land_next(bool anything) {
  if (events_.empty()) return false;
  if (!anything) {
    switch (options_.landing) {
      case Landing::eager:
        break;
      case Landing::late:
        return false;
      case Landing::seeded:
        if (events_.front().due > steps_) return false;
        break;
      case Landing::timed:
        for (const Warp* w : queue_)
          if (w->priority < events_.front().due) return false;
        break;
    }
  }
  std::pop_heap(events_.begin(), events_.end(), std::greater<>());
  Event e = std::move(events_.back());
  events_.pop_back();
  if (timed()) now_ = std::max(now_, e.due);
  ++stats.events;
  ++last_progress_;
  e.land();
  return true;
}

// For a tenth of the steps nothing was stored, arrived or landed: nobody waits, and nobody gets any further.
bool Engine::stands_still() {
  if (progress_seen_ != last_progress_) {
    progress_seen_ = last_progress_;
    progress_step_ = steps_;
  }
  return steps_ - progress_step_ > options_.step_limit / 10;
}

Result Engine::run() {
  begin_ = std::chrono::steady_clock::now();
  const Guard guard(*this, options_.hang_seconds);
  const Debugged seen(*this);
  const BlockPlan& plan = *launch_.plan;
  int resident = options_.resident_clusters;
  if (resident <= 0) resident = std::max(1, timing.chip.sms * plan.blocks_per_sm / plan.cluster);
  ctas_at_once_ = std::min(resident, int(total_clusters)) * plan.cluster;
  try {
    while (int(next_block_cluster) < resident && next_block_cluster < total_clusters) start_cluster();
    uint64_t idle_progress = ~0ull;
    while (int(findings_.size()) < options_.max_findings) {
      const bool late = ++steps_ % 1024 == 0 && is_late();
      if (late || steps_ > options_.step_limit || (steps_ % 1024 == 0 && stands_still())) {
        report_livelock(*this, steps_, late);
        break;
      }
      if (land_next(false)) continue;
      if (Warp* w = pick()) {
        run_warp(*w);
        continue;
      }
      if (land_next(true)) continue;
      if (!pollers().empty() && idle_progress != last_progress_) {  // let spinning loops see that nothing changes
        idle_progress = last_progress_;
        for (Thread* t : pollers()) wake(*t, t->time);
        pollers().clear();
        continue;
      }
      bool alive = false;
      for (const auto& c : clusters) alive |= c->alive > 0;
      if (!alive) break;
      report_deadlock(*this);
      break;
    }
  } catch (const Abort&) {
  }
  dying = true;
  for (auto& c : ctas)
    for (auto& t : c->threads)
      while (!t->done) enter(*t);  // its next word throws Abort, which unwinds it
  Result r;
  if (timed()) {
    uint64_t last = std::max(now_, timing.stored_at);
    for (const auto& c : ctas)
      for (const auto& t : c->threads) last = std::max(last, t->time);
    stats.predicted_cycles = last;
    const double busy = double(stats.tensor_busy_cycles) / (double(last) * timing.chip.sms);
    const double us_per_cycle = 1e-3 / timing.chip.clock_at(busy, timing.memory.busy / double(last));
    stats.predicted_us = double(last) * us_per_cycle;
    for (Span& s : spans) {
      s.begin_us *= us_per_cycle;
      s.end_us *= us_per_cycle;
    }
    for (PhaseEnd& p : phases) p.at_us *= us_per_cycle;
  }
  stats.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  r.findings = std::move(findings_);
  r.stats = stats;
  r.spans = std::move(spans);
  r.edges = std::move(edges);
  r.phases = std::move(phases);
  r.certificate = certificate();
  r.barriers = barrier_use();
  for (const auto& [key, found] : fault_sites_) {
    FaultSite site = found;
    std::tie(site.word, site.object, site.role, site.file, site.line) = key;
    r.fault_sites.push_back(std::move(site));
  }
  return r;
}

void Engine::thread_finished(Thread& t) {
  ++last_progress_;
  Warp& w = *t.warp;
  w.live &= ~(1u << t.lane());
  if (!findings_.empty() && int(findings_.size()) >= options_.max_findings) return;
  current = &t;
  try {
    check_thread_exit(*this, t);
    finish_collective_after_exit(*this, w);
    --t.cta->alive;
    named_barriers_after_exit(*this, *t.cta);
    --t.cta->cluster->alive;
    cluster_barrier_after_exit(*this, *t.cta->cluster);
    if (t.cta->alive == 0) check_cta_exit(*this, *t.cta);
    if (t.cta->cluster->alive == 0) {
      check_cluster_exit(*this, *t.cta->cluster);
      if (next_block_cluster < total_clusters) start_cluster();
    }
  } catch (const Abort&) {
  }
}

Result run_threads(const Launch& launch, const Options& options, const std::function<void()>& body) {
  return Engine(launch, options, body).run();
}

}  // namespace warpwright::simulator

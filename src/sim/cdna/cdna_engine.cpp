#include "cdna_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/preallocated.hpp>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "sim/buffers/buffers.h"
#include "sim/engine.h"
#include "sim/fiber.h"
#include "sim/mode.h"
#include "warpwright/sim/instance.h"

namespace warpwright::simulator::cdna {
namespace {

thread_local Engine* current_engine = nullptr;
thread_local Wave* current_wave = nullptr;

// A wave's registers are on its stack: up to 100 KiB, and the temporaries of 64 lanes.
constexpr size_t kStack = 1024 * 1024;
constexpr uint32_t kCell = 16;

thread_local const void* engine_stack = nullptr;
thread_local size_t engine_stack_size = 0;

const char* verb(Kind k) { return k == Kind::copy ? "buffer_load_lds" : k == Kind::write ? "ds_write" : "ds_read"; }

}  // namespace

std::string Place::text() const { return slot < 0 ? std::string() : fmt::format("{}[{}] {}", phase, slot, op); }
std::string Place::report() const {
  if (slot < 0) return "outside the schedule";
  return std::strcmp(phase, "kernel") == 0 ? fmt::format("{}, turn {}", text(), turn) : text();
}

std::string who(const Wave& w) { return fmt::format("{} wave {}", w.role ? w.role->name : "", w.index); }

Engine& Engine::self() { return *current_engine; }
Wave& Engine::wave() { return *current_wave; }

Engine::Engine(const Launch& launch, const Options& options, const std::function<void()>& body)
    : launch_(launch),
      options_(options),
      body_(body),
      rng_(options.seed * 0x2545f4914f6cdd1dull + 1),
      timing_(ChipTiming::of(launch.plan->arch)) {
  cu_.assign(size_t(timing_.sms), 0);
  if (launch_.threads == 0) launch_.threads = uint32_t(launch_.plan->threads());
  if (launch_.shared_bytes == 0) launch_.shared_bytes = launch_.plan->shared_bytes;
}

uint64_t Engine::random() {
  uint64_t z = (rng_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

Result Engine::run() {
  begin_ = std::chrono::steady_clock::now();
  Engine* const outer = current_engine;
  current_engine = this;
  const Guard guard(*this, options_.hang_seconds);
  for (const uint32_t workgroup : order_of_workgroups()) {
    workgroup_ = workgroup;
    if (!dying_) run_workgroup();
  }
  current_engine = outer;
  if (options_.landing == Landing::timed) {
    result_.stats.predicted_cycles = timing_.launch + *std::max_element(cu_.begin(), cu_.end());
    result_.stats.predicted_us = microseconds(result_.stats.predicted_cycles);
  }
  // No word gives a wave anything that depends on when another one runs, so every order takes the same path and the
  // same barriers meet.
  result_.certificate.asked = options_.certify && options_.check;
  if (result_.certificate.asked) result_.certificate.barriers = {met_};
  for (const auto& [key, found] : sites_) {
    FaultSite site = found;
    std::tie(site.word, site.object, site.role, site.file, site.line) = key;
    result_.fault_sites.push_back(std::move(site));
  }
  result_.stats.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return std::move(result_);
}

// As the hardware starts them, or in any order: they cannot know which one comes last at a counter.
std::vector<uint32_t> Engine::order_of_workgroups() {
  std::vector<uint32_t> order(launch_.grid.x * launch_.grid.y * launch_.grid.z);
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  if (options_.scheduling != Scheduling::random && options_.scheduling != Scheduling::pct) return order;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

void Engine::run_workgroup() {
  // A workgroup finds in LDS what another one left there, which is nothing to rely on.
  lds_.assign(launch_.shared_bytes, 0xff);
  const int count = int(launch_.threads / machine::cdna::kWave);
  cells_.assign((lds_.size() + kCell - 1) / kCell, {-1, std::vector<int>(size_t(count), -1)});
  accesses_.clear();
  waves_.clear();
  turn_ = 0;
  first_ = nullptr;
  for (Server* unit : {&simd_[0], &simd_[1], &simd_[2], &simd_[3], &lds_port_, &memory_}) *unit = {};
  for (int i = 0; i < count; ++i) {
    waves_.push_back(std::make_unique<Wave>());
    Wave& w = *waves_.back();
    w.index = i;
    w.rank = random() | (uint64_t(1) << 63);
    for (int r = 0; r < launch_.plan->role_count; ++r)
      if (launch_.plan->roles[r].holds_warp(i)) w.role = &launch_.plan->roles[r];
    start(w);
  }
  changes_.clear();
  for (int i = 1; i < options_.pct_depth; ++i) changes_.push_back(steps_ + random() % 4096);
  while (Wave* w = pick()) resume(*w);
  if (!dying_) {
    // The barrier of the others goes on without a wave that has ended, so this hangs nothing; but the waves do not
    // agree on what the barriers mean.
    for (const auto& w : waves_) {
      if (w->done) continue;
      const auto ended = std::find_if(waves_.begin(), waves_.end(), [](const auto& o) { return o->done; });
      current_wave = w.get();
      try {
        fail("wave.barriers",
             fmt::format("{} waits at its barrier {}, which {} never reaches: it has ended after {}", who(*w),
                         w->barriers + 1, who(**ended), (*ended)->barriers),
             w->where, w->place.text());
      } catch (const Abort&) {
      }
      break;
    }
  }
  for (const auto& w : waves_) {
    while (!w->done) resume(*w);
  }
  account();
  met_.phases += waves_.front()->barriers;
  for (const auto& w : waves_) met_.arrivals += w->barriers, met_.waits += w->barriers;
  current_wave = nullptr;
}

void Engine::start(Wave& w) {
  boost::context::fixedsize_stack allocator(kStack);
  boost::context::stack_context stack = allocator.allocate();
  w.stack_bottom = static_cast<char*>(stack.sp) - stack.size;
  w.stack_size = stack.size;
  const boost::context::preallocated place(stack.sp, stack.size, stack);
  w.self = boost::context::fiber(std::allocator_arg, place, allocator, [this, p = &w](boost::context::fiber&& back) {
    p->back = std::move(back);
    arrived(nullptr, &engine_stack, &engine_stack_size);
    try {
      if (!dying_) {
        body_();
        for (const Flight& f : p->vm) {
          if (f.access < 0) continue;
          fail("exit.pending_copy",
               fmt::format("{} ends while {} ({}) may still write LDS", who(*p), verb(Kind::copy), f.place.report()),
               f.at, f.place.text());
        }
      }
    } catch (const Abort&) {
    } catch (const std::exception& x) {
      try {
        fail("exception", fmt::format("{} threw: {}", who(*p), x.what()), p->where);
      } catch (const Abort&) {
      }
    } catch (const boost::context::detail::forced_unwind&) {
      throw;  // how the library ends a fiber that is destroyed
    } catch (...) {
      try {
        fail("exception", fmt::format("{} threw something that is not a std::exception", who(*p)), p->where);
      } catch (const Abort&) {
      }
    }
    p->vm.clear();
    p->lgkm.clear();
    p->done = true;
    leaving(nullptr, engine_stack, engine_stack_size);
    return std::move(p->back);
  });
}

void Engine::resume(Wave& w) {
  current_wave = &w;
  ++result_.stats.switches;
  void* fake = nullptr;
  leaving(&fake, w.stack_bottom, w.stack_size);
  inside_ = true;
  w.self = std::move(w.self).resume();
  inside_ = false;
  arrived(fake, nullptr, nullptr);
  if (w.given_up.signal != 0 && !w.done) report_given_up(w);
}

void Engine::give_up(GivenUp why) {
  wave().given_up = why;
  yield(wave());
}

void Engine::report_given_up(Wave& w) {
  abandon(std::move(w.self), w.stack_bottom);
  w.done = true;
  if (dying_) return;
  Finding f = finding_by(&w);
  describe(f, w.given_up, fmt::format("{} of workgroup {}", who(w), workgroup_), w.where, options_.hang_seconds,
           launch_.buffers);
  result_.findings.push_back(std::move(f));
  dying_ = true;
}

void Engine::yield(Wave& w) {
  void* fake = nullptr;
  leaving(&fake, engine_stack, engine_stack_size);
  w.back = std::move(w.back).resume();
  arrived(fake, &engine_stack, &engine_stack_size);
  if (dying_) throw Abort{};
}

Wave* Engine::pick() {
  if (dying_) return nullptr;
  std::vector<Wave*> ready;
  for (const auto& w : waves_)
    if (!w->done && !w->at_barrier) ready.push_back(w.get());
  if (ready.empty()) return nullptr;
  if (options_.landing == Landing::timed) {
    return *std::min_element(ready.begin(), ready.end(), [](Wave* a, Wave* b) { return a->time < b->time; });
  }
  switch (options_.scheduling) {
    case Scheduling::random:
      return ready[random() % ready.size()];
    case Scheduling::pct:
      return *std::max_element(ready.begin(), ready.end(), [](Wave* a, Wave* b) { return a->rank < b->rank; });
    case Scheduling::freeze: {
      const auto other = std::find_if(ready.begin(), ready.end(),
                                      [&](Wave* w) { return !w->role || options_.frozen_role != w->role->name; });
      return other == ready.end() ? ready.front() : *other;
    }
    default:
      return ready[turn_++ % ready.size()];
  }
}

const Fault* Engine::fault(const char* name, here at) {
  if (options_.faults.empty() && !options_.list_fault_sites) return nullptr;
  Wave& w = wave();
  const std::string object = w.place.text(), role = w.role ? w.role->name : "";
  if (options_.list_fault_sites) {
    FaultSite& site = sites_[{name, object, role, at.file, at.line}];
    const bool waits = std::strcmp(name, "wait_vm") == 0 || std::strcmp(name, "wait_lgkm") == 0;
    if (waits) site.can |= 1u << uint32_t(Fault::Action::add);
    if (site.first_warp < 0) site.first_warp = w.index;
    site.by_several_warps |= site.first_warp != w.index;
  }
  for (const Fault& f : options_.faults) {
    if (f.word != name || (!f.object.empty() && f.object != object) || (!f.role.empty() && f.role != role)) continue;
    if (f.line != 0 && (f.line != at.line || f.file != at.file)) continue;
    if (f.warp >= 0 && f.warp != w.index) continue;
    if (f.cta >= 0 && f.cta != int(workgroup_)) continue;
    if (const int n = ++w.fault_counts[&f]; f.nth != 0 && n != f.nth) continue;
    return &f;
  }
  return nullptr;
}

bool Engine::word(const char* name, here at, const Fault** struck) {
  Wave& w = wave();
  w.where = at;
  ++result_.stats.words;
  ++result_.stats.warp_instructions;
  if (++steps_ > options_.step_limit) {
    fail("livelock", fmt::format("the run does not end within {} steps", options_.step_limit), at);
  }
  if (options_.max_seconds > 0 && steps_ % 4096 == 0 &&
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() >= options_.max_seconds) {
    fail("livelock", fmt::format("the run does not end within {:.3g} s", options_.max_seconds), at);
  }
  w.time += timing_.word_issue;
  if (options_.landing == Landing::timed) yield(w);
  if (options_.landing == Landing::seeded) land_some();
  if (options_.scheduling == Scheduling::random) {
    if (random() % 4 == 0) yield(w);
  } else if (options_.scheduling == Scheduling::pct) {
    if (const auto c = std::find(changes_.begin(), changes_.end(), steps_); c != changes_.end()) {
      w.rank = uint64_t(c - changes_.begin());
    }
    yield(w);
  }
  const Fault* f = fault(name, at);
  if (struck != nullptr) *struck = f;
  return f == nullptr || f->action != Fault::Action::drop;
}

void Engine::land_some() {
  Wave& w = *waves_[random() % waves_.size()];
  std::deque<Flight>& queue = random() & 1 ? w.vm : w.lgkm;
  for (Flight& f : queue) {
    if (f.landed) continue;
    f.land();
    f.landed = true;
    ++result_.stats.events;
    return;
  }
}

void Engine::block_at_barrier(Wave& w) {
  w.at_barrier = true;
  if (std::all_of(waves_.begin(), waves_.end(), [](const auto& o) { return o->at_barrier; })) {
    uint64_t last = 0;
    for (const auto& o : waves_) last = std::max(last, o->time);
    // The last one does not wait: what it does here is arrive.
    const int arrival = options_.timeline && w.time > w.entered ? bar(track(w), "arrive BAR", w.entered, w.time) : -1;
    w.entered = w.time;
    for (const auto& o : waves_) {
      o->at_barrier = false;
      if (o.get() != &w) o->released_by = arrival;
      o->time = last;
      ++o->barriers;
    }
    return;
  }
  const int64_t passed = w.barriers;
  while (w.barriers == passed) yield(w);
}

void Engine::declare_stagger(uint32_t ahead, here at) {
  const Wave& w = wave();
  const int64_t common = w.barriers - int64_t(ahead);
  if (first_ == nullptr) {
    first_ = &w;
    common_ = common;
  }
  if (common == common_) return;
  fail("wave.stagger",
       fmt::format(
           "{} has passed {} barriers, {} too {}: it should be as many ahead of {} as the schedule was proven for",
           who(w), w.barriers, common > common_ ? common - common_ : common_ - common,
           common > common_ ? "many" : "few", who(*first_)),
       at, w.place.text());
}

int Engine::access(Kind kind, here at) {
  accesses_.push_back({&wave(), kind, at, wave().place, -1});
  return int(accesses_.size()) - 1;
}

bool Engine::ordered(const Access& before, const Access& now) const {
  if (before.by == now.by) {
    // The accesses of one kind take place in their order; ds_read and ds_write are of one kind.
    if ((before.kind == Kind::copy) == (now.kind == Kind::copy)) return true;
    return before.complete >= 0;
  }
  return before.complete >= 0 && now.by->barriers > before.complete;
}

void Engine::order(const Access& before, const Access& now, uint32_t address) {
  ++result_.stats.checks;
  if (ordered(before, now)) return;
  const bool open = before.complete < 0;
  const char* counter = before.kind == Kind::copy ? "wait_vm" : "wait_lgkm";
  const std::string first = fmt::format("{} of {} ({})", verb(before.kind), who(*before.by), before.place.report());
  const std::string second = fmt::format("{} of {} ({})", verb(now.kind), who(*now.by), now.place.report());
  const std::string reason =
      open ? fmt::format("no {} of {} covers it", counter, who(*before.by))
           : fmt::format("no barrier lies between the {} of {} and this", counter, who(*before.by));
  fail(open ? "race.in_flight" : "race",
       fmt::format("{} touches {} while {} may still {} it: {}", second, region(address), first,
                   before.kind == Kind::read ? "read" : "write", reason),
       now.at, region(address), {fmt::format("the other at {}", where(before.at))});
}

void Engine::touch(int id, uint32_t address, uint32_t bytes) {
  const Access now = accesses_[size_t(id)];
  if (uint64_t(address) + bytes > lds_.size()) {
    fail("bounds.shared",
         fmt::format("{} of {} reaches LDS byte {} of {}", verb(now.kind), who(*now.by), address + bytes - 1,
                     lds_.size()),
         now.at);
  }
  if (address % kCell != 0) {
    fail("bounds.alignment",
         fmt::format("{} of {} at LDS address {:#x}: it must be a multiple of 16", verb(now.kind), who(*now.by),
                     address),
         now.at);
  }
  if (!options_.check) return;
  for (uint32_t at = address; at < address + bytes; at += kCell) {
    Cell& cell = cells_[at / kCell];
    if (cell.write >= 0) order(accesses_[size_t(cell.write)], now, at);
    if (now.kind == Kind::read) {
      if (cell.write < 0) {
        fail("uninitialised.shared", fmt::format("{} reads {}, which nobody has written", who(*now.by), region(at)),
             now.at, region(at));
      }
      cell.reads[size_t(now.by->index)] = id;
    } else {
      for (const int r : cell.reads)
        if (r >= 0) order(accesses_[size_t(r)], now, at);
      cell.write = id;
      std::fill(cell.reads.begin(), cell.reads.end(), -1);
    }
  }
}

void Engine::poison(uint32_t address, uint32_t bytes) {
  if (options_.landing != Landing::eager) std::memset(lds_.data() + address, 0xff, bytes);
}

void Engine::issue(bool vm, Flight flight) {
  Wave& w = wave();
  flight.place = w.place;
  flight.due = due(vm);
  on_unit(vm ? w.loads : w.reads, vm ? "memory" : "LDS", w.time, flight.due);
  flight.span = vm ? w.loads : w.reads;
  if (options_.landing == Landing::eager) {
    flight.land();
    flight.landed = true;
    ++result_.stats.events;
  }
  (vm ? w.vm : w.lgkm).push_back(std::move(flight));
}

void Engine::wait(bool vm, int count) {
  Wave& w = wave();
  std::deque<Flight>& queue = vm ? w.vm : w.lgkm;
  while (int(queue.size()) > count) {
    Flight& f = queue.front();
    if (!f.landed) {
      f.land();
      ++result_.stats.events;
    }
    if (f.due > w.time) w.released_by = f.span;
    w.time = std::max(w.time, f.due);
    if (f.access >= 0) accesses_[size_t(f.access)].complete = w.barriers;
    if (f.fills != nullptr) --f.fills->in_flight;
    queue.pop_front();
  }
}

const Buffer* Engine::buffer_of(const void* p, uint64_t bytes) const {
  return simulator::buffer_of(launch_.buffers, p, bytes);
}

uint8_t* Engine::host(const void* p) const { return host_of(launch_.buffers, p); }

void Engine::fail(const char* rule, std::string message, here at, std::string object, std::vector<std::string> details,
                  int lane) {
  if (dying_) throw Abort{};
  Finding f = finding_by(current_wave);
  f.rule = rule;
  f.message = std::move(message);
  f.details.insert(f.details.end(), details.begin(), details.end());
  f.object = std::move(object);
  f.lane = lane;
  f.file = at.file;
  f.line = at.line;
  result_.findings.push_back(std::move(f));
  dying_ = true;  // what follows would be built on sand
  throw Abort{};
}

Finding Engine::finding_by(const Wave* w) const {
  Finding f;
  if (w != nullptr) {
    f.role = w->role ? w->role->name : "wave";
    f.cta = int(workgroup_);
    f.warp = w->index;
    if (w->place.slot >= 0) f.details.push_back("in " + w->place.report());
  }
  f.seed = options_.seed;
  f.mode = mode_text(options_);
  return f;
}

std::string Engine::region(uint32_t address) const {
  const BlockPlan& plan = *launch_.plan;
  for (int i = 0; i < plan.region_count; ++i) {
    const RegionSpec& r = plan.regions[i];
    if (address < r.offset || address >= r.offset + r.bytes()) continue;
    const uint32_t in = address - r.offset;
    return fmt::format("{}[{}]+{}", r.name, in / r.stage_bytes, in % r.stage_bytes);
  }
  return fmt::format("LDS+{}", address);
}

}  // namespace warpwright::simulator::cdna

namespace warpwright::simulator {

Result run_waves(const Launch& launch, const Options& options, const std::function<void()>& body) {
  return cdna::Engine(launch, options, body).run();
}

}  // namespace warpwright::simulator

#include "report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace warpwright::simulator {

std::string where(here at) {
  const char* slash = std::strrchr(at.file, '/');
  return fmt::format("{}:{}", slash ? slash + 1 : at.file, at.line);
}

std::string who(const Thread& t) {
  return fmt::format("{} (cta {} warp {} lane {})", t.warp->role_name(), t.cta->id, t.warp->index, t.lane());
}

std::string Finding::text() const {
  std::string s = fmt::format("{}: {}", rule, message);
  if (cta >= 0) s += fmt::format("\n  by {} in CTA {}, warp {}", role, cta, warp);
  if (cta >= 0 && lane >= 0) s += fmt::format(", lane {}", lane);
  if (line) s += fmt::format("\n  at {}", where({file.c_str(), line}));
  for (const std::string& d : details) s += "\n  " + d;
  s += fmt::format("\n  replay: {} --seed {}", mode, seed);
  return s;
}

std::string Engine::name_of(const Cta& cta, uint32_t offset) const {
  const uint32_t base = cta.window - launch_.shared_bytes;
  const BlockPlan& plan = *launch_.plan;
  if (offset >= base) {
    const uint32_t at = offset - base;
    for (int i = 0; i < plan.barrier_count; ++i) {
      const BarrierSpec& b = plan.barriers[i];
      if (at >= b.offset && at < b.offset + 8 * uint32_t(b.stages))
        return b.stages > 1 ? fmt::format("{}[{}]", b.name, (at - b.offset) / 8) : std::string(b.name);
    }
    for (int i = 0; i < plan.region_count; ++i) {
      const RegionSpec& r = plan.regions[i];
      if (at >= r.offset && at < r.offset + r.bytes()) {
        const uint32_t in = at - r.offset;
        return r.stages > 1 ? fmt::format("{}[{}]+{}", r.name, in / r.stage_bytes, in % r.stage_bytes)
                            : fmt::format("{}+{}", r.name, in);
      }
    }
  }
  return fmt::format("shared offset {}", int64_t(offset) - int64_t(base));
}

std::string Engine::name_of_global(const void* p) const {
  const Buffer* nearest = nullptr;
  int64_t distance = 0;
  for (const Buffer& b : launch_.buffers) {
    const int64_t d = static_cast<const uint8_t*>(p) - static_cast<const uint8_t*>(b.data);
    if (!nearest || std::abs(d) < std::abs(distance)) {
      nearest = &b;
      distance = d;
    }
  }
  return nearest ? fmt::format("{}{:+d}, which has {} bytes", nearest->name, distance, nearest->bytes)
                 : "no buffers were given";
}

std::string Engine::track(const Thread& t) const {
  return fmt::format("cta {} / {} / warp {}", t.cta->id, t.warp->role_name(), t.warp->index);
}

std::string waited_for(const Engine& e, const Thread& t, Wait why, const void* object) {
  switch (why) {
    case Wait::mbarrier:
    case Wait::poll: {
      for (const auto& [offset, b] : t.cta->bars)
        if (b.get() == object) return fmt::format("{} phase {}", b->name(), t.wait_phase);
      return fmt::format("a value in global memory, {}", e.name_of_global(object));
    }
    case Wait::named: {
      const int id = int(static_cast<const NamedBarrier*>(object) - t.cta->named);
      const BlockPlan& plan = *e.launch().plan;
      for (int i = 0; i < plan.named_count; ++i)
        if (plan.named[i].id == id) return fmt::format("named barrier {} ({})", id, plan.named[i].name);
      return id == 0 ? "__syncthreads" : fmt::format("named barrier {}", id);
    }
    case Wait::cluster:
      return "the cluster barrier";
    case Wait::warp:
      return fmt::format("the other lanes of its warp in {}",
                         object == &t.warp->collective ? t.warp->collective.word : "bar.warp.sync");
    case Wait::wgmma:
      return "its wgmma groups (all four warps of a warpgroup issue them)";
    case Wait::bulk:
      return "its bulk groups";
    case Wait::cp_async:
      return "its cp.async groups";
    case Wait::tmem:
      return "the peer CTA in tcgen05.dealloc";
    case Wait::registers:
      return "registers (setmaxnreg)";
    default:
      return "nothing";
  }
}

namespace {

struct RoleState {
  int alive = 0, waiting_elsewhere = 0;
  here last{"", 0};
};

// What has become of the threads of a role in the cluster.
std::string fate(const Cluster& cluster, const char* role, bool& gone) {
  int alive = 0, total = 0;
  const Thread* example = nullptr;
  const Thread* exited = nullptr;
  for (const Cta* c : cluster.ctas)
    for (const auto& t : c->threads) {
      if (std::strcmp(t->warp->role_name(), role) != 0) continue;
      ++total;
      if (!t->done) {
        ++alive;
        if (!example || t->waiting != Wait::warp) example = t.get();
      } else if (!exited || t->where.line) {
        exited = t.get();
      }
    }
  gone = alive == 0;
  if (total == 0) return fmt::format("no thread has role {}", role);
  if (alive == 0) return fmt::format("{} has exited (last word at {})", role, exited ? where(exited->where) : "?");
  return fmt::format("{} waits for {} at {}", role,
                     waited_for(*example->cta->engine, *example, example->waiting, example->wait_object),
                     where(example->where));
}

// A thread in a block or cluster barrier, and an mbarrier whose missing arrivals are all due from threads in such
// barriers: then the barrier is where the kernel hangs, and the mbarrier's waiters only follow.
const Thread* held_in_barrier(const Engine& e, const Bar*& follower) {
  for (const auto& cta : e.ctas)
    for (const auto& [offset, b] : cta->bars) {
      if (b->waiters.empty() || !b->spec || b->pending == 0) continue;
      const Thread* held = nullptr;
      bool elsewhere = false;
      for (const Cta* c : cta->cluster->ctas)
        for (const auto& w : c->warps) {
          bool due = false;
          for (const ArrivalSpec& a : b->spec->arrivals) due |= a.role && std::strcmp(a.role, w->role_name()) == 0;
          for (const Arrival& a : b->arrivals) due &= !a.by || a.by->warp != w.get();
          if (!due) continue;
          for (const Thread* t : w->lanes) {
            if (!t || t->done) continue;
            if (t->waiting == Wait::named || t->waiting == Wait::cluster) {
              held = t;
            } else {
              elsewhere = true;
            }
          }
        }
      if (!held || elsewhere) continue;
      follower = b.get();
      return held;
    }
  return nullptr;
}

}  // namespace

// Who runs most is who does not come to an end; the others show what they were waiting for meanwhile.
void report_livelock(Engine& e, uint64_t steps) {
  const Warp* busiest = nullptr;
  const Thread* at_work = nullptr;
  std::vector<std::string> others;
  for (const auto& c : e.ctas) {
    const Warp* counted = nullptr;
    for (const auto& t : c->threads) {
      if (t->done || t->warp == counted) continue;
      counted = t->warp;
      const Thread* one = t.get();  // a lane that is not waiting speaks for its warp
      for (const Thread* lane : t->warp->lanes)
        if (lane && !lane->done && lane->waiting == Wait::none) {
          one = lane;
          break;
        }
      others.push_back(one->waiting == Wait::none
                           ? fmt::format("{} runs at {}", who(*one), where(one->where))
                           : fmt::format("{} waits for {} at {}", who(*one),
                                         waited_for(e, *one, one->waiting, one->wait_object), where(one->where)));
      if (!busiest || t->warp->runs > busiest->runs) {
        busiest = t->warp;
        at_work = one;
      }
    }
  }
  Finding f;
  f.rule = "livelock";
  const double limit = e.options().max_seconds;
  f.message = fmt::format(
      "no end after {}: a loop that never finishes, or a trip count that underflowed",
      steps > e.options().step_limit ? fmt::format("{} scheduling steps", steps) : fmt::format("{:.3g} s", limit));
  if (at_work) {
    f.message += fmt::format("; the warp that ran most is {}, at {}", who(*at_work), where(at_work->where));
    f.role = at_work->warp->role_name();
    f.cta = int(at_work->cta->id);
    f.warp = at_work->warp->index;
    f.lane = at_work->lane();
    f.file = at_work->where.file;
    f.line = at_work->where.line;
  }
  if (others.size() > 32) others.resize(32);
  f.details = std::move(others);
  e.report(std::move(f));
}

void report_deadlock(Engine& e) {
  Finding f;
  f.rule = "deadlock";
  std::map<std::string, int> waiters;
  const Thread* first = nullptr;
  int rank_of_first = 100;
  auto urgency = [](const Thread& t) {
    switch (t.waiting) {
      case Wait::registers:
        return 0;
      case Wait::mbarrier:
      case Wait::poll:
        return 1;
      case Wait::named:
        return 2;
      case Wait::tmem:
      case Wait::warp:
        return 3;
      case Wait::cluster:
        return 4;
      default:
        return 5;
    }
  };
  for (const auto& cta : e.ctas)
    for (const auto& t : cta->threads) {
      if (t->done) continue;
      ++waiters[fmt::format("{} cta {} warp {} waits for {} at {}", t->warp->role_name(), cta->id, t->warp->index,
                            waited_for(e, *t, t->waiting, t->wait_object), where(t->where))];
      if (urgency(*t) < rank_of_first) {
        rank_of_first = urgency(*t);
        first = t.get();
      }
    }
  // The best thread to name is one whose awaited barrier can no longer be completed by anybody.
  std::string verdict;
  // A warpgroup that waits for registers comes before all: the barriers wait for it.
  const bool registers = first && first->waiting == Wait::registers;
  for (const auto& cta : e.ctas)
    for (const auto& [offset, b] : cta->bars) {
      if (b->waiters.empty() || !b->spec || registers) continue;
      std::vector<std::string> fates;
      bool all_gone = b->pending > 0, gone = false;
      for (const ArrivalSpec& a : b->spec->arrivals) {
        if (!a.role) continue;
        fates.push_back(fate(*cta->cluster, a.role, gone));
        all_gone &= gone;
      }
      const bool stuck_bytes = b->pending == 0 && b->tx > 0;
      const bool unannounced = b->pending > 0 && b->tx < 0;
      if (!stuck_bytes && !unannounced && !all_gone && !verdict.empty()) continue;
      if (f.rule != "deadlock" && !stuck_bytes && !unannounced) continue;
      const Thread* w = b->waiters.front();
      std::string all;
      for (const auto& s : fates) all += (all.empty() ? "" : "; ") + s;
      if (stuck_bytes) {
        f.rule = "deadlock.bytes";
        verdict = fmt::format(
            "{} waits on {} phase {} ({}): all arrivals are in, but {} bytes were announced and never delivered{}",
            who(*w), b->name(), w->wait_phase, where(w->where), b->tx,
            b->in_flight_bytes ? fmt::format(" ({} bytes in flight)", b->in_flight_bytes) : "");
      } else if (unannounced) {
        f.rule = "deadlock.bytes";
        verdict = fmt::format(
            "{} waits on {} phase {} ({}): {} bytes were delivered that no expect_tx announced, and {} of {} arrivals "
            "are missing: {}",
            who(*w), b->name(), w->wait_phase, where(w->where), -b->tx, b->pending, b->count, all);
      } else {
        if (all_gone) f.rule = "deadlock.role_exited";
        verdict = fmt::format("{} waits on {} phase {} ({}); nobody will arrive: {}", who(*w), b->name(), w->wait_phase,
                              where(w->where), all);
      }
      f.object = b->name();
      first = w;
    }
  const Bar* follower = nullptr;
  if (const Thread* held = f.rule == "deadlock" && !verdict.empty() ? held_in_barrier(e, follower) : nullptr) {
    const bool named = held->waiting == Wait::named;
    f.rule = named ? "deadlock.named" : "deadlock.cluster";
    f.object = waited_for(e, *held, held->waiting, held->wait_object);
    const auto* barrier = static_cast<const NamedBarrier*>(held->wait_object);
    const Thread* w = follower->waiters.front();
    verdict = fmt::format(
        "{} waits for {} at {}, where {} of {} threads have come; {} waits on {} phase {} ({}), for which they would "
        "arrive later",
        who(*held), f.object, where(held->where), named ? barrier->got : held->cta->cluster->arrived,
        named ? barrier->need : held->cta->cluster->alive, who(*w), follower->name(), w->wait_phase, where(w->where));
    first = held;
  }
  if (verdict.empty() && first) {
    verdict = fmt::format("{} waits for {} at {}, and nothing can run", who(*first),
                          waited_for(e, *first, first->waiting, first->wait_object), where(first->where));
    if (first->waiting == Wait::named || first->waiting == Wait::cluster)
      f.rule = first->waiting == Wait::named ? "deadlock.named" : "deadlock.cluster";
    if (first->waiting == Wait::registers) f.rule = "deadlock.registers";
    if (first->waiting == Wait::warp) f.rule = "deadlock.partial_warp";
    if (first->waiting == Wait::tmem) f.rule = "deadlock.tmem";
    if (first->waiting == Wait::wgmma) f.rule = "deadlock.wgmma";
    f.object = waited_for(e, *first, first->waiting, first->wait_object);
  }
  f.message = verdict;
  if (first) {
    f.role = first->warp->role_name();
    f.cta = int(first->cta->id);
    f.warp = first->warp->index;
    f.lane = first->lane();
    f.file = first->where.file;
    f.line = first->where.line;
  }
  for (const auto& [text, n] : waiters) f.details.push_back(fmt::format("{} ({} lane{})", text, n, n == 1 ? "" : "s"));
  for (const auto& cta : e.ctas) {
    for (const auto& [offset, b] : cta->bars) {
      if (b->pending == b->count && b->tx == 0 && b->waiters.empty()) continue;
      f.details.push_back(fmt::format("cta {} {}: phase {}, {} of {} arrivals missing, {} bytes outstanding", cta->id,
                                      b->name(), b->generation, b->pending, b->count, b->tx));
    }
    for (int i = 0; i < 16; ++i)
      if (cta->named[i].got)
        f.details.push_back(fmt::format("cta {} named barrier {}: {} of {} threads have arrived", cta->id, i,
                                        cta->named[i].got, cta->named[i].need));
  }
  try {
    e.report(std::move(f));
  } catch (const Abort&) {
  }
}

void check_thread_exit(Engine& e, Thread& t) {
  for (const auto& op : t.bulk_ops) {
    // Its source must have been read: the thread knows it through wait_group or wait_group.read.
    const Access& a = e.log[op->read_access];
    bool known = false;
    for (Stamp s : a.done) known |= t.view[kHb].knows(t.channel, s);
    if (!known && e.options().check)
      e.fail("exit.pending_store",
             "a thread exits while a bulk store that it issued may still read shared memory: cp.async.bulk.wait_group "
             "is missing",
             &t, a.at);
  }
}

void check_cta_exit(Engine& e, Cta& c) {
  if (!c.allocations.empty())
    e.fail("tmem.leak",
           fmt::format("CTA {} exits with {} tensor-memory columns allocated: tcgen05.dealloc is missing", c.id,
                       c.allocations[0].columns),
           nullptr, c.allocations[0].at);
}

void check_cluster_exit(Engine& e, Cluster& cluster) {
  if (!e.options().check || cluster.ctas.size() < 2) return;
  // Every access from another CTA must be known, in some thread of its target, before that CTA ends.
  for (Cta* c : cluster.ctas)
    for (const Cta::Remote& r : c->remote) {
      bool known = false;
      for (const auto& t : c->threads) {
        if (r.bar) {
          const auto seen = t->observed.find(r.bar);
          known |= seen != t->observed.end() && seen->second >= r.generation;
        }
        if (r.access) {
          for (Stamp s : e.log[r.access].done) known |= t->view[kHb].knows(t->channel, s);
        } else {
          known |= t->view[kHb].knows(t->channel, r.stamp);
        }
        if (known) break;
      }
      if (!known)
        e.fail("cluster.exit_order",
               fmt::format(
                   "nothing orders {} of {} into CTA {} before that CTA exits: a cluster barrier at the end is missing",
                   r.word, who(*r.by), c->id),
               r.by, r.at);
    }
}

}  // namespace warpwright::simulator

#include "report.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "buffers/buffers.h"

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
  if (called_line) s += fmt::format("\n  by way of {}", where({called_file.c_str(), called_line}));
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

std::string Engine::name_near(const void* p) const {
  const Buffer* near = buffer_near(launch_.buffers, p);
  return near ? near->name : std::string();
}

std::string Engine::name_of_global(const void* p, uint64_t bytes) const {
  return simulator::name_of_global(launch_.buffers, p, bytes);
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

// The thread that runs most is the one that does not end; the others show what they were waiting for meanwhile.
void report_livelock(Engine& e, uint64_t steps, bool late) {
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
  f.message = fmt::format("no end after {}: a loop that never finishes, or a trip count that underflowed",
                          late ? fmt::format("{:.3g} s", limit) : fmt::format("{} scheduling steps", steps));
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
        if (r.bar && r.bar->number < t->observed.size()) known |= t->observed[r.bar->number] >= r.generation;
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

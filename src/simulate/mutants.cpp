#include "simulate/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "system/on_cores.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Condition;
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

// A case with its operands, and the sites that it reaches.
struct Ground {
  Case shape;
  reference::Workload workload;
  std::vector<Fault> sites;
};

bool same_place(const Fault& a, const Fault& b) {
  return std::tie(a.word, a.object, a.role) == std::tie(b.word, b.object, b.role);
}

std::vector<Ground> grounds_of(const Example& example) {
  std::vector<Ground> grounds;
  for (const Case& c : example.cases) {
    if (c.condition == Condition::real) continue;  // rounding hides a small error
    Ground g{c, example.workload(c, reference::Data::integers, 1), {}};
    Options list;
    list.landing = Landing::eager;
    list.list_fault_sites = true;
    g.sites = example.simulate(g.workload, list, 0).sim.fault_sites;
    grounds.push_back(std::move(g));
  }
  return grounds;
}

// A mutant that never ends is reported like one that waits for ever.
Options mode(Landing landing, Scheduling scheduling, const Fault& fault) {
  Options o;
  o.landing = landing;
  o.scheduling = scheduling;
  o.faults = {fault};
  o.step_limit = 2'000'000;
  o.max_seconds = 20;
  o.hang_seconds = 1;
  return o;
}

void run_one(const Example& example, const std::vector<Ground>& grounds, Mutant& mutant) {
  std::vector<const Ground*> reached;
  for (const Ground& g : grounds) {
    const auto here = [&](const Fault& site) { return same_place(site, mutant.fault); };
    if (std::any_of(g.sites.begin(), g.sites.end(), here)) reached.push_back(&g);
  }
  for (const Ground* g : reached) {
    for (const auto& [landing, scheduling] : {std::pair(Landing::eager, Scheduling::fifo),
                                              {Landing::late, Scheduling::fifo},
                                              {Landing::seeded, Scheduling::random},
                                              {Landing::timed, Scheduling::fifo}}) {
      const Outcome out = example.simulate(g->workload, mode(landing, scheduling, mutant.fault), 0);
      if (out.ok()) continue;
      mutant.at = g->shape;
      mutant.rule = out.sim.ok() ? "result" : out.sim.findings.front().rule;
      mutant.report =
          out.sim.ok() ? fmt::format("{} elements are wrong", out.verdict.wrong) : out.sim.findings.front().message;
      return;
    }
  }
  Options certified = mode(Landing::eager, Scheduling::fifo, mutant.fault);
  certified.certify = true;
  mutant.proven = std::all_of(reached.begin(), reached.end(), [&](const Ground* g) {
    const simulator::Result run = example.simulate(g->workload, certified, 0).sim;
    return run.ok() && run.certificate.proven();
  });
}

}  // namespace

std::string describe(const Fault& f) {
  constexpr const char* action[] = {"drop", "duplicate", "alter", "postpone"};
  return fmt::format("{} {}{} by {}", action[int(f.action)], f.word, f.object.empty() ? "" : " " + f.object, f.role);
}

std::vector<Fault> mutants_of(const BlockPlan& plan, const std::vector<Fault>& sites) {
  using enum Fault::Action;
  std::vector<Fault> all;
  for (const Fault& site : sites) {
    const auto add = [&](Fault::Action action, int64_t value = 0) {
      all.push_back(site);
      all.back().action = action;
      all.back().value = value;
    };
    const std::string& word = site.word;
    if (word == "mbarrier_init") {
      for (int i = 0; i < plan.barrier_count; ++i)
        if (site.object == plan.barriers[i].name) {
          add(alter, plan.barriers[i].count + 1);
          if (plan.barriers[i].count > 1) add(alter, plan.barriers[i].count - 1);
        }
      continue;
    }
    // Not synchronization, or not something that a kernel leaves out.
    if (word == "elect_one" || word == "shuffle" || word == "tcgen05_alloc" || word == "atomic_add") continue;
    add(drop);
    if (word == "mbarrier_wait") add(alter, -1);
    if (word == "mbarrier_arrive" || word == "tcgen05_dealloc") add(duplicate);
    if (word == "mbarrier_arrive_expect_tx") add(alter, 48);
    if (word == "tcgen05_commit") add(postpone);
    if (word == "clc_try_cancel") add(alter, 0b01);
  }
  return all;
}

std::vector<Mutant> run_mutants(const Example& example, int threads,
                                const std::function<void(size_t, size_t)>& advanced) {
  const std::vector<Ground> grounds = grounds_of(example);
  std::map<std::tuple<std::string, std::string, std::string>, Fault> sites;
  for (const Ground& g : grounds)
    for (const Fault& f : g.sites) sites.emplace(std::tie(f.word, f.object, f.role), f);
  std::vector<Fault> once;
  for (const auto& [key, site] : sites) once.push_back(site);
  std::vector<Mutant> mutants;
  for (const Fault& f : mutants_of(*example.plan, once)) mutants.emplace_back().fault = f;

  std::mutex mutex;
  size_t done = 0;
  system::on_cores(mutants.size(), threads, [&](size_t i) {
    run_one(example, grounds, mutants[i]);
    const std::lock_guard lock(mutex);
    advanced(++done, mutants.size());
  });
  return mutants;
}

}  // namespace warpwright::simulate

#include "simulate/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "system/on_cores.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Condition;
using simulator::Certificate;
using simulator::Fault;
using simulator::FaultSite;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

// A case with its operands, and the sites that it reaches.
struct Ground {
  Case shape;
  reference::Workload workload;
  std::vector<FaultSite> sites;
  double seconds = 0;       // how long a run takes
  uint64_t steps = 0;       // steps that a run could be divided into
  Certificate certificate;  // the certificate of the kernel as it is
};

auto call_of(const Fault& f) { return std::tie(f.word, f.object, f.role, f.file, f.line); }

// The quickest first.
std::vector<std::unique_ptr<Ground>> grounds_of(const Example& example, int threads) {
  std::vector<Case> cases;
  // Rounding hides a small error.
  for (const Case& c : example.cases)
    if (c.condition != Condition::real && c.condition != Condition::far) cases.push_back(c);
  std::vector<std::unique_ptr<Ground>> grounds(cases.size());
  system::on_cores(cases.size(), threads, [&](size_t i) {
    grounds[i] = std::make_unique<Ground>();
    Ground& g = *grounds[i];
    g.shape = cases[i];
    g.workload = example.workload(cases[i], reference::Data::integers, 1);
    Options list;
    list.landing = Landing::eager;
    list.list_fault_sites = true;
    list.certify = true;
    simulator::Result run = example.simulate(g.workload, list, 0).sim;
    g.sites = std::move(run.fault_sites);
    g.certificate = std::move(run.certificate);
    g.seconds = run.stats.wall_s;
    g.steps = run.stats.words + run.stats.switches;
  });
  std::stable_sort(grounds.begin(), grounds.end(),
                   [](const auto& a, const auto& b) { return a->seconds < b->seconds; });
  return grounds;
}

// A mutant that never ends is reported like one that waits for ever: it takes more steps than the kernel could. No
// limit of time decides, since the machine may be busy.
Options mode(Landing landing, Scheduling scheduling, const Fault& fault, uint64_t steps) {
  Options o;
  o.landing = landing;
  o.scheduling = scheduling;
  o.faults = {fault};
  o.step_limit = 4 * steps + 100'000;
  o.hang_seconds = 1;
  return o;
}

// What the certificate of a mutant's run says beyond that of the kernel's own. Empty: no more can go otherwise.
std::string doubt(const Certificate& mutant, const Certificate& kernel) {
  for (const std::string& gap : mutant.gaps)
    if (kernel.gaps.empty()) return gap;
  return {};
}
bool is_as_certain(const Certificate& mutant, const Certificate& kernel) {
  return mutant.gaps.empty() &&
         std::includes(kernel.path.begin(), kernel.path.end(), mutant.path.begin(), mutant.path.end());
}

void run_one(const Example& example, const std::vector<std::unique_ptr<Ground>>& grounds, Mutant& mutant) {
  const auto here = [&](const FaultSite& site) { return call_of(site) == call_of(mutant.fault); };
  mutant.proven = true;
  bool first = true;
  for (const auto& g : grounds) {
    if (std::none_of(g->sites.begin(), g->sites.end(), here)) continue;
    const auto seen = [&](std::string rule, std::string report) {
      mutant.at = g->shape;
      mutant.rule = std::move(rule);
      mutant.report = std::move(report);
      mutant.proven = false;
    };
    std::string gap;
    for (const auto& [landing, scheduling] : {std::pair(Landing::eager, Scheduling::fifo),
                                              {Landing::late, Scheduling::fifo},
                                              {Landing::seeded, Scheduling::random},
                                              {Landing::timed, Scheduling::fifo}}) {
      if (landing == Landing::timed && !first) continue;  // one order of many, and a slow one
      Options o = mode(landing, scheduling, mutant.fault, g->steps);
      o.certify = landing == Landing::eager;
      const Outcome out = example.simulate(g->workload, o, 0);
      if (!out.sim.ok()) return seen(out.sim.findings.front().rule, out.sim.findings.front().message);
      if (!out.verdict.ok)
        return seen("result", fmt::format("{} elements are wrong", out.verdict.wrong + out.verdict.others_wrong));
      if (!o.certify) continue;
      gap = doubt(out.sim.certificate, g->certificate);
      mutant.proven = mutant.proven && is_as_certain(out.sim.certificate, g->certificate);
    }
    if (!gap.empty()) return seen("certificate", gap);
    first = false;
  }
}

}  // namespace

std::vector<Mutant> run_mutants(const Example& example, int threads,
                                const std::function<void(size_t, size_t)>& advanced) {
  const std::vector<std::unique_ptr<Ground>> grounds = grounds_of(example, threads);
  std::map<std::tuple<std::string, std::string, std::string, std::string, uint32_t>, FaultSite> sites;
  for (const auto& g : grounds) {
    for (const FaultSite& f : g->sites) {
      FaultSite& site = sites.emplace(call_of(f), f).first->second;
      site.can |= f.can;
      site.by_several_warps |= f.by_several_warps || f.first_warp != site.first_warp;
    }
  }
  std::vector<FaultSite> once;
  for (const auto& [key, site] : sites) once.push_back(site);
  std::vector<Mutant> mutants;
  for (const Fault& f : near_misses_of(*example.plan, once)) mutants.emplace_back().fault = f;

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

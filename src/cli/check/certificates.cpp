#include "cli/check/certificates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "cli/check/runs.h"
#include "cli/commands.h"
#include "cli/simulation.h"
#include "system/on_cores.h"

namespace warpwright::cli {
namespace {

using reference::Condition;

// The certificates of a kernel's cases as one.
struct Certified {
  std::string report;                             // the report of a run that fails; then there is no certificate
  std::vector<simulator::BarrierProof> barriers;  // in the order of the block plan
  std::set<std::string> gaps, path;               // the gaps of all barriers; what could lead to other instructions
  std::size_t sizes = 0;

  const char* verdict() const {
    if (!report.empty()) return "failed";
    if (!gaps.empty()) return "gaps";
    return path.empty() ? "proven" : "for its path";
  }
};

void add(Certified& to, const simulator::Certificate& c) {
  to.gaps.insert(c.gaps.begin(), c.gaps.end());
  to.path.insert(c.path.begin(), c.path.end());
  for (const simulator::BarrierProof& p : c.barriers) {
    auto found = std::find_if(to.barriers.begin(), to.barriers.end(), [&](const auto& b) { return b.name == p.name; });
    if (found == to.barriers.end()) {
      to.barriers.push_back(p);
      continue;
    }
    found->phases += p.phases;
    found->arrivals += p.arrivals;
    found->waits += p.waits;
    found->gaps.insert(found->gaps.end(), p.gaps.begin(), p.gaps.end());
  }
}

Certified certify(const simulate::Example& example) {
  prepare(example);
  Certified all;
  std::mutex mutex;
  Progress progress(example.name, example.cases.size());
  const int threads = example.instance.empty() ? 1 : 0;  // what the kernels of a source file share belongs to the user
  std::vector<simulator::Certificate> found(example.cases.size());
  system::on_cores(example.cases.size(), threads, [&](std::size_t i) {
    const reference::Case& c = example.cases[i];
    const auto data = c.condition == Condition::real ? reference::Data::normal : reference::Data::integers;
    Mode mode;
    mode.landing = simulator::Landing::eager;
    mode.certify = true;
    mode.hang_seconds = 1;
    const simulate::Outcome out = example.simulate(example.workload(c, data, 1), mode, 0);
    const std::lock_guard lock(mutex);
    found[i] = out.sim.certificate;
    if (!out.ok() && all.report.empty()) {
      all.report =
          fmt::format("{} on {}: {}", example.name, shape_text(c),
                      out.sim.ok() ? fmt::format("{} elements are wrong", out.verdict.wrong + out.verdict.others_wrong)
                                   : out.sim.findings.front().text());
    }
    progress.advance();
  });
  for (const simulator::Certificate& one : found) add(all, one);
  all.sizes = example.cases.size();
  return all;
}

// Why the phases of a barrier are the same in every interleaving, or why not. The conditions are those of
// src/sim/certificate.cpp; a barrier without a parity has the first alone.
std::string reason(const simulator::BarrierProof& p, const BlockPlan& plan) {
  if (!p.gaps.empty()) return p.gaps.front();
  const bool has_parity = std::any_of(plan.barriers, plan.barriers + plan.barrier_count,
                                      [&](const BarrierSpec& b) { return p.name == b.name; });
  if (!has_parity) return "each arrival knows that the last use of the barrier is over";
  return fmt::format("each arrival knows that the phase before its own is complete, {}",
                     p.waits == 0
                         ? "and nobody waits"
                         : "each wait is known to an arrival of the next phase, and no older parity lets one through");
}

Json document_of(const simulate::Example& example, const Certified& c) {
  Json barriers = Json::array();
  for (const simulator::BarrierProof& p : c.barriers)
    barriers.push_back({{"name", p.name},
                        {"phases", p.phases},
                        {"arrivals", p.arrivals},
                        {"waits", p.waits},
                        {"reason", reason(p, *example.plan)},
                        {"gaps", p.gaps}});
  return {{"name", example.name},
          {"certificate", c.verdict()},
          {"sizes", c.sizes},
          {"barriers", barriers},
          {"path", std::vector<std::string>(c.path.begin(), c.path.end())},
          {"report", c.report.empty() ? Json(nullptr) : Json(c.report)}};
}

void show(const simulate::Example& example, const Certified& c, Output& out) {
  Table table({"barrier", "phases", "arrivals", "waits", "in any interleaving"});
  for (const simulator::BarrierProof& p : c.barriers)
    table.row({p.name, fmt::format("{}", p.phases), fmt::format("{}", p.arrivals), fmt::format("{}", p.waits),
               p.gaps.empty() ? "the same" : "may differ"});
  out.line(fmt::format("{}: {} over {} sizes and conditions", example.name, c.verdict(), c.sizes));
  if (!c.barriers.empty()) out.table(table);
  for (const simulator::BarrierProof& p : c.barriers)
    out.line(fmt::format("  {}: {}", p.name, reason(p, *example.plan)));
  for (const std::string& why : c.path) out.line(fmt::format("  path: {}", why));
  if (!c.report.empty()) out.line(c.report);
}

}  // namespace

int check_certificates(const std::vector<const simulate::Example*>& examples, Output& out) {
  Json kernels = Json::array();
  bool stands = true;
  const bool each = examples.size() <= 4;
  std::map<std::string, std::size_t> verdicts;
  std::size_t width = 0;
  for (const simulate::Example* example : examples) width = std::max(width, example->name.size());
  for (const simulate::Example* example : examples) {
    const Certified c = certify(*example);
    kernels.push_back(document_of(*example, c));
    stands = stands && c.report.empty() && c.gaps.empty();
    ++verdicts[c.verdict()];
    if (each) {
      show(*example, c, out);
      continue;
    }
    std::int64_t phases = 0;
    for (const simulator::BarrierProof& p : c.barriers) phases += p.phases;
    const std::string why = !c.report.empty() ? c.report
                            : !c.gaps.empty() ? *c.gaps.begin()
                            : c.path.empty()  ? ""
                                              : *c.path.begin();
    out.line(fmt::format("{:<{}}  {:<12}  {:>2} barriers  {:>6} phases{}", example->name, width, c.verdict(),
                         c.barriers.size(), phases, why.empty() ? "" : "  " + why));
  }
  out.document({{"kernels", kernels}});
  if (!each) {
    std::string sums;
    for (const auto& [verdict, count] : verdicts)
      sums += fmt::format("{}{} {}", sums.empty() ? "" : ", ", count, verdict);
    out.line(sums);
  }
  return stands ? exit_ok : exit_wrong;
}

}  // namespace warpwright::cli

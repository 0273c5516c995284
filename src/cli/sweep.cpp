#include "cli/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "cli/output.h"
#include "reference/wrong_elements.h"
#include "sim/mode.h"

namespace warpwright::cli {

using simulator::Landing;
using simulator::Scheduling;

namespace {

constexpr int kPctDepth = 3;

// The first line names the thread, where the sentence does not.
std::string report_of(const simulator::Finding& f) {
  std::string text = f.text();
  if (f.cta < 0 || f.message.find(" (cta ") != std::string::npos) return text;
  const std::string lane = f.lane >= 0 ? fmt::format(" lane {}", f.lane) : "";
  return text.insert(f.rule.size() + 2, fmt::format("{} (cta {} warp {}{}): ", f.role, f.cta, f.warp, lane));
}

simulator::Finding wrong_result(const simulate::Example& example, const reference::Workload& workload,
                                const simulate::Outcome& outcome, const Mode& mode) {
  simulator::Finding finding;
  finding.rule = "result";
  const reference::Verdict& v = outcome.verdict;
  if (v.wrong == 0 && !v.other.empty()) {
    finding.message = v.other;
    if (v.others_wrong > 1) finding.message += fmt::format(", and {} more are wrong", v.others_wrong - 1);
    finding.object = v.other.substr(0, v.other.find('['));
  } else {
    finding.message =
        fmt::format("{} of {} elements of {} are wrong, {} of them were never written{}; relative error {:.3g}",
                    v.wrong, workload.expected.size(), workload.output().name, v.unwritten,
                    v.not_numbers > 0 ? fmt::format(", {} are NaN", v.not_numbers) : "", v.max_rel_error);
    finding.details = reference::wrong_elements(workload, outcome.output, example.tile);
    if (!v.other.empty()) finding.details.push_back(v.other);
    finding.object = workload.output().name;
  }
  finding.mode = simulator::mode_text(mode);
  finding.seed = mode.seed;
  return finding;
}

}  // namespace

Mode mode(Landing landing, Scheduling scheduling, std::string role) {
  Mode m;
  m.landing = landing;
  m.scheduling = scheduling;
  m.frozen_role = std::move(role);
  m.pct_depth = kPctDepth;
  return m;
}

std::vector<Mode> landing_modes(std::int64_t seeds, std::uint64_t first_seed) {
  std::vector<Mode> list = {mode(Landing::eager), mode(Landing::late)};
  list.insert(list.end(), std::size_t(seeds), mode(Landing::seeded));
  for (Mode& m : list) m.seed = m.landing == Landing::seeded ? first_seed++ : first_seed;
  list.push_back(mode(Landing::timed));
  return list;
}

void run_mode(const simulate::Example& example, const reference::Workload& workload, const Mode& mode, int timed_ctas,
              Swept& swept) {
  const bool timed = mode.landing == Landing::timed;
  simulate::Outcome outcome = example.simulate(workload, mode, timed ? timed_ctas : 0);
  ++swept.runs;
  swept.checks += outcome.sim.stats.checks;
  swept.wall_s += outcome.sim.stats.wall_s;
  swept.max_rel_error = std::max(swept.max_rel_error, outcome.verdict.max_rel_error);
  if (!outcome.sim.findings.empty()) {
    swept.finding = outcome.sim.findings.front();
    swept.report = report_of(swept.finding);
    swept.unfinished = swept.finding.rule == "livelock";
  } else if (!outcome.verdict.ok) {
    swept.finding = wrong_result(example, workload, outcome, mode);
    swept.report = report_of(swept.finding);
  }
  swept.output = std::move(outcome.output);
  swept.barriers = std::move(outcome.sim.barriers);
  swept.gaps = std::move(outcome.sim.certificate.gaps);
  if (timed) {
    swept.predicted_us = outcome.sim.stats.predicted_us;
    swept.timed = std::move(outcome.sim);
  }
}

Swept sweep(const simulate::Example& example, const reference::Workload& workload, const std::vector<Mode>& modes,
            int timed_ctas, const std::string& label) {
  Swept swept;
  Progress progress(label, modes.size());
  for (const Mode& m : modes) {
    run_mode(example, workload, m, timed_ctas, swept);
    if (!swept.ok()) break;
    progress.advance();
  }
  return swept;
}

}  // namespace warpwright::cli

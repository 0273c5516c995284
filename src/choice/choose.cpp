#include "choice/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "choice/least_time.h"
#include "choice/measured.h"
#include "problem/lower.h"

namespace warpwright::choice {

namespace {

Result<Decision> choose_for(const GemmProblem& problem, const Chip& chip, OnDemand on_demand,
                            const ChipLimits& limits) {
  const problem::Lowered low = problem::lower(problem);
  if (chip.arch == Arch::sm90) return decide(problem, low, chip, on_demand);
  Chip part = chip;
  if (problem.sm_limit > 0) part.multiprocessors = std::min(part.multiprocessors, problem.sm_limit);
  if (chip.arch == Arch::sm100) return choose_sm100(problem, low, part, on_demand);
  return is_cdna(chip.arch) ? choose_cdna(problem, low, part) : choose_sm80(problem, low, part, on_demand, limits);
}

// The plan that was measured for this problem, if there is one that this version has.
std::optional<Decision> measured_for(const GemmProblem& problem, const Chip& chip, const ChipLimits& limits) {
  const auto row = measured_row(measured_key(problem), chip);
  if (!row) return {};
  GemmProblem named = problem;
  named.plan = row->plan;
  auto decision = choose_for(named, chip, OnDemand::allowed, limits);
  if (!decision) return {};
  decision->choice.by = ChosenBy::measured;
  decision->choice.measured_us = row->us;
  decision->choice.reason = measured_reason(decision->choice.reason, *row, chip);
  return *decision;
}

}  // namespace

Result<Decision> choose(const GemmProblem& problem, const Chip& chip, OnDemand on_demand, const ChipLimits& limits) {
  if (problem.plan.empty() && asks_to_measure(problem.tuning)) {
    if (auto decision = measured_for(problem, chip, limits)) {
      decision->choice.instance.formula = problem.epilogue.formula;
      return *decision;
    }
  }
  const bool ahead = problem.plan.empty() && asks_for_ahead(problem.tuning);
  auto decision = choose_for(problem, chip, ahead ? OnDemand::refused : on_demand, limits);
  // Nothing in the library serves it.
  if (!decision && ahead && on_demand == OnDemand::allowed) decision = choose_for(problem, chip, on_demand, limits);
  // The configuration knows the text of a user's epilogue by its number; the compiler needs the text.
  if (decision) decision->choice.instance.formula = problem.epilogue.formula;
  return decision;
}

std::vector<Decision> finalists(const Decision& chosen, const GemmProblem& problem, const Chip& chip,
                                const ChipLimits& limits) {
  std::vector<Decision> others, list;
  const problem::Lowered low = problem::lower(problem);
  Chip part = chip;
  if (problem.sm_limit > 0) part.multiprocessors = std::min(part.multiprocessors, problem.sm_limit);
  if (chip.arch == Arch::sm90) {
    others = best_by_model(problem, low, chip, kOtherFinalists + 1, OnDemand::refused);
    // Features that nothing was compiled for ahead: their plans are compiled now, and kept on disk.
    if (others.size() < kFewAhead) others = best_by_model(problem, low, chip, kOtherFinalists + 1, OnDemand::allowed);
  } else if (chip.arch == Arch::sm100) {
    (void)choose_sm100(problem, low, part, OnDemand::allowed, &others);
  } else if (!is_cdna(chip.arch)) {
    (void)choose_sm80(problem, low, part, OnDemand::allowed, limits, &others);
  }
  for (Decision& other : others) {
    if (list.size() == kOtherFinalists) break;
    if (other.name() == chosen.name()) continue;
    other.choice.instance.formula = problem.epilogue.formula;
    list.push_back(std::move(other));
  }
  return list;
}

std::vector<GroupedChoice> finalists(const GroupedChoice& chosen, const GroupedProblem& problem, const Chip& chip) {
  std::vector<GroupedChoice> list;
  if (chip.arch != Arch::sm90) return list;
  const int sms = problem.sm_limit > 0 ? std::min(chip.multiprocessors, problem.sm_limit) : chip.multiprocessors;
  for (const auto& [other, us] : rank(problem, sms)) {
    if (list.size() == kOtherFinalists) break;
    if (catalog::name_of(other) == catalog::name_of(chosen.instance)) continue;
    list.push_back({other, fmt::format("{:.1f} us by the model", us)});
    list.back().instance.formula = problem.formula;
  }
  return list;
}

ChipLimits limits_of(int major, int minor, uint32_t shared_bytes) {
  return {shared_bytes, 10 * major + minor >= 89, mma_sync_figures(major, minor)};
}

Chip simulated_chip(Arch arch) {
  const ChipFigures chip = chip_figures(arch);
  return {chip.name, chip.multiprocessors, arch};
}

}  // namespace warpwright::choice

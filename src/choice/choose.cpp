#include "choice/choose.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

Result<Decision> choose(const GemmProblem& problem, const Chip& chip, OnDemand on_demand, const ChipLimits& limits) {
  auto decision = choose_for(problem, chip, on_demand, limits);
  // The configuration knows the text of an own epilogue by its number; who compiles needs it.
  if (decision) decision->choice.instance.formula = problem.epilogue.formula;
  return decision;
}

ChipLimits limits_of(int major, int minor, uint32_t shared_bytes) {
  return {shared_bytes, 10 * major + minor >= 89, mma_sync_figures(major, minor)};
}

Chip simulated_chip(Arch arch) {
  const ChipFigures chip = chip_figures(arch);
  return {chip.name, chip.multiprocessors, arch};
}

}  // namespace warpwright::choice

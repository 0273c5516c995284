#include <fmt/format.h>

#include "cli/blackwell_problem.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/grouped_problem.h"
#include "runtime/tuned_grouped.h"

namespace warpwright::cli {

Explanation explain_grouped(const ProblemOptions& options) {
  const GroupedProblem problem = grouped_problem_of(options);
  const runtime::Chip chip = chip_here();
  const auto choice = runtime::choose(problem, chip);
  if (!choice) throw UsageError(choice.status().message());
  const runtime::GroupedFacts facts = runtime::facts_of(choice->kernel, problem, chip.multiprocessors);
  return {facts.plan,
          Arch::sm90,
          runtime::plan_name(choice->kernel),
          facts.text,
          {facts.tile_m, facts.tile_n, facts.tile_k},
          facts.waves.waves,
          facts.waves.fill,
          choice->reason,
          chip.name,
          problem_text(options, problem),
          runtime::floor_of(runtime::work_of(problem), Arch::sm90)};
}

Explanation explain_blackwell(const ProblemOptions& options) {
  const BlackwellProblem p = blackwell_problem_of(options);
  return {*p.example->plan,
          Arch::sm100,
          p.example->name,
          p.example->instance,
          {p.tile_m, p.tile_n, p.tile_k},
          p.waves.waves,
          p.waves.fill,
          p.reason,
          fmt::format("the simulator's {}", chip_of(Arch::sm100)),
          p.text(options),
          runtime::floor_of(p.work, Arch::sm100)};
}

}  // namespace warpwright::cli

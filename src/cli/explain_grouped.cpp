#include <fmt/format.h>

#include "choice/tuned_grouped.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/problem/blackwell_problem.h"
#include "cli/problem/grouped_problem.h"

namespace warpwright::cli {

Explanation explain_grouped(const ProblemOptions& options) {
  const GroupedProblem problem = grouped_problem_of(options);
  const choice::Chip chip = chip_here();
  const auto choice = choice::choose(problem, chip);
  if (!choice) throw UsageError(choice.status().message());
  const choice::GroupedFacts facts = choice::facts_of(choice->instance, problem, chip.multiprocessors);
  return {facts.plan,
          Arch::sm90,
          catalog::plan_name(choice->instance),
          catalog::name_of(choice->instance),
          facts.text,
          {facts.tile_m, facts.tile_n, facts.tile_k},
          facts.waves.waves,
          facts.waves.fill,
          choice->reason,
          chip.name,
          problem_text(options, problem),
          choice::floor_of(choice::work_of(problem), Arch::sm90)};
}

Explanation explain_blackwell(const ProblemOptions& options) {
  const BlackwellProblem p = blackwell_problem_of(options);
  return {*p.example->plan,
          Arch::sm100,
          p.example->plan_name.empty() ? p.example->name : p.example->plan_name,
          p.example->instance,
          p.example->instance,
          {p.tile_m, p.tile_n, p.tile_k},
          p.waves.waves,
          p.waves.fill,
          p.reason,
          fmt::format("the simulator's {}", chip_of(Arch::sm100)),
          p.text(options),
          choice::floor_of(p.work, Arch::sm100)};
}

}  // namespace warpwright::cli

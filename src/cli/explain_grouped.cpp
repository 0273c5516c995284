#include <fmt/format.h>

#include "choice/grouped_facts.h"
#include "choice/tuned_grouped.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/problem/grouped_problem.h"
#include "cli/simulation.h"

namespace warpwright::cli {

Explanation explain_grouped(const ProblemOptions& options) {
  const GroupedProblem problem = grouped_problem_of(options);
  const Arch arch = arch_of(options);
  const choice::Chip chip = chip_for(arch);
  const auto choice = choice::choose(problem, chip);
  if (!choice) throw UsageError(choice.status().message());
  const choice::GroupedFacts facts = choice::facts_of(choice->instance, problem, chip.multiprocessors);
  return {facts.plan,
          arch,
          catalog::plan_name(choice->instance),
          catalog::name_of(choice->instance),
          facts.text,
          {facts.tile_m, facts.tile_n, facts.tile_k},
          facts.waves.waves,
          facts.waves.fill,
          choice->reason,
          chip_text(chip),
          problem_text(options, problem),
          choice::floor_of(choice::work_of(problem), arch),
          choice->measured_us,
          problem.formula,
          choice::word_of(choice->by)};
}

}  // namespace warpwright::cli

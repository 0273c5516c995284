// Running a shipped kernel in the simulator, once for each way in which copies can land and threads can be scheduled.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/problem/problem_options.h"
#include "cli/sweep.h"
#include "simulate/example.h"
#include "warpwright/status.h"

namespace warpwright::cli {

// The modes the simulator options ask for. Without --landing and --schedule: eager, late and seeded landing in order.
// With one of them, everything for the other. A timed run, which predicts the time, is always among them, and last.
// Throws UsageError for a role that the kernel does not have.
std::vector<Mode> modes_of(const ProblemOptions& options, const BlockPlan& plan);

// Everything the checker sweeps: each landing in order and with each role frozen, then `seeds` seeded runs lane by
// lane, at random and by pct:3.
std::vector<Mode> all_modes(const BlockPlan& plan, std::int64_t seeds, std::uint64_t first_seed);

// Where one run more would show little: copies that land at once, as late as they can, in time and at random.
std::vector<Mode> plain_modes(std::uint64_t seed);
// The plainest run and one with a random schedule.
std::vector<Mode> few_modes(std::uint64_t seed);
// Each role frozen in turn, where copies land at once.
std::vector<Mode> frozen_modes(const BlockPlan& plan);

// Compiles an instance that is not ready, before a progress bar is drawn.
void prepare(const simulate::Example& example);
struct Target {
  std::string word;  // sim:sm80, sim:sm90, sim:sm100, sim:gfx942, sim:gfx950, sm80, sm90, sm100
  Arch arch = Arch::sm90;
  bool simulated = true;
};

// The architecture that the options mean, by their target, by the name of an instance or by a format that only one has;
// Hopper where they say nothing.
Arch arch_of(const ProblemOptions& options);

// Throws the sentence of a status that is not ok, as UsageError, MissingError or, where something failed on the way,
// std::runtime_error.
[[noreturn]] void fail(const Status& status);

// A product in a simulator, ready to run.
struct SimulatedProduct {
  simulate::Example example;
  reference::Workload workload;
  Target target;
  std::string problem;  // for people
  int ctas = 0;         // CTAs of the timed run; 0: a few
};
// A dense product on any architecture: the instance that a GPU would run. `take` may replace the random operands, and
// does so before anything is compiled. Throws UsageError for what is not served.
SimulatedProduct simulated_dense(const ProblemOptions& options, Output& out,
                                 const std::function<void(reference::Workload&)>& take = {});

// The simulator's limit on the size of a problem, and a note when it will take long.
struct Extents {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  bool along_k = false;  // the groups
};
void check_simulated_size(const Extents& extents, Output& out);
Extents extents_of(const ProblemOptions& options);

// Said wherever a predicted time is printed.
const char* prediction_note(const Target& target);

// The document and the table of `gemm`, and its exit code. `wall_s` includes the making of operands.
int show_swept(const Swept& swept, const SimulatedProduct& product, const ProblemOptions& options, double wall_s,
               Output& out);

}  // namespace warpwright::cli

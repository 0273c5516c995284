// The problem options of a command line as a block-scaled or grouped product on Blackwell, which runs in the simulator.
#pragma once
#include <cstdint>
#include <string>

#include "choice/grouped_facts.h"
#include "cli/problem/problem_options.h"
#include "reference/grouped_workload.h"
#include "simulate/example.h"

namespace warpwright::cli {

// Whether the options ask for such a product: for sm100 by their target, or by a format that only sm100 has.
bool wants_block_scaling(const ProblemOptions& options);

struct BlackwellProblem {
  const simulate::Example* example = nullptr;
  std::string scaling;  // mxfp8, mxfp4, nvfp4, w4a8 or blockwise
  bool grouped = false;
  int tile_m = 0, tile_n = 0, tile_k = 0;  // rows and columns of D
  reference::GroupedSpec groups;           // grouped: the table, random
  choice::GroupedWork work;
  choice::GroupedWaves waves;
  std::string reason;

  reference::Workload workload(std::uint64_t seed) const;
  // "300x256x512 mxfp8, 4 groups (grouped_masked)".
  std::string text(const ProblemOptions& options) const;
};

// Throws UsageError for what no such kernel serves.
BlackwellProblem blackwell_problem_of(const ProblemOptions& options);

}  // namespace warpwright::cli

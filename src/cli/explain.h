// What `explain` prints, whichever kernel it is about.
#pragma once
#include <cstdint>
#include <string>

#include "choice/dense.h"
#include "cli/output.h"
#include "cli/problem/problem_options.h"

namespace warpwright::cli {

struct Explanation {
  BlockPlan plan;
  Arch arch;
  std::string name;      // what --plan takes
  std::string instance;  // the instance that both executors run
  std::string text;      // the same for people
  int tile[3];           // 0: not known
  std::int64_t waves;
  double fill;  // how full the waves are
  std::string reason;
  std::string chip;     // the plan was chosen for
  std::string problem;  // for people
  choice::Floor floor;
  double measured_us = 0;           // by the tuned table or a run; 0: it was never measured
  std::string formula = {};         // the text of an epilogue, if there is one
  std::string chosen_by = "model";  // or table, measured, name
};

// "H200", "B200", ...: the chip that represents a target.
const char* chip_of(Arch arch);

// The chip that a choice is made for: the GPU here if it is of that architecture, otherwise the one that the simulator
// represents.
choice::Chip chip_for(Arch arch);
std::string chip_text(const choice::Chip& chip);

// Products with blockwise scales and by groups.
Explanation explain_grouped(const ProblemOptions& options);

}  // namespace warpwright::cli

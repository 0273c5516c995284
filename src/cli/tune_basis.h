// `tune --random` and `tune --every-plan`: the basis of the choice, measured.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/output.h"
#include "measure/draw.h"

namespace warpwright::cli {

struct BasisRun {
  std::string out;    // what it holds already is not measured again
  double budget = 0;  // seconds; 0: none
  bool ahead_only = false;
  std::map<std::string, std::vector<std::string>> plans;  // of a problem, as measure::basis_problem() writes it
};
// Brief times of every plan for every shape.
int tune_basis(const std::vector<measure::BenchShape>& shapes, const BasisRun& run, Output& out);
int tune_basis(const std::vector<measure::GroupedCase>& shapes, const BasisRun& run, Output& out);

}  // namespace warpwright::cli

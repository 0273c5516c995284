// `tune --random`: the basis of the choice, measured.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/output.h"
#include "warpwright/core/dtype.h"
#include "warpwright/grouped.h"

namespace warpwright::cli {

struct RandomTuning {
  std::optional<Groups> op;  // none: dense products
  int count = 0;
  std::uint64_t draw = 1;
  DType dtype = DType::bf16;
  std::string out;    // what it holds already is not measured again
  double budget = 0;  // seconds; 0: none
  bool ahead_only = false;
};
int tune_random(const RandomTuning& options, Output& out);

}  // namespace warpwright::cli

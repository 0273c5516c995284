// Which kernel serves a matrix product, and how many CTAs of it a whole chip would run.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "problem/problem.h"
#include "simulate/example.h"

namespace warpwright::simulate {

struct Selection {
  const Example* example = nullptr;
  int ctas = 0;  // one for each tile, as far as the chip has SMs
};

// Chooses for a problem that validate() accepts; `plan` names the kernel to take instead. `out_dtype` is the type the
// user asked for, nothing if any will do. Returns a sentence if none serves the problem.
std::optional<std::string> select(const problem::Problem& problem, std::optional<DType> out_dtype, Arch arch,
                                  const std::string& plan, Selection& selection);

// The operands of a problem, random, with its reference.
reference::Workload workload_of(const Example& example, const problem::Problem& problem, uint64_t seed);
// Puts the user's own operands, row-major in the types of the workload, in the place of the random ones of a plain
// product. A sentence says why they do not fit.
std::optional<std::string> take_operands(reference::Workload& workload, std::vector<uint8_t> a, std::vector<uint8_t> b);

}  // namespace warpwright::simulate

// The table that `tune --random` writes and goes on with: a line for each problem and plan. Needs no GPU.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <tuple>

#include "measure/basis.h"
#include "warpwright/status.h"

namespace warpwright::measure {

inline constexpr const char* kBasisHeader = "device\tdtype\tm\tn\tk\tplan\tus";
std::string basis_line(const std::string& device, const BasisRow& row);

// Its type, m, n and k.
using BasisProblem = std::tuple<std::string, int64_t, int64_t, int64_t>;
BasisProblem basis_problem(const BenchShape& shape);
// The problems of a table for this device; none of an empty text. What is no such table is an invalid_argument.
Result<std::set<BasisProblem>> basis_problems(const std::string& table, const std::string& device);

}  // namespace warpwright::measure

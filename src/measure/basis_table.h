// The table that `tune --random` writes and goes on with: a line for each problem and plan. Needs no GPU.
#pragma once
#include <set>
#include <string>

#include "measure/basis.h"
#include "warpwright/status.h"

namespace warpwright::measure {

// The columns of a table: of dense products, and of those with blockwise scales or groups, whose m is the rows of a
// group.
inline constexpr const char* kBasisHeader = "device\tdtype\tm\tn\tk\tplan\tus";
inline constexpr const char* kGroupedBasisHeader = "device\top\tdtype\tgroups\tm\tn\tk\tcounts\tplan\tus";
std::string basis_line(const std::string& device, const BasisRow& row);

// What separates device and plan.
std::string basis_problem(const BenchShape& shape);
std::string basis_problem(const GroupedCase& shape);
// The problems of a table with these columns for this device; none of an empty text. What is no such table is an
// invalid_argument.
Result<std::set<std::string>> basis_problems(const std::string& table, const std::string& header,
                                             const std::string& device);

}  // namespace warpwright::measure

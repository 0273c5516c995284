#include "measure/basis_table.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace warpwright::measure {
namespace {

// 0: it is not a number from 1 on.
int64_t extent_of(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

}  // namespace

std::string basis_line(const std::string& device, const BasisRow& row) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.3f}", device, name(row.shape.dtype), row.shape.m, row.shape.n,
                     row.shape.k, row.plan.empty() ? "cublaslt" : row.plan, row.us);
}

BasisProblem basis_problem(const BenchShape& shape) { return {name(shape.dtype), shape.m, shape.n, shape.k}; }

Result<std::set<BasisProblem>> basis_problems(const std::string& table, const std::string& device) {
  const auto refused = [](std::string why) { return Status(Code::invalid_argument, std::move(why)); };
  std::set<BasisProblem> problems;
  std::istringstream lines(table);
  std::string line;
  if (!std::getline(lines, line)) return problems;
  if (line != kBasisHeader) {
    return refused(
        fmt::format("it begins with '{}'; a table of `tune --random` begins with the columns device, dtype, m, n, k, "
                    "plan, us",
                    line));
  }
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string of, dtype, m, n, k;
    for (std::string* field : {&of, &dtype, &m, &n, &k}) std::getline(fields, *field, '\t');
    if (of != device) {
      return refused(fmt::format("it has times of a {}, this is a {}; one table is for one device", of, device));
    }
    const BasisProblem problem{dtype, extent_of(m), extent_of(n), extent_of(k)};
    if (std::get<1>(problem) == 0 || std::get<2>(problem) == 0 || std::get<3>(problem) == 0) {
      return refused(fmt::format("in the line '{}' m, n and k are not numbers from 1 on", line));
    }
    problems.insert(problem);
  }
  return problems;
}

}  // namespace warpwright::measure

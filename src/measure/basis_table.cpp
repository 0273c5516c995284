#include "measure/basis_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "problem/words.h"

namespace warpwright::measure {
namespace {

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream text(line);
  for (std::string column; std::getline(text, column, '\t');) columns.push_back(column);
  return columns;
}

bool is_extent(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

bool is_number(const std::string& column) {
  return column == "groups" || column == "m" || column == "n" || column == "k";
}

}  // namespace

std::string basis_line(const std::string& device, const BasisRow& row) {
  return fmt::format("{}\t{}\t{}\t{:.3f}", device, row.problem, row.plan.empty() ? "cublaslt" : row.plan, row.us);
}

std::string basis_problem(const BenchShape& shape) {
  return fmt::format("{}\t{}\t{}\t{}", name(shape.dtype), shape.m, shape.n, shape.k);
}

std::string basis_problem(const GroupedCase& shape) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", problem::operation_of(shape.op), name(shape.type), shape.groups,
                     shape.rows, shape.n, shape.k, name(shape.counts));
}

Result<std::set<std::string>> basis_problems(const std::string& table, const std::string& header,
                                             const std::string& device) {
  const auto refused = [](std::string why) { return Status(Code::invalid_argument, std::move(why)); };
  std::set<std::string> problems;
  std::istringstream lines(table);
  std::string line;
  if (!std::getline(lines, line)) return problems;
  const std::vector<std::string> names = columns_of(header);
  if (line != header) {
    return refused(fmt::format("it begins with '{}'; this table of `tune --random` begins with the columns {}", line,
                               fmt::join(names, ", ")));
  }
  while (std::getline(lines, line)) {
    std::vector<std::string> fields = columns_of(line);
    fields.resize(names.size());
    if (fields[0] != device) {
      return refused(fmt::format("it has times of a {}, this is a {}; one table is for one device", fields[0], device));
    }
    for (size_t i = 1; i < names.size(); ++i) {
      if (is_number(names[i]) && !is_extent(fields[i]))
        return refused(fmt::format("in the line '{}' {} = '{}' is not a number from 1 on", line, names[i], fields[i]));
    }
    problems.insert(fmt::format("{}", fmt::join(fields.begin() + 1, fields.end() - 2, "\t")));
  }
  return problems;
}

}  // namespace warpwright::measure

#include "cli/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "cli/commands.h"
#include "runtime/bench_gpu.h"

namespace warpwright::cli {
namespace {

using runtime::GemmShape;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::int64_t extent(const std::string& text, const std::string& where) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc())
    throw UsageError(fmt::format("{}: '{}' is not a whole number", where, text));
  return value;
}

void add_shape(std::vector<GemmShape>& shapes, const GemmShape& shape, const std::string& plan,
               const std::string& where) {
  if (const auto why = runtime::refuse_bench(shape, plan)) throw UsageError(fmt::format("{}: {}", where, *why));
  shapes.push_back(shape);
}

}  // namespace

std::vector<GemmShape> shapes_of_sizes(const std::string& sizes, DType dtype, const std::string& plan) {
  std::vector<GemmShape> shapes;
  for (const std::string& size : split(sizes, ',')) {
    const std::string where = fmt::format("--sizes {}", size);
    const auto parts = split(size, 'x');
    if (parts.size() != 3) throw UsageError(fmt::format("{}: a size is written MxNxK", where));
    add_shape(shapes, {extent(parts[0], where), extent(parts[1], where), extent(parts[2], where), dtype}, plan, where);
  }
  return shapes;
}

std::vector<GemmShape> shapes_of_file(const std::string& path, const std::string& plan, Output& out) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) throw UsageError(fmt::format("--shapes {}: the file cannot be read", path));
  const auto header = split(line, '\t');
  const auto column = [&](const char* wanted) {
    for (std::size_t i = 0; i < header.size(); ++i)
      if (header[i] == wanted) return i;
    throw UsageError(fmt::format("--shapes {}: the first line names no column '{}'", path, wanted));
  };
  const std::size_t op = column("op"), dtype = column("dtype"), groups = column("groups");
  const std::size_t m = column("m"), n = column("n"), k = column("k");
  std::vector<GemmShape> shapes;
  int skipped = 0;
  for (int number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const std::string where = fmt::format("--shapes {}, line {}", path, number);
    const auto cells = split(line, '\t');
    if (cells.size() <= std::max({op, dtype, groups, m, n, k}))
      throw UsageError(fmt::format("{}: there are only {} columns", where, cells.size()));
    DType type = DType::bf16;
    const bool known_type = parse_dtype(cells[dtype].c_str(), type);
    const GemmShape shape{extent(cells[m], where), extent(cells[n], where), extent(cells[k], where), type};
    if (cells[op] != "dense" || cells[groups] != "1" || !known_type || runtime::candidates(shape).empty()) {
      ++skipped;
      continue;
    }
    add_shape(shapes, shape, plan, where);
  }
  if (skipped > 0) out.note(fmt::format("skipped {} rows that no kernel of this version serves", skipped));
  if (shapes.empty()) throw UsageError(fmt::format("--shapes {}: no row can be served", path));
  return shapes;
}

std::vector<GemmShape> square_shapes(DType dtype, const std::string& plan) {
  std::vector<GemmShape> shapes;
  for (const std::int64_t side : {1024, 2048, 4096, 8192})
    add_shape(shapes, {side, side, side, dtype}, plan, fmt::format("side {}", side));
  return shapes;
}

double digits(double value, int places) {
  const double scale = std::pow(10.0, places);
  return std::round(value * scale) / scale;
}

}  // namespace warpwright::cli

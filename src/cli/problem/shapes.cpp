#include "cli/problem/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "measure/basis_table.h"
#include "measure/bench_gpu.h"
#include "problem/words.h"

namespace warpwright::cli {
namespace {

using choice::GroupedShape;
using measure::GroupedCase;
using problem::GemmShape;

std::vector<std::string> parts_of(const std::string& text, char separator) {
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

struct Size {
  std::int64_t m, n, k;
  std::string where;  // it was written
};

std::vector<Size> read_sizes(const std::string& sizes) {
  std::vector<Size> list;
  for (const std::string& size : parts_of(sizes, ',')) {
    const std::string where = fmt::format("--sizes {}", size);
    const auto parts = parts_of(size, 'x');
    if (parts.size() != 3) throw UsageError(fmt::format("{}: a size is written MxNxK", where));
    list.push_back({extent(parts[0], where), extent(parts[1], where), extent(parts[2], where), where});
  }
  return list;
}

struct Row {
  std::string op;
  std::optional<DType> type;
  std::int64_t groups;
  Size size;
  std::string plans;  // joined by commas, where the file has this column
};

std::vector<Row> read_rows(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::error_code ignored;
  if (!file || std::filesystem::is_directory(path, ignored))
    throw UsageError(fmt::format("--shapes {}: the file cannot be read", path));
  if (!std::getline(file, line)) throw UsageError(fmt::format("--shapes {}: the file is empty", path));
  const auto header = parts_of(line, '\t');
  const auto column = [&](const char* wanted) {
    for (std::size_t i = 0; i < header.size(); ++i)
      if (header[i] == wanted) return i;
    throw UsageError(fmt::format("--shapes {}: the first line names no column '{}'", path, wanted));
  };
  const std::size_t op = column("op"), dtype = column("dtype"), groups = column("groups");
  const std::size_t m = column("m"), n = column("n"), k = column("k");
  const auto plans = std::size_t(std::find(header.begin(), header.end(), "plans") - header.begin());
  std::vector<Row> rows;
  for (int number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const std::string where = fmt::format("--shapes {}, line {}", path, number);
    const auto cells = parts_of(line, '\t');
    if (cells.size() <= std::max({op, dtype, groups, m, n, k}))
      throw UsageError(fmt::format("{}: there are only {} columns", where, cells.size()));
    Row row{cells[op], {}, extent(cells[groups], where), {}, plans < cells.size() ? cells[plans] : ""};
    row.size = {extent(cells[m], where), extent(cells[n], where), extent(cells[k], where), where};
    DType type = DType::bf16;
    if (parse_dtype(cells[dtype].c_str(), type)) row.type = type;
    rows.push_back(std::move(row));
  }
  return rows;
}

void note_skipped(int skipped, Output& out) {
  if (skipped > 0)
    out.note(fmt::format("skipped {} rows: not asked for, or no kernel of this version serves them", skipped));
}

std::string nothing_served(const std::string& path, int skipped) {
  return fmt::format("--shapes {}: {}", path,
                     skipped == 0 ? "it has no row below the first line"
                                  : fmt::format("no kernel of this version serves what was asked for of its {} row{}",
                                                skipped, skipped == 1 ? "" : "s"));
}

GroupedShape shape_of(Groups op, DType dtype, std::int64_t groups, const Size& size) {
  GroupedShape shape{op, dtype, DType::bf16, groups, size.m, size.n, size.k};
  if (op == Groups::by_depth) shape.out = DType::fp32;
  return shape;
}

void add_shape(std::vector<GroupedCase>& shapes, const GroupedShape& shape, const std::string& where) {
  const GroupedProblem problem = problem_of(shape);
  if (const Status s = validate(problem); !s) throw UsageError(fmt::format("{}: {}", where, s.message()));
  if (shape.groups < 1 || shape.rows < 1 || shape.n < 1 || shape.k < 1)
    throw UsageError(fmt::format("{}: there is nothing to measure", where));
  if (const auto choice = choice::choose(problem, choice::h200()); !choice)
    throw UsageError(fmt::format("{}: {}", where, choice.status().message()));
  shapes.push_back({shape});
}

void add_shape(std::vector<GemmShape>& shapes, const Size& size, DType dtype, const std::string& plan) {
  const auto shape = measure::bench_shape(size.m, size.n, size.k, dtype, plan);
  if (!shape) throw UsageError(fmt::format("{}: {}", size.where, shape.status().message()));
  shapes.push_back(*shape);
}

}  // namespace

std::vector<GemmShape> shapes_of_sizes(const std::string& sizes, DType dtype, const std::string& plan) {
  std::vector<GemmShape> shapes;
  for (const Size& size : read_sizes(sizes)) add_shape(shapes, size, dtype, plan);
  return shapes;
}

std::vector<GemmShape> shapes_of_file(const std::string& path, const std::string& plan, Output& out) {
  std::vector<GemmShape> shapes;
  int skipped = 0;
  for (const Row& row : read_rows(path)) {
    if (row.op != "dense" || row.groups != 1 || !row.type || choice::candidates({.dtype = *row.type}).empty()) {
      ++skipped;
      continue;
    }
    add_shape(shapes, row.size, *row.type, plan);
  }
  if (shapes.empty()) throw UsageError(nothing_served(path, skipped));
  note_skipped(skipped, out);
  return shapes;
}

std::map<std::string, std::vector<std::string>> plans_of_file(const std::string& path) {
  std::map<std::string, std::vector<std::string>> plans;
  for (const Row& row : read_rows(path)) {
    if (row.op != "dense" || !row.type || row.plans.empty()) continue;
    const auto shape = measure::bench_shape(row.size.m, row.size.n, row.size.k, *row.type, "");
    if (!shape) throw UsageError(fmt::format("{}: {}", row.size.where, shape.status().message()));
    std::vector<std::string>& list = plans[measure::basis_problem(*shape)];
    list = parts_of(row.plans, ',');
    for (const std::string& plan : list) {
      if (const auto known = choice::parse_plan(plan, *shape); !known)
        throw UsageError(fmt::format("{}: {}", row.size.where, known.status().message()));
    }
  }
  return plans;
}

std::vector<GroupedCase> grouped_shapes_of_sizes(const std::string& sizes, Groups op, std::int64_t groups,
                                                 DType dtype) {
  std::vector<GroupedCase> shapes;
  for (const Size& size : read_sizes(sizes)) add_shape(shapes, shape_of(op, dtype, groups, size), size.where);
  return shapes;
}

std::vector<GroupedCase> grouped_shapes_of_file(const std::string& path, const std::vector<Groups>& ops, Output& out) {
  std::vector<GroupedCase> shapes;
  int skipped = 0;
  for (const Row& row : read_rows(path)) {
    const auto op = problem::parse_operation(row.op);
    const bool wanted = op && std::find(ops.begin(), ops.end(), *op) != ops.end();
    if (!wanted || !row.type) {
      ++skipped;
      continue;
    }
    const GroupedShape shape = shape_of(*op, *row.type, row.groups, row.size);
    if (validate(problem_of(shape)) && choice::instances_for(problem_of(shape)).empty()) {
      ++skipped;
      continue;
    }
    add_shape(shapes, shape, row.size.where);
  }
  if (shapes.empty()) throw UsageError(nothing_served(path, skipped));
  note_skipped(skipped, out);
  return shapes;
}

std::vector<GroupedCase> usual_grouped_shapes(const std::vector<Groups>& ops) {
  std::vector<GroupedCase> shapes;
  for (const Groups op : ops) {
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{4096, 7168}, {7168, 2048}}) {
      if (op == Groups::none) {
        for (const std::int64_t m : {1, 128, 4096}) shapes.push_back({shape_of(op, DType::e4m3, 1, {m, n, k, ""})});
        continue;
      }
      const bool masked = op == Groups::masked;
      for (const DType type : {DType::e4m3, DType::bf16}) {
        const GroupedShape shape = shape_of(op, type, masked ? 32 : 8, {masked ? 192 : 4096, n, k, ""});
        if (!choice::instances_for(problem_of(shape)).empty()) shapes.push_back({shape});
      }
    }
  }
  return shapes;
}

std::vector<GroupedCase> drawn_grouped_shapes(int count, std::uint64_t draw, Groups op, DType dtype) {
  const auto served = [&](const GroupedCase& shape) { return !choice::instances_for(problem_of(shape)).empty(); };
  auto shapes = measure::draw_grouped_shapes(count, draw, op, dtype);
  if (!std::all_of(shapes.begin(), shapes.end(), served)) {
    throw UsageError(fmt::format("dtype = {}: no kernel of this version makes products of op = {} in it", name(dtype),
                                 problem::operation_of(op)));
  }
  return shapes;
}

std::vector<GroupedCase> drawn_grouped_shapes(int count, std::uint64_t draw, const std::vector<Groups>& ops) {
  std::vector<std::vector<GroupedCase>> kinds;
  for (const Groups op : ops) {
    for (const DType type : {DType::e4m3, DType::bf16}) {
      if (op != Groups::none || type == DType::e4m3) kinds.push_back(drawn_grouped_shapes(count, draw, op, type));
    }
  }
  std::vector<GroupedCase> shapes;
  for (std::size_t i = 0; i < std::size_t(count); ++i) shapes.push_back(kinds[i % kinds.size()][i / kinds.size()]);
  return shapes;
}

std::vector<GemmShape> square_shapes(DType dtype, const std::string& plan) {
  std::vector<GemmShape> shapes;
  for (const std::int64_t side : {1024, 2048, 4096, 8192})
    add_shape(shapes, {side, side, side, fmt::format("side {}", side)}, dtype, plan);
  return shapes;
}

double digits(double value, int places) {
  const double scale = std::pow(10.0, places);
  return std::round(value * scale) / scale;
}

}  // namespace warpwright::cli

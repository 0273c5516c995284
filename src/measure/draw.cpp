#include "measure/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "problem/lower.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::measure {
namespace {

constexpr int64_t kMostBytes = int64_t(8) << 30;

// The standard's distributions differ between libraries.
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  // Log-uniform.
  int64_t between(double least, double most) {
    const double unit = double(random_() >> 11) * 0x1p-53;
    return int64_t(std::lround(least * std::pow(most / least, unit)));
  }

 private:
  std::mt19937_64 random_;
};

int64_t in_steps(int64_t extent, int64_t step) { return ceil_div(extent, step) * step; }

// What A, B and D of a table take.
int64_t bytes_of(const GroupedTable& table) {
  const GroupedProblem& p = table.problem;
  const bool by_depth = p.groups == Groups::by_depth;
  const int64_t matrices = by_depth ? 1 : p.group_count, results = by_depth ? p.group_count : 1;
  return (p.m + matrices * p.n) * p.k * bits(p.type) / 8 + results * p.m * p.n * bits(p.out) / 8;
}

GroupedCase drawn(Draw& draw, Groups op, DType type) {
  GroupedCase shape;
  shape.op = op;
  shape.type = type;
  if (op == Groups::none) {
    shape.rows = draw.between(1, 8192);
    shape.n = draw.between(256, 32768);
    shape.k = draw.between(256, 16384);
    return shape;
  }
  const bool by_depth = op == Groups::by_depth;
  if (by_depth) shape.out = DType::fp32;
  shape.groups = draw.between(1, 256);
  shape.rows = by_depth ? draw.between(64, 4096) : draw.between(1, op == Groups::masked ? 1024 : 4096);
  shape.n = draw.between(256, 8192);
  shape.k = draw.between(256, 8192);
  return shape;
}

// Each group's part of `all`, which is what `groups` groups of the usual size have together.
std::vector<int64_t> skewed_counts(int64_t groups, int64_t usual, std::mt19937_64& random) {
  const int64_t some = groups - groups / 4;
  double harmonic = 0;
  for (int64_t i = 1; i <= some; ++i) harmonic += 1 / double(i);
  std::vector<int64_t> counts(size_t(groups), 0);
  for (int64_t i = 0; i < some; ++i)
    counts[size_t(i)] = std::max<int64_t>(1, std::lround(double(groups * usual) / harmonic / double(i + 1)));
  // std::shuffle differs between libraries.
  for (size_t i = counts.size() - 1; i > 0; --i) std::swap(counts[i], counts[random() % (i + 1)]);
  return counts;
}

std::vector<int64_t> even_counts(int64_t groups, int64_t usual, std::mt19937_64& random) {
  std::vector<int64_t> counts;
  for (int64_t g = 0; g < groups; ++g)
    counts.push_back(std::max<int64_t>(1, usual * (700 + int64_t(random() % 601)) / 1000));
  return counts;
}

}  // namespace

const char* name(Counts counts) { return counts == Counts::even ? "even" : "skewed"; }

std::vector<BenchShape> draw_shapes(int count, uint64_t seed, DType dtype) {
  Draw draw(seed);
  std::vector<BenchShape> shapes;
  for (int i = 0; i < count; ++i) {
    const int64_t m = draw.between(1, 8192), n = draw.between(256, 32768), k = draw.between(256, 16384);
    const int64_t step = i % 4 != 3 ? 8 : 1;
    shapes.push_back(problem::lower(problem::plain_product(m, in_steps(n, step), in_steps(k, step), dtype)).shape);
  }
  return shapes;
}

std::vector<GroupedCase> draw_grouped_shapes(int count, uint64_t seed, Groups op, DType type) {
  Draw draw(seed);
  std::vector<GroupedCase> shapes;
  while (int(shapes.size()) < count) {
    GroupedCase shape = drawn(draw, op, type);
    shape.n = in_steps(shape.n, shapes.size() % 4 == 3 ? 8 : 64);
    shape.k = in_steps(shape.k, type == DType::e4m3 || op == Groups::by_depth ? 128 : 64);
    if (op != Groups::none && shapes.size() % 3 == 2) shape.counts = Counts::skewed;
    if (bytes_of(table_for(shape)) <= kMostBytes) shapes.push_back(shape);
  }
  return shapes;
}

GroupedTable table_for(const GroupedCase& shape) {
  GroupedTable table{problem_of(shape), {}};
  GroupedProblem& p = table.problem;
  if (p.groups == Groups::none) return table;
  std::mt19937_64 random(1);
  const bool by_depth = p.groups == Groups::by_depth;
  const int64_t usual = by_depth ? shape.k : shape.rows;
  std::vector<int64_t> counts = shape.counts == Counts::even ? even_counts(shape.groups, usual, random)
                                                             : skewed_counts(shape.groups, usual, random);
  // Groups along k end where a block with a scale does.
  if (by_depth) {
    for (int64_t& count : counts) count = in_steps(count, 128);
  }
  if (p.groups == Groups::masked) {
    table.rows.assign(counts.begin(), counts.end());
    p.m = shape.groups * std::max(2 * shape.rows, *std::max_element(counts.begin(), counts.end()));
    return table;
  }
  table.rows.push_back(0);
  for (const int64_t count : counts) table.rows.push_back(uint32_t(table.rows.back() + count));
  (by_depth ? p.k : p.m) = table.rows.back();
  return table;
}

}  // namespace warpwright::measure

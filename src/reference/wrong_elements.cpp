#include "reference/wrong_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace warpwright::reference {
namespace {

constexpr size_t kShown = 4;

struct Position {
  int64_t batch = 0, row = 0, column = 0;
};

struct Box {
  int64_t low = INT64_MAX, high = -1;
  void add(int64_t x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  std::string text(const char* one, const char* many) const {
    return low == high ? fmt::format("{} {}", one, low) : fmt::format("{} {} to {}", many, low, high);
  }
};

class Result {
 public:
  Result(const Workload& w, const std::vector<uint8_t>& output) : w_(w), got_(w.output()) {
    got_.bytes = output;
    layout_ = w.layout.rows > 0 ? w.layout : dense_layout(got_.rows, got_.columns);
    if (w.layout.rows == 0) layout_.batch_stride = 0;
    double squares = 0;
    for (const double x : w.expected) squares += std::isfinite(x) ? x * x : 0;
    far_ = 4 * std::max(tolerance(got_.type), w.sum_tolerance) * std::sqrt(squares / double(w.expected.size()));
  }

  // Whether it must not have been written.
  bool is_gap(size_t i) const { return std::isnan(w_.expected[i]) && !std::signbit(w_.expected[i]); }
  bool is_written(size_t i) const {
    const size_t width = size_t(bits(got_.type));
    if (width < 8) return (got_.bytes[i / 2] >> (i % 2 * 4) & 0xf) != 0xf;
    const auto begin = got_.bytes.begin() + std::ptrdiff_t(i * width / 8);
    return std::any_of(begin, begin + std::ptrdiff_t(width / 8), [](uint8_t byte) { return byte != 0xff; });
  }
  bool is_wrong(size_t i) const {
    if (is_gap(i)) return is_written(i);
    const double have = got(i);
    if (std::isnan(have) || std::isnan(w_.expected[i])) return std::isnan(have) != std::isnan(w_.expected[i]);
    if (std::isinf(have) || std::isinf(expected(i))) return have != expected(i);
    return w_.data == Data::integers ? have != expected(i) : std::abs(have - w_.expected[i]) > far_;
  }
  double got(size_t i) const { return element(got_, int64_t(i)); }
  double expected(size_t i) const { return rounded(got_.type, w_.expected[i]); }

  Position position(size_t i) const {
    const int64_t at = int64_t(i) - layout_.offset;
    if (at < 0 || layout_.row_stride == 0) return {};
    const int64_t batch = layout_.batch_stride > 0 ? at / layout_.batch_stride : 0;
    const int64_t in = at - batch * layout_.batch_stride;
    return {batch, in / layout_.row_stride, in % layout_.row_stride};
  }
  bool has_batches() const { return layout_.batch_stride > 0; }
  const std::string& name() const { return got_.name; }

 private:
  const Workload& w_;
  Array got_;
  ArrayLayout layout_;
  double far_ = 0;  // for real numbers
};

std::string line_of(const Result& r, size_t i, Tile tile) {
  const Position p = r.position(i);
  std::string text = r.has_batches() ? fmt::format("{}[{}, {}, {}]", r.name(), p.batch, p.row, p.column)
                                     : fmt::format("{}[{}, {}]", r.name(), p.row, p.column);
  if (tile.rows > 0 && tile.columns > 0)
    text += fmt::format(" of tile ({}, {})", p.row / tile.rows, p.column / tile.columns);
  if (r.is_gap(i)) return text + fmt::format(": got {:.9g} where nothing may be written", r.got(i));
  if (!r.is_written(i)) return text + fmt::format(": expected {:.9g}, and it was never written", r.expected(i));
  return text + fmt::format(": expected {:.9g}, got {:.9g}", r.expected(i), r.got(i));
}

}  // namespace

std::vector<std::string> wrong_elements(const Workload& w, const std::vector<uint8_t>& output, Tile tile) {
  const Result result(w, output);
  std::vector<std::string> lines;
  Box batches, rows, columns;
  const auto add = [&](size_t i) {
    const Position p = result.position(i);
    batches.add(p.batch);
    rows.add(p.row);
    columns.add(p.column);
    if (lines.size() < kShown) lines.push_back(line_of(result, i, tile));
  };
  size_t farthest = 0, count = 0;
  double most = -1;
  for (size_t i = 0; i < w.expected.size(); ++i) {
    const double off = result.is_gap(i) ? 0 : std::abs(result.got(i) - w.expected[i]);
    if (off > most) {
      most = off;
      farthest = i;
    }
    if (!result.is_wrong(i)) continue;
    ++count;
    add(i);
  }
  if (count == 0 && !w.expected.empty()) add(farthest);
  if (count > 1) {
    lines.push_back(fmt::format("they lie in {}{}, {}{}",
                                result.has_batches() ? batches.text("batch", "batches") + ", " : "",
                                rows.text("row", "rows"), columns.text("column", "columns"),
                                tile.rows > 0 ? fmt::format("; a tile has {} x {}", tile.rows, tile.columns) : ""));
  }
  return lines;
}

}  // namespace warpwright::reference

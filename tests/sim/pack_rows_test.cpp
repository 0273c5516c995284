// The kernel that packs rows for the TMA: every row arrives whole wherever it began, only rows are read, and only their
// copies are written.
#include "warpwright/kernel/sm90/pack_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "warpwright/sim/simulator.h"

namespace warpwright {
namespace {

using simulator::Buffer;
using simulator::Options;

struct Shape {
  int rows, columns, matrices;
  int offset;       // elements before the first row
  int gap;          // elements between rows
  int matrix_gap;   // and between matrices
  int padding = 0;  // 16 bytes more after a packed row than needed
};

// A matrix in memory of its own, with the bytes around its rows.
template <class Element>
struct Source {
  std::vector<Element> memory;
  Shape shape;
  int64_t stride() const { return shape.columns + shape.gap; }
  int64_t matrix() const { return shape.rows * stride() + shape.matrix_gap; }
  Element* row(int matrix_index, int r) {
    return memory.data() + 16 + shape.offset + matrix_index * matrix() + r * stride();
  }
  int64_t packed_row() const {
    return (int64_t(shape.columns) * int64_t(sizeof(Element)) + 15) / 16 * 16 + 16 * shape.padding;
  }
};

template <class Element>
Source<Element> source_of(const Shape& shape, uint64_t seed) {
  Source<Element> s{{}, shape};
  s.memory.resize(size_t(64 + shape.offset + shape.matrices * s.matrix()));
  std::mt19937_64 random(seed);
  for (Element& e : s.memory) e = Element(random() | 1);  // no zero: padding must not look like data
  return s;
}

struct Line {
  alignas(128) uint8_t bytes[128];
};

// Packs one or two matrices on `ctas` CTAs. `shorten` hides the last elements of the first row from the simulator.
template <class Element, int Warps = 2>
simulator::Result pack(std::vector<Source<Element>>& sources, int ctas, uint64_t seed, bool check, int shorten = 0) {
  using Kernel = kernel::sm90::PackRows<PackRowsConfig{int(sizeof(Element)), Warps, 1}>;
  PackRowsArgs args;
  std::vector<Buffer> buffers;
  std::vector<std::vector<Line>> copies(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    Source<Element>& s = sources[i];
    const Shape& shape = s.shape;
    const int64_t bytes = s.packed_row() * shape.rows * shape.matrices;
    copies[i].resize(size_t(bytes / 128 + 2));
    auto* const to = copies[i].front().bytes;
    std::fill(to, to + bytes + 128, uint8_t(0xee));
    args.list[i] = {s.row(0, 0), to, s.stride(), s.matrix(), s.packed_row(), shape.rows, shape.columns, shape.matrices};
    // Each row is a buffer, so that a read between rows lies outside every buffer.
    for (int m = 0; m < shape.matrices; ++m) {
      for (int r = 0; r < shape.rows; ++r) {
        const int hidden = i == 0 && m == 0 && r == 0 ? shorten : 0;
        buffers.push_back({s.row(m, r), size_t(shape.columns - hidden) * sizeof(Element), "row", Buffer::Use::input});
      }
    }
    if (bytes > 0) buffers.push_back({to, uint64_t(bytes), "packed", Buffer::Use::output});
  }
  Options options;
  options.seed = seed;
  auto report = simulator::run_kernel<Kernel>(args, {uint32_t(ctas), 1, 1}, buffers, options);
  if (!check) return report;
  for (size_t i = 0; i < sources.size(); ++i) {
    Source<Element>& s = sources[i];
    const int64_t row_bytes = int64_t(s.shape.columns) * int64_t(sizeof(Element));
    for (int m = 0; m < s.shape.matrices; ++m) {
      for (int r = 0; r < s.shape.rows; ++r) {
        const uint8_t* const to = copies[i].front().bytes + (int64_t(m) * s.shape.rows + r) * s.packed_row();
        const auto* const from = reinterpret_cast<const uint8_t*>(s.row(m, r));
        EXPECT_TRUE(std::equal(from, from + row_bytes, to)) << "row " << r << " of matrix " << m;
        const int64_t filled = (row_bytes + 15) / 16 * 16;
        EXPECT_TRUE(std::all_of(to + row_bytes, to + filled, [](uint8_t b) { return b == 0; })) << "row " << r;
        EXPECT_TRUE(std::all_of(to + filled, to + s.packed_row(), [](uint8_t b) { return b == 0xee; })) << "row " << r;
      }
    }
  }
  return report;
}

template <class Element>
void sweep() {
  const int per_chunk = 16 / int(sizeof(Element));
  uint64_t seed = 1;
  for (const int columns : {1, per_chunk - 1, per_chunk, per_chunk + 1, 3 * per_chunk + 5, 1033, 2500}) {
    for (const int offset : {0, 1, 3, per_chunk - 1}) {
      SCOPED_TRACE(testing::Message() << sizeof(Element) << " bytes, columns " << columns << ", offset " << offset);
      std::vector<Source<Element>> sources = {
          source_of<Element>({3, columns, 2, offset, int(seed % 4), int(seed % 7)}, seed),
          source_of<Element>({2, columns + 2, 1, per_chunk - 1 - offset, 1, 0, 1}, seed + 100)};
      const auto report = pack<Element>(sources, 1 + int(seed % 3), seed, true);
      ASSERT_TRUE(report.ok()) << report.findings[0].text();
      ++seed;
    }
  }
}

TEST(PackRows, CopiesRowsOfSixteenBitElementsWhereverTheyStart) { sweep<uint16_t>(); }
TEST(PackRows, CopiesRowsOfEightBitElementsWhereverTheyStart) { sweep<uint8_t>(); }

TEST(PackRows, SkipsWhatHasNoElements) {
  for (const Shape& empty : {Shape{0, 5, 1, 0, 0, 0}, Shape{3, 5, 0, 0, 0, 0}}) {
    std::vector<Source<uint16_t>> sources = {source_of<uint16_t>(empty, 1), source_of<uint16_t>({2, 9, 1, 1, 1, 0}, 2)};
    const auto report = pack<uint16_t>(sources, 2, 3, true);
    ASSERT_TRUE(report.ok()) << report.findings[0].text();
  }
}

// The sweep above would tell: a read beside a row is reported.
TEST(PackRows, AReadBesideARowIsReported) {
  std::vector<Source<uint16_t>> sources = {source_of<uint16_t>({1, 100, 1, 1, 0, 0}, 1)};
  const auto report = pack<uint16_t>(sources, 1, 1, false, 1);
  ASSERT_FALSE(report.ok());
}

}  // namespace
}  // namespace warpwright

// Tensor memory against the layouts of the PTX ISA (9.1), written out here as modes (size, lanes, columns) that count
// like the digits of a number:
//   9.7.16.2.3.1  "Matrix fragments for shape ..."      registers of tcgen05.ld and st
//   9.7.16.8      "tcgen05.ld", shapes and .num         which repeats exist
//   9.7.16.10.5   "Data Path Layout Organization"       accumulators: layouts A, B, D and F
//   9.7.16.9.2    "tcgen05.cp", shapes and multicasts   where rows of shared memory go
// No word issues .16x32bx2, .ws (layouts E and G) or sparse (C) instructions: unreachable_rules_test.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/model.h"
#include "sim/rules.h"

namespace warpwright::rules {
namespace {

namespace model = simulator::model;
using m::TmemCopy;
using m::TmemShape;
using model::TmemCell;

struct Mode {
  int size, lanes, columns;
};
using Modes = std::vector<Mode>;

TmemCell cell_of(const Modes& modes, int index) {
  TmemCell c{0, 0};
  for (const Mode& mode : modes) {
    c.lane += index % mode.size * mode.lanes;
    c.column += index % mode.size * mode.columns;
    index /= mode.size;
  }
  EXPECT_EQ(index, 0);
  return c;
}

struct Fragment {
  TmemShape shape;
  Modes thread, reg;  // the last mode of reg is the repeat, of size 0
  int most;           // repeats
};
const Fragment kFragments[] = {
    {TmemShape::b32x32, {{32, 1, 0}}, {{0, 0, 1}}, 128},
    {TmemShape::b64x16, {{2, 8, 0}, {2, 0, 1}, {8, 1, 0}}, {{0, 0, 2}}, 128},
    {TmemShape::b128x16, {{4, 0, 1}, {8, 1, 0}}, {{2, 8, 0}, {0, 0, 4}}, 64},
    {TmemShape::b256x16, {{4, 0, 2}, {8, 1, 0}}, {{2, 0, 1}, {2, 8, 0}, {0, 0, 8}}, 32},
};

TEST(TmemTable, RegistersOfEveryShapeAndRepeat) {
  for (const Fragment& f : kFragments)
    for (int repeat = 1; repeat <= f.most; repeat *= 2) {
      Modes reg = f.reg;
      reg.back().size = repeat;
      int registers = 1;
      for (const Mode& mode : reg) registers *= mode.size;
      ASSERT_EQ(registers, m::tmem_registers(f.shape, repeat));
      for (uint32_t first : {0u, 32u, 80u})
        for (int lane = 0; lane < 32; ++lane)
          for (int r = 0; r < registers; ++r) {
            const TmemCell t = cell_of(f.thread, lane), v = cell_of(reg, r);
            ASSERT_EQ(model::tmem_register_cell(int(f.shape), r, lane, first << 16 | 7),
                      (TmemCell{int(first) + t.lane + v.lane, 7 + t.column + v.column}))
                << "shape " << int(f.shape) << " x" << repeat << " lane " << lane << " register " << r;
          }
    }
}

// The words themselves: 32x32b stores put a number into each cell, where every other shape finds it, and vice versa.
template <TmemShape S, int Repeat>
void read_and_write_back(Tmem tmem) {
  constexpr int kRegisters = m::tmem_registers(S, Repeat);
  const uint32_t quarter = 32 * rules::warp();
  const auto number = [](const TmemCell& c) { return uint32_t(c.lane * 1000 + c.column + 1); };
  for (uint32_t half = 0; half < (S == TmemShape::b32x32 ? 1u : 2u); ++half) {
    const Tmem at = tmem.lane(quarter + 16 * half);
    m::TmemRegisters<kRegisters> r;
    m::tcgen05_ld<S, Repeat>(r, at);
    m::tcgen05_wait_ld();
    m::TmemRegisters<kRegisters> same;
    for (int i = 0; i < kRegisters; ++i) {
      const TmemCell c = model::tmem_register_cell(int(S), i, int(m::lane_index()), at.address);
      if (r.bits(i) != number({c.lane, c.column - int(tmem.address & 0xffff)})) m::trap("tcgen05.ld read another cell");
      same.set(i, r.bits(i));
    }
    m::tcgen05_st<S, Repeat>(at, same);
    m::tcgen05_wait_st();
  }
  m::TmemRegisters<32> cells;
  m::tcgen05_ld<TmemShape::b32x32, 32>(cells, tmem.lane(quarter));
  m::tcgen05_wait_ld();
  for (int i = 0; i < 32; ++i)
    if (cells.bits(i) != number({int(quarter + m::lane_index()), i})) m::trap("tcgen05.st wrote another cell");
}
TEST(TmemTable, LoadsAndStoresOfEveryShapeMeetInTheSameCells) {
  const std::string rule = verdict(block(4, Arch::sm100), [] {
    if (rules::warp() == 0) {
      m::tcgen05_alloc<1>(word(), 64);
      m::tcgen05_relinquish<1>();
    }
    m::sync_block();
    const Tmem tmem{m::load(word())};
    m::TmemRegisters<32> r;
    for (int i = 0; i < 32; ++i) r.set(i, (32 * rules::warp() + m::lane_index()) * 1000 + uint32_t(i) + 1);
    m::tcgen05_st<TmemShape::b32x32, 32>(tmem.lane(32 * rules::warp()), r);
    m::tcgen05_wait_st();
    read_and_write_back<TmemShape::b32x32, 16>(tmem);
    read_and_write_back<TmemShape::b64x16, 1>(tmem);
    read_and_write_back<TmemShape::b64x16, 16>(tmem);
    read_and_write_back<TmemShape::b128x16, 2>(tmem);
    read_and_write_back<TmemShape::b128x16, 8>(tmem);
    read_and_write_back<TmemShape::b256x16, 1>(tmem);
    read_and_write_back<TmemShape::b256x16, 4>(tmem);
    m::tcgen05_fence_before();
    m::sync_block();
    m::tcgen05_fence_after();
    if (rules::warp() == 0) m::tcgen05_dealloc<1>(tmem, 64);
  });
  EXPECT_EQ(rule, "");
}

// Rows of one CTA, then columns of N.
struct DataPath {
  char layout;
  int m, cta_group, n_first, n_step;
  Modes rows;
  int halves;  // of N, one below the other
};
const DataPath kDataPaths[] = {
    {'A', 256, 2, 16, 16, {{128, 1, 0}}, 1},
    {'B', 128, 2, 16, 16, {{64, 1, 0}}, 2},
    {'D', 128, 1, 8, 8, {{128, 1, 0}}, 1},
    {'F', 64, 1, 8, 8, {{16, 1, 0}, {4, 32, 0}}, 1},
};

TEST(TmemTable, AccumulatorsOfEveryShape) {
  for (const DataPath& p : kDataPaths)
    for (int n = p.n_first; n <= 256; n += p.n_step) {
      const Modes columns{{n / p.halves, 0, 1}, {p.halves, 64, 0}};
      const int rows = p.m / p.cta_group;
      for (int i = 0; i < p.m; ++i)
        for (int j = 0; j < n; ++j)
          for (int cta = 0; cta < p.cta_group; ++cta) {
            const auto cell = model::accumulator_cell(p.m, n, p.cta_group, cta, i, j);
            ASSERT_EQ(cell.has_value(), i / rows == cta) << p.layout << " N " << n;
            if (!cell) continue;
            const TmemCell r = cell_of(p.rows, i % rows), c = cell_of(columns, j);
            ASSERT_EQ(*cell, (TmemCell{r.lane + c.lane, r.column + c.column}))
                << "layout " << p.layout << " N " << n << " at " << i << "," << j;
          }
    }
}

struct Copy {
  TmemCopy shape;
  int rows, columns;
  Modes lanes;     // of a row
  Modes replicas;  // of each row
};
const Copy kCopies[] = {
    {TmemCopy::s128x256b, 128, 8, {{128, 1, 0}}, {{1, 0, 0}}},
    {TmemCopy::s128x128b, 128, 4, {{128, 1, 0}}, {{1, 0, 0}}},
    {TmemCopy::s4x256b, 4, 8, {{4, 32, 0}}, {{1, 0, 0}}},
    {TmemCopy::s64x128b_warpx2, 64, 4, {{64, 1, 0}}, {{2, 64, 0}}},
    {TmemCopy::s32x128b_warpx4, 32, 4, {{32, 1, 0}}, {{4, 32, 0}}},
};

TEST(TmemTable, CopiesOfEveryShapeAndSwizzle) {
  std::vector<uint8_t> shared(1 << 18);
  for (size_t i = 0; i < shared.size(); ++i) shared[i] = uint8_t(i * 13 + i / 509);
  for (const Copy& c : kCopies)
    for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
      const int row_bytes = c.columns * 4;
      if (s != Swizzle::none && int(swizzle_bytes(s)) < row_bytes) continue;
      const SmemTile tile{DType::e4m3, std::max(c.rows, 8), std::max(row_bytes, int(swizzle_bytes(s))), s};
      const MatrixDesc desc = matrix_desc(tile, 4096, c.rows, row_bytes);
      std::vector<uint32_t> cells(size_t(model::kTmemLanes * model::kTmemColumns), 0);
      std::vector<TmemCell> written;
      model::tcgen05_cp(int(c.shape), desc, shared.data(), 96, cells.data(), nullptr, &written);
      int replicas = 1;
      for (const Mode& mode : c.replicas) replicas *= mode.size;
      EXPECT_EQ(written.size(), size_t(c.rows * c.columns * replicas));
      for (int row = 0; row < c.rows; ++row)
        for (int column = 0; column < c.columns; ++column)
          for (int replica = 0; replica < replicas; ++replica) {
            uint32_t want = 0;
            for (int byte = 0; byte < 4; ++byte)
              want |= uint32_t(shared[4096 + size_t(tile.offset(row, 4 * column + byte))]) << (8 * byte);
            const int lane = cell_of(c.lanes, row).lane + cell_of(c.replicas, replica).lane;
            ASSERT_EQ(cells[size_t(lane * model::kTmemColumns + 96 + column)], want)
                << "shape " << int(c.shape) << " swizzle " << int(s) << " row " << row << " column " << column;
          }
    }
}

}  // namespace
}  // namespace warpwright::rules

// Contracts of tensor memory: register mappings, accumulator layouts, copies, scale factors.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/model.h"
#include "warpwright/core/numeric.h"

namespace warpwright::simulator::model {
namespace {

enum Shape { b32x32, b64x16, b128x16, b256x16 };
constexpr int kRegistersPerRepeat[] = {1, 1, 2, 4};
constexpr int kColumnsPerRepeat[] = {1, 2, 4, 8};
constexpr int kLanes[] = {32, 16, 16, 16};

using Cell = std::pair<int, int>;
using Cells = std::vector<uint32_t>;
Cells tensor_memory() { return Cells(size_t(kTmemLanes * kTmemColumns), 0xdeadbeef); }
uint32_t& at(Cells& cells, int lane, int column) { return cells[size_t(lane * kTmemColumns + column)]; }

TEST(TmemRegisters, FillTheWindowOnceForEachShapeAndRepeat) {
  for (int shape : {b32x32, b64x16, b128x16, b256x16}) {
    for (int repeat = 1; repeat * kRegistersPerRepeat[shape] <= 128; repeat *= 2) {
      for (int first_lane : {0, 32, 96}) {
        const uint32_t address = uint32_t(first_lane) << 16 | 64;
        std::set<Cell> seen;
        const int registers = repeat * kRegistersPerRepeat[shape], columns = repeat * kColumnsPerRepeat[shape];
        for (int lane = 0; lane < 32; ++lane) {
          for (int reg = 0; reg < registers; ++reg) {
            const TmemCell c = tmem_register_cell(shape, reg, lane, address);
            ASSERT_GE(c.lane, first_lane);
            ASSERT_LT(c.lane, first_lane + kLanes[shape]);
            ASSERT_GE(c.column, 64);
            ASSERT_LT(c.column, 64 + columns);
            ASSERT_TRUE(seen.insert({c.lane, c.column}).second) << "shape " << shape << " twice";
          }
        }
        ASSERT_EQ(seen.size(), size_t(kLanes[shape] * columns)) << "shape " << shape << " repeat " << repeat;
      }
    }
  }
}

TEST(TmemRegisters, LieWherePtxPutsThem) {
  EXPECT_EQ(tmem_register_cell(b32x32, 5, 7, 0x20'0010), (TmemCell{39, 21}));
  // 16x64b: threads 0 and 2 share row 0, threads 1 and 3 row 8, thread 4 is row 1.
  EXPECT_EQ(tmem_register_cell(b64x16, 0, 0, 0), (TmemCell{0, 0}));
  EXPECT_EQ(tmem_register_cell(b64x16, 0, 1, 0), (TmemCell{8, 0}));
  EXPECT_EQ(tmem_register_cell(b64x16, 0, 2, 0), (TmemCell{0, 1}));
  EXPECT_EQ(tmem_register_cell(b64x16, 0, 3, 0), (TmemCell{8, 1}));
  EXPECT_EQ(tmem_register_cell(b64x16, 3, 4, 0), (TmemCell{1, 6}));
  // 16x128b: one column per thread, register 1 eight rows below.
  EXPECT_EQ(tmem_register_cell(b128x16, 0, 3, 0), (TmemCell{0, 3}));
  EXPECT_EQ(tmem_register_cell(b128x16, 1, 4, 0), (TmemCell{9, 0}));
  EXPECT_EQ(tmem_register_cell(b128x16, 2, 4, 0), (TmemCell{1, 4}));
  // 16x256b: row l/4 (registers 0, 1) and l/4 + 8 (2, 3), columns 2*(l%4) and the next, eight further for each repeat.
  EXPECT_EQ(tmem_register_cell(b256x16, 0, 5, 0), (TmemCell{1, 2}));
  EXPECT_EQ(tmem_register_cell(b256x16, 1, 5, 0), (TmemCell{1, 3}));
  EXPECT_EQ(tmem_register_cell(b256x16, 2, 5, 0), (TmemCell{9, 2}));
  EXPECT_EQ(tmem_register_cell(b256x16, 7, 31, 16u << 16), (TmemCell{31, 15}));
}

struct Layout {
  int m, cta_group, lanes;
  bool half_columns;
};
constexpr Layout kLayouts[] = {{128, 1, 128, false}, {64, 1, 64, false}, {128, 2, 128, true}, {256, 2, 128, false}};

TEST(Accumulator, EveryElementHasOneCellInOneCta) {
  for (const Layout& l : kLayouts) {
    for (int n : {16, 32, 256}) {
      std::set<std::pair<int, Cell>> seen;
      std::set<int> lanes;
      for (int i = 0; i < l.m; ++i) {
        for (int j = 0; j < n; ++j) {
          int homes = 0;
          for (int cta = 0; cta < l.cta_group; ++cta) {
            const auto cell = accumulator_cell(l.m, n, l.cta_group, cta, i, j);
            if (!cell) continue;
            ++homes;
            ASSERT_LT(cell->lane, kTmemLanes);
            ASSERT_LT(cell->column, l.half_columns ? n / 2 : n);
            ASSERT_TRUE(seen.insert({cta, {cell->lane, cell->column}}).second);
            lanes.insert(cell->lane);
          }
          ASSERT_EQ(homes, 1);
        }
      }
      EXPECT_EQ(seen.size(), size_t(l.m * n));
      EXPECT_EQ(lanes.size(), size_t(l.lanes));
    }
  }
}

TEST(Accumulator, LiesWherePtxPutsIt) {
  EXPECT_EQ(accumulator_cell(128, 64, 1, 0, 77, 5), (TmemCell{77, 5}));  // D
  EXPECT_EQ(accumulator_cell(64, 64, 1, 0, 17, 5), (TmemCell{33, 5}));   // F: sixteen rows per warp
  EXPECT_EQ(accumulator_cell(256, 64, 2, 1, 130, 5), (TmemCell{2, 5}));  // A
  EXPECT_EQ(accumulator_cell(256, 64, 2, 0, 130, 5), std::nullopt);
  EXPECT_EQ(accumulator_cell(128, 64, 2, 1, 70, 5), (TmemCell{6, 5}));    // B, left half of N
  EXPECT_EQ(accumulator_cell(128, 64, 2, 1, 70, 40), (TmemCell{70, 8}));  // B, right half
}

TEST(Accumulator, ProductLandsInItsCellsAndNowhereElse) {
  for (const Layout& l : kLayouts) {
    const int n = 48, k = 16, rows = l.m / l.cta_group;
    std::vector<float> a(size_t(rows * k)), b(size_t(n * k));
    for (size_t i = 0; i < a.size(); ++i) a[i] = float(int(i * 5 % 7) - 3);
    for (size_t i = 0; i < b.size(); ++i) b[i] = float(int(i * 3 % 11) - 5);
    Cells cells = tensor_memory();
    const uint32_t address = 100;
    multiply_tmem(l.m, n, l.cta_group, k, a.data(), b.data(), cells.data(), address, false);
    multiply_tmem(l.m, n, l.cta_group, k, a.data(), b.data(), cells.data(), address, true);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < n; ++j) {
        float want = 0;
        for (int x = 0; x < k; ++x) want += 2 * a[size_t(i * k + x)] * b[size_t(j * k + x)];
        const TmemCell cell = *accumulator_cell(l.m, n, l.cta_group, 0, i, j);
        uint32_t& word = at(cells, cell.lane, int(address) + cell.column);
        ASSERT_EQ(stdx::bit_cast<float>(word), want) << "M " << l.m << " at " << i << "," << j;
        word = 0xdeadbeef;
      }
    }
    EXPECT_EQ(cells, tensor_memory()) << "M " << l.m << ": a cell outside the accumulator changed";
  }
}

TEST(TmemOperand, IsPackedAlongKInTheLaneOfItsRow) {
  for (const Layout& l : kLayouts) {
    const int rows = l.m / l.cta_group, k = 16;
    Cells cells = tensor_memory();
    std::vector<float> want;
    for (int i = 0; i < rows; ++i) {
      const int lane = accumulator_cell(l.m, 16, l.cta_group, 0, i, 0)->lane;
      for (int j = 0; j < k; ++j) {
        want.push_back(float((i * 3 + j * 5) % 17));
        uint32_t& word = at(cells, lane, 32 + j / 2);
        if (j % 2 == 0) word = 0;
        word |= uint32_t(from_float<bf16>(want.back()).bits) << (16 * (j % 2));
      }
    }
    std::vector<float> got(size_t(rows * k));
    gather_tmem_operand(DType::bf16, l.m, l.cta_group, k, cells.data(), 32, got.data());
    EXPECT_EQ(got, want) << "M " << l.m;
  }
}

// In the order of machine::TmemCopy.
enum Copy { s128x256b, s128x128b, s4x256b, s64x128b, s32x128b };

struct CopyCase {
  int shape, rows, bytes;
  std::vector<int> (*lanes)(int row);
};
const CopyCase kCopies[] = {
    {s128x256b, 128, 32, [](int r) { return std::vector<int>{r}; }},
    {s128x128b, 128, 16, [](int r) { return std::vector<int>{r}; }},
    {s4x256b, 4, 32, [](int r) { return std::vector<int>{32 * r}; }},
    {s64x128b, 64, 16,
     [](int r) {
       return std::vector<int>{r, r + 64};
     }},
    {s32x128b, 32, 16,
     [](int r) {
       return std::vector<int>{r, r + 32, r + 64, r + 96};
     }},
};

TEST(TmemCopy, MovesEveryRowToItsLanes) {
  std::vector<uint8_t> shared(1 << 18);
  for (size_t i = 0; i < shared.size(); ++i) shared[i] = uint8_t(i * 7 + i / 251);
  // Eight rows of 16 bytes are contiguous; the next 16 bytes of a row lie 4096 bytes later.
  const MatrixDesc desc{2048, 4096, 128, Swizzle::none, 0};
  for (const CopyCase& c : kCopies) {
    Cells cells = tensor_memory();
    std::vector<Piece> touched;
    std::vector<TmemCell> written;
    tcgen05_cp(c.shape, desc, shared.data(), 40, cells.data(), &touched, &written);
    std::set<Cell> all;
    for (int row = 0; row < c.rows; ++row) {
      for (int byte = 0; byte < c.bytes; byte += 4) {
        uint32_t want;
        std::memcpy(&want, &shared[size_t(2048 + row * 16 + byte / 16 * 4096 + byte % 16)], 4);
        for (int lane : c.lanes(row)) {
          ASSERT_EQ(at(cells, lane, 40 + byte / 4), want) << "shape " << c.shape << " row " << row;
          at(cells, lane, 40 + byte / 4) = 0xdeadbeef;
          all.insert({lane, 40 + byte / 4});
        }
      }
    }
    EXPECT_EQ(cells, tensor_memory()) << "shape " << c.shape << " wrote elsewhere";
    EXPECT_EQ(written.size(), all.size());
    for (const TmemCell& cell : written) EXPECT_TRUE(all.count({cell.lane, cell.column}) == 1);
    uint32_t bytes = 0;
    for (const Piece& p : touched) bytes += p.bytes;
    EXPECT_EQ(bytes, uint32_t(c.rows * c.bytes));
  }
}

TEST(BlockScale, ComesFromTheWordOfItsRowAndTheByteOfItsBlock) {
  // The scales of 256 rows by four blocks, as two 32x128b copies bring them from two 512-byte tiles: 32 lanes, and one
  // word for each group of 32 rows.
  std::vector<uint8_t> shared(1 << 18);
  const auto code = [](int row, int block) { return uint8_t(60 + (row * 4 + block) % 50); };  // no NaN in either type
  for (int row = 0; row < 256; ++row) {
    for (int block = 0; block < 4; ++block) {
      shared[size_t(row / 128 * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block)] = code(row, block);
    }
  }
  Cells cells = tensor_memory();
  for (int tile = 0; tile < 2; ++tile) {
    tcgen05_cp(s32x128b, MatrixDesc{uint32_t(512 * tile), 0, 128, Swizzle::none, 0}, shared.data(),
               uint32_t(300 + 4 * tile), cells.data(), nullptr, nullptr);
  }
  for (int row = 0; row < 256; ++row) {
    for (int block = 0; block < 4; ++block) {
      for (int quarter = 0; quarter < 4; ++quarter) {
        const float power = to_float(ue8m0{code(row, block)});
        ASSERT_EQ(block_scale(DType::ue8m0, cells.data(), 300, row, block, 0, quarter), power) << row << " " << block;
        ASSERT_EQ(block_scale(DType::ue8m0, cells.data(), 300, row, 0, block, quarter), power);
      }
      ASSERT_EQ(block_scale(DType::ue4m3, cells.data(), 300, row, block, 0), to_float(ue4m3{code(row, block)}));
    }
  }
  // scale_vec::2X with scale id 2: blocks 0 and 1 are bytes 2 and 3.
  EXPECT_EQ(block_scale(DType::ue8m0, cells.data(), 300, 77, 1, 2), to_float(ue8m0{code(77, 3)}));
}

TEST(BlockScale, AMissingReplicaIsSeenInItsQuarter) {
  Cells cells(size_t(kTmemLanes * kTmemColumns), 0x7f7f7f7f);
  at(cells, 64 + 3, 10) = 0x80808080;
  EXPECT_EQ(block_scale(DType::ue8m0, cells.data(), 10, 3, 0, 0, 0), 1.f);
  EXPECT_EQ(block_scale(DType::ue8m0, cells.data(), 10, 3, 0, 0, 2), 2.f);
}

}  // namespace
}  // namespace warpwright::simulator::model

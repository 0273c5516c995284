#include "warpwright/core/layout.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace warpwright {
namespace {

constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32};

// The tables of PTX 5.5.7: row r of a table is a line of 128 bytes, the number in column c says which 16 bytes of the
// source line lie there.
using Table = std::vector<std::vector<int>>;
Table ptx_table(Swizzle s) {
  switch (s) {
    case Swizzle::none:
      return {{0, 1, 2, 3, 4, 5, 6, 7}};
    case Swizzle::b32:
      return {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};
    case Swizzle::b64:
      return {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4}};
    case Swizzle::b128:
      return {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
              {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
    case Swizzle::b128_atom32:
      return {{0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}};
  }
  return {};
}

std::string describe(const SmemTile& t) {
  return std::string(name(t.type)) + " " + std::to_string(t.rows) + "x" + std::to_string(t.cols) + " swizzle " +
         std::to_string(int(t.swizzle)) + (t.major == Major::K ? " K-major" : " MN-major") +
         (t.order == AtomOrder::panels ? " panels" : " mn_first");
}

template <class Check>
void for_each_tile(Check check) {
  for (Swizzle s : kSwizzles) {
    for (DType type : {DType::bf16, DType::tf32, DType::e4m3, DType::e2m1}) {
      for (Major major : {Major::K, Major::MN}) {
        if (major == Major::MN && type == DType::e2m1) continue;
        for (AtomOrder order : {AtomOrder::panels, AtomOrder::mn_first}) {
          for (auto [rows, cols] : {std::pair{64, 32}, {128, 64}, {192, 128}, {24, 40}, {8, 16}}) {
            check(SmemTile{type, rows, cols, s, major, order});
          }
        }
      }
    }
  }
}

TEST(Swizzle, MatchesTheTablesOfPtx) {
  for (Swizzle s : kSwizzles) {
    const Table table = ptx_table(s);
    for (uint32_t line = 0; line < 64; ++line) {
      const std::vector<int>& row = table[line % table.size()];
      for (uint32_t place = 0; place < 8; ++place) {
        for (uint32_t byte : {0u, 7u, 15u}) {
          const uint32_t source = line * 128 + uint32_t(row[place]) * 16 + byte;
          ASSERT_EQ(swizzle(s, source), line * 128 + place * 16 + byte) << int(s) << " line " << line;
        }
      }
    }
    // A swizzle of 32 bytes has two lines of the table in one period of 256 bytes, and so on.
    if (s != Swizzle::none) {
      EXPECT_EQ(pattern_bytes(s), 128 * table.size());
    }
  }
}

TEST(Swizzle, IsItsOwnInverse) {
  for (Swizzle s : kSwizzles) {
    for (uint32_t address = 0; address < 0x8000; ++address) ASSERT_EQ(swizzle(s, swizzle(s, address)), address);
  }
}

TEST(Swizzle, AlignmentIsThePatternAndAtLeastThatOfTma) {
  EXPECT_EQ(smem_alignment(Swizzle::none), 128u);
  EXPECT_EQ(smem_alignment(Swizzle::b32), 256u);
  EXPECT_EQ(smem_alignment(Swizzle::b64), 512u);
  EXPECT_EQ(smem_alignment(Swizzle::b128), 1024u);
  EXPECT_EQ(smem_alignment(Swizzle::b128_atom32), 1024u);
}

TEST(SmemTile, EveryElementHasItsOwnPlaceInside) {
  for_each_tile([](const SmemTile& t) {
    std::set<uint32_t> seen;
    for (int r = 0; r < t.rows; ++r) {
      for (int c = 0; c < t.cols; ++c) {
        const uint32_t nibbles = uint32_t(bits(t.type)) / 4;
        const uint32_t half = bits(t.type) == 4 ? uint32_t(c % 2) : 0;
        const uint32_t first = t.offset(r, c) * 2 + half;
        ASSERT_LE(first + nibbles, t.bytes() * 2) << describe(t);
        ASSERT_EQ(t.offset(r, c) % ((nibbles + 1) / 2), 0u) << describe(t);
        ASSERT_TRUE(seen.insert(first).second) << describe(t) << " (" << r << ", " << c << ")";
      }
    }
  });
}

TEST(SmemTile, PanelsAreBoxesThatTmaCanWrite) {
  for_each_tile([](const SmemTile& t) {
    if (t.order != AtomOrder::panels) return;
    // TMA walks a box row by row, packed, and swizzles the address; the boxes follow each other.
    const int per_box = t.panel_elements();
    for (int panel = 0; panel < t.panels(); ++panel) {
      const uint32_t start = uint32_t(panel) * t.panel_stride();
      ASSERT_EQ(start % t.alignment(), 0u);
      for (int o = 0; o < t.outer(); ++o) {
        for (int i = 0; i < per_box && panel * per_box + i < t.inner(); ++i) {
          const uint32_t byte = (uint32_t(o) * uint32_t(per_box) + uint32_t(i)) * uint32_t(bits(t.type)) / 8;
          const int inner = panel * per_box + i;
          const uint32_t offset = t.major == Major::K ? t.offset(o, inner) : t.offset(inner, o);
          ASSERT_EQ(offset, swizzle(t.swizzle, start + byte)) << describe(t);
        }
      }
    }
    ASSERT_GE(t.panel_stride(), t.box_bytes());
    ASSERT_EQ(t.bytes(), uint32_t(t.panels()) * t.panel_stride());
  });
}

TEST(SmemTile, AFullTileHasNoPadding) {
  for (Swizzle s : kSwizzles) {
    for (DType type : {DType::bf16, DType::tf32, DType::e4m3, DType::e2m1}) {
      const int depth = 1024 / bits(type);
      EXPECT_EQ((SmemTile{type, 128, depth, s}.bytes()), 128u * 128u);
      for (AtomOrder order : {AtomOrder::panels, AtomOrder::mn_first}) {
        EXPECT_EQ((SmemTile{type, depth, 128, s, Major::MN, order}.bytes()), 128u * 128u);
      }
    }
  }
}

// ldmatrix and the tensor core read 8 rows at one 16-byte column at a time.
TEST(SmemTile, EightRowsOfOneColumnTouchEightBankGroups) {
  const SmemTile t{DType::bf16, 64, 64, Swizzle::b128};
  for (int first = 0; first < t.rows; first += 8) {
    for (int col = 0; col < t.cols; col += 8) {
      std::set<uint32_t> groups;
      for (int r = first; r < first + 8; ++r) groups.insert(t.offset(r, col) / 16 % 8);
      ASSERT_EQ(groups.size(), 8u);
    }
  }
  // The narrower swizzles fill all banks too: a line of 128 bytes then holds several rows.
  for (Swizzle s : {Swizzle::b32, Swizzle::b64}) {
    const SmemTile narrow{DType::bf16, 64, 64, s};
    std::set<uint32_t> groups;
    for (int r = 0; r < 8; ++r) groups.insert(narrow.offset(r, 0) / 16 % 8);
    EXPECT_EQ(groups.size(), 8u);
  }
}

TEST(SmemTile, ColumnsOfSixteenBytesStayTogether) {
  for_each_tile([](const SmemTile& t) {
    const int chunk = 128 / bits(t.type);
    for (int r = 0; r < t.rows; ++r) {
      for (int c = 0; c < t.cols; ++c) {
        const int inner = t.major == Major::K ? c : r;
        const int back = inner % chunk;
        const uint32_t first = t.major == Major::K ? t.offset(r, c - back) : t.offset(r - back, c);
        ASSERT_EQ(t.offset(r, c), first + uint32_t(back) * uint32_t(bits(t.type)) / 8) << describe(t);
      }
    }
  });
}

}  // namespace
}  // namespace warpwright

// What is reported about a wrong result: its first elements with their tile, and where all of the wrong ones are.
#include "reference/wrong_elements.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace warpwright::reference {
namespace {

// D has 8 x 12 elements in rows of 16, which begin at the second element of its array.
struct Product {
  Workload w;
  std::vector<uint8_t> output;

  Product() {
    GemmSpec spec;
    spec.shape = {8, 12, 4};
    spec.a = dense_layout(8, 4);
    spec.b = dense_layout(12, 4);
    spec.d = {8, 12, 16, 0, 1};
    spec.epilogue = factor_and_conversion(DType::fp32);
    w = gemm_workload(spec, Data::integers, 1);
    output = w.output().bytes;
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 12; ++column) set(row, column, 0);
  }
  static size_t index(int row, int column) { return size_t(1 + row * 16 + column); }
  void set(int row, int column, float off) {
    const float value = float(w.expected[index(row, column)]) + off;
    std::memcpy(output.data() + 4 * index(row, column), &value, 4);
  }
  std::string expected(int row, int column) const { return std::to_string(int(w.expected[index(row, column)])); }
};

TEST(WrongElements, HaveTheirTileWhatWasExpectedAndABox) {
  Product p;
  ASSERT_TRUE(judge(p.w, p.output).ok);
  p.set(1, 3, 1);
  p.set(5, 9, 2);
  ASSERT_EQ(judge(p.w, p.output).wrong, 2u);
  const int got = int(p.w.expected[Product::index(5, 9)]) + 2;
  const auto lines = wrong_elements(p.w, p.output, {4, 6});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "D[5, 9] of tile (1, 1): expected " + p.expected(5, 9) + ", got " + std::to_string(got));
  EXPECT_EQ(lines[2], "they lie in rows 1 to 5, columns 3 to 9; a tile has 4 x 6");
  EXPECT_EQ(lines[0].substr(0, 21), "D[1, 3] of tile (0, 0");
}

TEST(WrongElements, SayWhatWasNeverWrittenAndWhatLiesBetweenRows) {
  Product p;
  std::memset(p.output.data() + 4 * Product::index(2, 0), 0xff, 4);
  EXPECT_EQ(wrong_elements(p.w, p.output, {}),
            std::vector<std::string>{"D[2, 0]: expected " + p.expected(2, 0) + ", and it was never written"});
  Product q;
  const float seven = 7;
  std::memcpy(q.output.data() + 4 * Product::index(0, 13), &seven, 4);
  EXPECT_EQ(wrong_elements(q.w, q.output, {}),
            std::vector<std::string>{"D[0, 13]: got 7 where nothing may be written"});
}

// NaN as a kernel computes it is not what was there before.
TEST(WrongElements, TellWhatIsNaNFromWhatWasNeverWritten) {
  Product p;
  std::memset(p.output.data() + 4 * Product::index(2, 0), 0xff, 4);
  p.set(3, 1, std::numeric_limits<float>::quiet_NaN());
  const Verdict v = judge(p.w, p.output);
  EXPECT_EQ(v.wrong, 2u);
  EXPECT_EQ(v.unwritten, 1u);
  EXPECT_EQ(v.not_numbers, 1u);
}

// Of floats one NaN is as good as another, and none is as good as what was there before.
TEST(WrongElements, CompareFactorsThatAreNaN) {
  Workload w;
  w.arrays.push_back({"factors", DType::fp32, 1, 3, true, {}});
  const std::vector<uint32_t> due = {0x7fff'ffff, 0x7fc0'0000, 0x3f80'0000};
  AlsoExpected also{.array = "factors", .bytes = std::vector<uint8_t>(12), .floats = true};
  std::memcpy(also.bytes.data(), due.data(), 12);
  w.also.push_back(also);
  std::vector<uint32_t> have = {0xffc0'0001, 0x7fc0'0000, 0x3f80'0000};
  const auto judged = [&] {
    Verdict v;
    judge_others(w, {have.data()}, v);
    return v;
  };
  EXPECT_TRUE(judged().ok);
  have[1] = 0x4000'0000;
  EXPECT_EQ(judged().other, "factors[1] is 2, not NaN");
  have[1] = 0xffff'ffff;
  EXPECT_EQ(judged().other, "factors[1] is as it was before, not NaN");
}

}  // namespace
}  // namespace warpwright::reference

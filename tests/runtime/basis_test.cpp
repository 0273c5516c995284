// The problems of `tune --random`, and the table that a run can go on with.
#include "measure/basis.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "measure/basis_table.h"

namespace warpwright::measure {
namespace {

TEST(DrawShapes, AreTheSameForADrawAndOthersForAnother) {
  const auto first = draw_shapes(40, 7, DType::bf16), again = draw_shapes(40, 7, DType::bf16);
  const auto other = draw_shapes(40, 8, DType::bf16);
  ASSERT_EQ(first.size(), 40u);
  size_t equal = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(basis_problem(first[i]), basis_problem(again[i]));
    equal += basis_problem(first[i]) == basis_problem(other[i]);
  }
  EXPECT_EQ(equal, 0u);
  // A longer draw begins with the shorter one.
  EXPECT_EQ(basis_problem(draw_shapes(10, 7, DType::bf16)[9]), basis_problem(first[9]));
}

TEST(DrawShapes, LieWithinTheirBoundsAndSayWhoMovesThem) {
  size_t aligned = 0, unaligned = 0;
  for (const BenchShape& s : draw_shapes(2000, 3, DType::bf16)) {
    EXPECT_TRUE(s.m >= 1 && s.m <= 8192 && s.n >= 256 && s.n <= 32768 && s.k >= 256 && s.k <= 16384) << s.text();
    aligned += s.n % 8 == 0 && s.k % 8 == 0;
    unaligned += s.k % 8 != 0;
    EXPECT_EQ(s.load == Mover::threads, s.k % 8 != 0) << s.text();
    EXPECT_EQ(s.store == Mover::threads, s.k % 8 != 0 || s.n % 8 != 0) << s.text();
  }
  EXPECT_GE(aligned, 1500u);
  EXPECT_GE(unaligned, 300u);
}

TEST(BasisTable, IsReadBack) {
  std::string table = std::string(kBasisHeader) + "\n";
  EXPECT_TRUE(basis_problems("", "a chip")->empty());
  EXPECT_TRUE(basis_problems(table, "a chip")->empty());
  const auto shapes = draw_shapes(3, 1, DType::e4m3);
  for (const BenchShape& shape : shapes) {
    table += basis_line("a chip", {shape, "", 3.5}) + "\n";
    table += basis_line("a chip", {shape, "dense-128x256-c2-s4", 4}) + "\n";
  }
  const auto read = basis_problems(table, "a chip");
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->size(), 3u);
  for (const BenchShape& shape : shapes) EXPECT_EQ(read->count(basis_problem(shape)), 1u);
}

TEST(BasisTable, OfAnotherDeviceOrADamagedOneIsRefused) {
  const auto why = [](const std::string& table) { return basis_problems(table, "a chip").status().message(); };
  const std::string header = std::string(kBasisHeader) + "\n";
  EXPECT_NE(why("m\tn\tk\n").find("it begins with 'm\tn\tk'"), std::string::npos);
  EXPECT_NE(why(header + "another\tbf16\t1\t2\t3\tp\t1.0\n").find("times of a another, this is a a chip"),
            std::string::npos);
  EXPECT_NE(why(header + "a chip\tbf16\t1\tx\t3\tp\t1.0\n").find("are not numbers from 1 on"), std::string::npos);
  EXPECT_NE(why(header + "a chip\tbf16\t1\t2").find("are not numbers from 1 on"), std::string::npos);
}

}  // namespace
}  // namespace warpwright::measure

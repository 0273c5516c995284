// The problems of `tune --random` and `bench --random`, and the table that a run can go on with.
#include "measure/basis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
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

TEST(DrawGroupedShapes, AreWhatTheKernelsTake) {
  for (const Groups op : {Groups::none, Groups::contiguous, Groups::masked, Groups::by_depth}) {
    for (const DType type : {DType::e4m3, DType::bf16}) {
      if (op == Groups::none && type == DType::bf16) continue;
      const auto shapes = draw_grouped_shapes(60, 5, op, type);
      ASSERT_EQ(shapes.size(), 60u);
      EXPECT_EQ(basis_problem(draw_grouped_shapes(20, 5, op, type)[19]), basis_problem(shapes[19]));
      EXPECT_NE(basis_problem(draw_grouped_shapes(20, 6, op, type)[19]), basis_problem(shapes[19]));
      size_t skewed = 0;
      for (const GroupedCase& shape : shapes) {
        const GroupedTable table = table_for(shape);
        const Status valid = validate(table.problem);
        EXPECT_TRUE(valid) << basis_problem(shape) << ": " << valid.message();
        EXPECT_FALSE(choice::instances_for(table.problem).empty()) << basis_problem(shape);
        EXPECT_EQ(shape.n % 8, 0) << basis_problem(shape);
        skewed += shape.counts == Counts::skewed;
      }
      EXPECT_EQ(skewed, op == Groups::none ? 0u : 20u);
    }
  }
}

TEST(GroupedTable, IsLegalAndTheSameEveryTime) {
  const GroupedCase contiguous{{Groups::contiguous, DType::e4m3, DType::bf16, 8, 1000, 256, 512}};
  const GroupedTable table = table_for(contiguous);
  ASSERT_EQ(table.rows.size(), 9u);
  EXPECT_EQ(table.rows.front(), 0u);
  EXPECT_EQ(int64_t(table.rows.back()), table.problem.m);
  EXPECT_EQ(table_for(contiguous).rows, table.rows);
  for (size_t g = 0; g < 8; ++g) {
    const uint32_t count = table.rows[g + 1] - table.rows[g];
    EXPECT_GE(count, 700u);
    EXPECT_LE(count, 1300u);
  }
  const GroupedTable masked = table_for({{Groups::masked, DType::bf16, DType::bf16, 6, 20, 256, 512}});
  ASSERT_EQ(masked.rows.size(), 6u);
  for (const uint32_t count : masked.rows) EXPECT_LE(int64_t(count), masked.problem.m / 6);
  const GroupedTable deep = table_for({{Groups::by_depth, DType::e4m3, DType::fp32, 4, 256, 256, 1000}});
  for (const uint32_t end : deep.rows) EXPECT_EQ(end % 128, 0u);
  EXPECT_EQ(int64_t(deep.rows.back()), deep.problem.k);
  for (const GroupedTable* t : {&table, &masked, &deep}) EXPECT_TRUE(validate(t->problem)) << t->problem.m;
  EXPECT_TRUE(table_for({{Groups::none, DType::e4m3, DType::bf16, 1, 5, 256, 512}}).rows.empty());
}

TEST(GroupedTable, SkewedHasEmptyGroupsAndAsManyRowsInAll) {
  const GroupedCase shape{{Groups::masked, DType::e4m3, DType::bf16, 16, 200, 256, 512}, Counts::skewed};
  const GroupedTable table = table_for(shape);
  ASSERT_EQ(table.rows.size(), 16u);
  EXPECT_EQ(std::count(table.rows.begin(), table.rows.end(), 0u), 4);
  const auto all = std::accumulate(table.rows.begin(), table.rows.end(), int64_t(0));
  EXPECT_NEAR(double(all), 16 * 200, 16);
  const uint32_t most = *std::max_element(table.rows.begin(), table.rows.end());
  EXPECT_GT(most, 5 * 200u);
  EXPECT_LE(int64_t(most), table.problem.m / 16);
  EXPECT_TRUE(validate(table.problem));
}

TEST(BasisTable, IsReadBack) {
  std::string table = std::string(kBasisHeader) + "\n";
  const auto read_back = [&] { return basis_problems(table, kBasisHeader, "a chip"); };
  EXPECT_TRUE(basis_problems("", kBasisHeader, "a chip")->empty());
  EXPECT_TRUE(read_back()->empty());
  const auto shapes = draw_shapes(3, 1, DType::e4m3);
  for (const BenchShape& shape : shapes) {
    table += basis_line("a chip", {basis_problem(shape), "", 3.5}) + "\n";
    table += basis_line("a chip", {basis_problem(shape), "dense-128x256-c2-s4", 4}) + "\n";
  }
  const auto read = read_back();
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->size(), 3u);
  for (const BenchShape& shape : shapes) EXPECT_EQ(read->count(basis_problem(shape)), 1u);

  table = std::string(kGroupedBasisHeader) + "\n";
  const auto groups = draw_grouped_shapes(3, 1, Groups::masked, DType::bf16);
  for (const GroupedCase& shape : groups) table += basis_line("a chip", {basis_problem(shape), "a plan", 4}) + "\n";
  const auto grouped = basis_problems(table, kGroupedBasisHeader, "a chip");
  ASSERT_TRUE(grouped) << grouped.status().message();
  EXPECT_EQ(grouped->size(), 3u);
  for (const GroupedCase& shape : groups) EXPECT_EQ(grouped->count(basis_problem(shape)), 1u);
}

TEST(BasisTable, OfAnotherDeviceOrADamagedOneIsRefused) {
  const auto why = [](const std::string& table) {
    return basis_problems(table, kBasisHeader, "a chip").status().message();
  };
  const std::string header = std::string(kBasisHeader) + "\n";
  EXPECT_NE(why("m\tn\tk\n").find("it begins with 'm\tn\tk'"), std::string::npos);
  EXPECT_NE(why(std::string(kGroupedBasisHeader) + "\n").find("columns device, dtype, m, n, k, plan, us"),
            std::string::npos);
  EXPECT_NE(why(header + "another\tbf16\t1\t2\t3\tp\t1.0\n").find("times of a another, this is a a chip"),
            std::string::npos);
  EXPECT_NE(why(header + "a chip\tbf16\t1\tx\t3\tp\t1.0\n").find("n = 'x' is not a number from 1 on"),
            std::string::npos);
  EXPECT_NE(why(header + "a chip\tbf16\t1\t2").find("k = '' is not a number from 1 on"), std::string::npos);
}

}  // namespace
}  // namespace warpwright::measure

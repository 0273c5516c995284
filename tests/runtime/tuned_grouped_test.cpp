// The tuned table of grouped products: read as it was written, used on the device it was made on, for rows near enough.
#include "choice/tuned_grouped.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "choice/tuned.h"

namespace warpwright::choice {
namespace {

const GroupedShape kMasked{Groups::masked, DType::bf16, DType::bf16, 32, 192, 4096, 2048};

GroupedTunedTable table_of(std::vector<GroupedTunedRow> rows) {
  GroupedTunedTable table;
  table.device = "NVIDIA H200";
  table.multiprocessors = 132;
  table.toolkit = "CUDA 13.0";
  table.rows = std::move(rows);
  return table;
}

TEST(GroupedTunedTable, IsReadAsItWasWritten) {
  const GroupedTunedRow row{kMasked, "grouped-128x256-c2-s3", 12.5, 13.25};
  const auto read = read_grouped_table(write_table(table_of({row})));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->device, "NVIDIA H200");
  EXPECT_EQ(read->multiprocessors, 132);
  EXPECT_EQ(read->toolkit, "CUDA 13.0");
  ASSERT_EQ(read->rows.size(), 1u);
  EXPECT_EQ(read->rows[0].shape, kMasked);
  EXPECT_EQ(read->rows[0].plan, row.plan);
  EXPECT_DOUBLE_EQ(read->rows[0].us, 12.5);
  EXPECT_DOUBLE_EQ(read->rows[0].model_us, 13.25);
}

TEST(GroupedTunedTable, IsNoTableOfDenseProductsNorTheOtherWayRound) {
  EXPECT_FALSE(read_table(write_table(table_of({}))));
  EXPECT_FALSE(read_grouped_table(write_table(TunedTable{{"NVIDIA H200", 132, ""}, {}})));
  EXPECT_FALSE(read_grouped_table(write_table(table_of({})) + "dense\tbf16\tbf16\t1\t1\t8\t8\tx\t1\t1\n"));
  EXPECT_TRUE(read_grouped_table(write_table(table_of({}))));
}

TEST(GroupedTunedTable, AProblemAndItsShapeAreTheSame) {
  for (const GroupedShape& shape : {kMasked, GroupedShape{Groups::none, DType::e4m3, DType::bf16, 1, 128, 4096, 7168},
                                    GroupedShape{Groups::contiguous, DType::e4m3, DType::bf16, 4, 8192, 4096, 2048},
                                    GroupedShape{Groups::by_depth, DType::bf16, DType::fp32, 8, 4096, 7168, 2048}}) {
    const auto again = shape_of(problem_of(shape));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, shape) << shape.text();
  }
}

TEST(GroupedTunedTable, SaysNothingAboutOtherEpiloguesAndScales) {
  GroupedProblem p = problem_of(kMasked);
  p.bias = Bias::per_column;
  EXPECT_FALSE(shape_of(p));
  p = problem_of({Groups::none, DType::e4m3, DType::bf16, 1, 128, 4096, 7168});
  p.b_scale_rows = 1;
  EXPECT_FALSE(shape_of(p));
}

TEST(GroupedTunedTable, TakesTheNearestRowsOfGroupsAndTheSameOfOneProduct) {
  GroupedShape few = kMasked, many = kMasked, one{Groups::none, DType::e4m3, DType::bf16, 1, 128, 4096, 7168};
  few.rows = 20;
  many.rows = 400;
  const std::vector<GroupedTunedRow> rows = {
      {few, "few", 1, 1}, {kMasked, "middle", 1, 1}, {many, "many", 1, 1}, {one, "one", 1, 1}};
  const auto at = [&](GroupedShape shape, int64_t count) {
    shape.rows = count;
    return nearest_plan(rows, shape);
  };
  EXPECT_EQ(at(kMasked, 192), "middle");
  EXPECT_EQ(at(kMasked, 250), "middle");
  EXPECT_EQ(at(kMasked, 300), "many");
  EXPECT_EQ(at(kMasked, 25), "few");
  EXPECT_EQ(at(kMasked, 80), "");
  EXPECT_EQ(at(kMasked, 0), "");
  EXPECT_EQ(at(one, 128), "one");
  EXPECT_EQ(at(one, 127), "");
  const GroupedShape deep{Groups::by_depth, DType::bf16, DType::fp32, 8, 4096, 7168, 2048};
  GroupedShape deeper = deep, wider = deep;
  deeper.k = 2900;
  wider.rows = 4104;
  EXPECT_EQ(nearest_plan({{deep, "deep", 1, 1}}, deeper), "deep");
  EXPECT_EQ(nearest_plan({{deep, "deep", 1, 1}}, wider), "");
  GroupedShape other = kMasked;
  other.n = 4104;
  EXPECT_EQ(nearest_plan(rows, other), "");
}

TEST(GroupedTunedTable, EveryRowThatIsShippedNamesAKernelOfThisBuild) {
  size_t rows = 0;
  for (const std::string& text : tuned_texts("WARPWRIGHT_NO_SUCH_VARIABLE")) {
    const auto table = read_grouped_table(text);
    if (!table) continue;
    for (const GroupedTunedRow& row : table->rows) {
      ++rows;
      const std::string wanted = row.plan.substr(0, row.plan.rfind("-s"));
      bool found = false;
      for (const Instance& kernel : instances_for(problem_of(row.shape))) {
        found |= catalog::plan_name(kernel).starts_with(wanted + "-s");
      }
      EXPECT_TRUE(found) << row.shape.text() << ": " << row.plan;
    }
  }
  EXPECT_GT(rows, 0u);
}

// WARPWRIGHT_TUNED_GROUPED is read once, so this is the only test here that lets anything be chosen.
TEST(GroupedTunedTable, DecidesOnTheDeviceItWasMadeOnAndNowhereElse) {
  const GroupedProblem problem = problem_of(kMasked);
  const auto modelled = choose(problem, 132);
  ASSERT_TRUE(modelled);
  std::string other;
  for (const Instance& kernel : instances_for(problem)) {
    if (kernel != modelled->instance) other = catalog::plan_name(kernel);
  }
  ASSERT_NE(other, "");
  GroupedShape unknown = kMasked, older = kMasked;
  unknown.groups = 6;
  older.groups = 7;
  const std::string other_stages = other.substr(0, other.rfind('s')) + "s99";
  const std::string path = testing::TempDir() + "ww_tuned_grouped_test.tsv";
  std::ofstream(path) << write_table(
      table_of({{kMasked, other, 1, 2}, {unknown, "grouped-1x1", 1, 2}, {older, other_stages, 1, 2}}));
  ::setenv("WARPWRIGHT_TUNED_GROUPED", path.c_str(), 1);
  const auto here = choose(problem, h200());
  ASSERT_TRUE(here);
  EXPECT_EQ(catalog::plan_name(here->instance), other);
  EXPECT_NE(here->reason.find("NVIDIA H200"), std::string::npos);
  for (const Chip& chip : {Chip{"NVIDIA H100", 132}, Chip{"NVIDIA H200", 100}}) {
    const auto there = choose(problem, chip);
    ASSERT_TRUE(there);
    EXPECT_NE(there->reason.find("model"), std::string::npos) << there->reason;
  }
  // A row that names what this build does not have leaves the choice to the model.
  const auto model = choose(problem_of(unknown), h200());
  ASSERT_TRUE(model);
  EXPECT_NE(model->reason.find("model"), std::string::npos) << model->reason;
  // The depth of a ring may have changed since.
  const auto renamed = choose(problem_of(older), h200());
  ASSERT_TRUE(renamed);
  EXPECT_EQ(catalog::plan_name(renamed->instance), other);
  GroupedProblem named = problem;
  named.plan = catalog::plan_name(modelled->instance);
  const auto asked = choose(named, h200());
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->instance, modelled->instance);
}

}  // namespace
}  // namespace warpwright::choice

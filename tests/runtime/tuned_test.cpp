// The tuned table: read as it was written, used on the device it was made on.
#include "choice/tuned.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace warpwright::choice {
namespace {

TEST(TunedTable, IsReadAsItWasWritten) {
  TunedTable table{{"NVIDIA H200", 132, "CUDA 13.0"}, {}};
  TunedRow row = row_of({128, 4096, 7168});
  row.plan = "dense-128x256-c2-s4";
  row.us = 12.5;
  row.model_us = 13.25;
  table.rows = {row};
  const auto read = read_table(write_table(table));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->device, table.device);
  EXPECT_EQ(read->multiprocessors, 132);
  EXPECT_EQ(read->toolkit, "CUDA 13.0");
  ASSERT_EQ(read->rows.size(), 1u);
  EXPECT_TRUE(describes(read->rows[0], {128, 4096, 7168}));
  EXPECT_FALSE(describes(read->rows[0], {128, 4096, 7169}));
  EXPECT_FALSE(describes(read->rows[0], {128, 4096, 7168, DType::fp16}));
  EXPECT_EQ(read->rows[0].plan, row.plan);
  EXPECT_DOUBLE_EQ(read->rows[0].us, 12.5);
}

TEST(TunedTable, RefusesWhatIsNoTable) {
  for (const char* text : {"", "hello\n", "# warpwright tuned table, format 1\nfoo\tbar\n"}) {
    EXPECT_FALSE(read_table(text)) << text;
  }
  TunedTable table{{"NVIDIA H200", 132, "CUDA 13.0"}, {}};
  EXPECT_FALSE(read_table(write_table(table) + "bf16\tbf16\n"));
  EXPECT_TRUE(read_table(write_table(table)));
}

// WARPWRIGHT_TUNED is read once, so this is the only test here that lets anything be chosen.
TEST(TunedTable, DecidesOnTheDeviceItWasMadeOnAndNowhereElse) {
  const GemmShape shape{4096, 4096, 4096};
  TunedTable table{{"NVIDIA H200", 132, "CUDA 13.0"}, {}};
  TunedRow row = row_of(shape);
  row.plan = "dense-64x64-c1-s4";
  table.rows = {row};
  const std::string path = testing::TempDir() + "ww_tuned_test.tsv";
  std::ofstream(path) << write_table(table);
  ::setenv("WARPWRIGHT_TUNED", path.c_str(), 1);
  const auto here = choose(shape, h200());
  ASSERT_TRUE(here);
  EXPECT_EQ(here->by, ChosenBy::table);
  EXPECT_EQ(catalog::plan_name(here->instance), row.plan);
  EXPECT_NE(here->reason.find("NVIDIA H200"), std::string::npos);
  for (const Chip& other : {Chip{"NVIDIA H100", 132}, Chip{"NVIDIA H200", 100}}) {
    const auto there = choose(shape, other);
    ASSERT_TRUE(there);
    EXPECT_EQ(there->by, ChosenBy::model) << other.name;
    EXPECT_NE(catalog::plan_name(there->instance), row.plan);
  }
  EXPECT_EQ(choose({4096, 4096, 4104}, h200())->by, ChosenBy::model);
}

}  // namespace
}  // namespace warpwright::choice

// Tiles, waves and floors of grouped products, and the tables they are measured on.
#include "choice/grouped_facts.h"

#include <gtest/gtest.h>

#include "choice/tuned_grouped.h"

namespace warpwright::choice {
namespace {

TEST(GroupedFacts, TilesDoNotSpanGroups) {
  // Three groups of 130 rows: two tiles of 128 rows each, however few rows the second has.
  const GroupedWaves w = waves_of(3, 130, 256, 128, 128, 4);
  EXPECT_EQ(w.tiles, 3 * 2 * 2);
  EXPECT_EQ(w.waves, 3);
  EXPECT_DOUBLE_EQ(w.fill, 1);
  EXPECT_EQ(waves_of(0, 130, 256, 128, 128, 4).waves, 0);
}

TEST(GroupedFacts, EveryKernelHasItsPlanAndItsTile) {
  for (const GroupedShape& shape : {GroupedShape{Groups::none, DType::e4m3, DType::bf16, 1, 8, 4096, 7168},
                                    GroupedShape{Groups::none, DType::e4m3, DType::bf16, 1, 4096, 4096, 7168},
                                    GroupedShape{Groups::contiguous, DType::bf16, DType::bf16, 4, 300, 4096, 7168},
                                    GroupedShape{Groups::masked, DType::e4m3, DType::bf16, 4, 300, 4096, 7168}}) {
    const GroupedProblem problem = problem_of(shape);
    const auto kernels = instances_for(problem);
    ASSERT_FALSE(kernels.empty()) << shape.text();
    for (const Instance& kernel : kernels) {
      const GroupedFacts facts = facts_of(kernel, problem, 132);
      EXPECT_TRUE(facts.plan.shared_memory_fits()) << catalog::plan_name(kernel);
      EXPECT_TRUE(facts.plan.arrivals_match_counts()) << catalog::plan_name(kernel);
      EXPECT_EQ(facts.tile_k * bits(shape.type), 1024) << catalog::plan_name(kernel);
      EXPECT_GE(facts.waves.tiles * facts.tile_m * facts.tile_n * facts.plan.cluster,
                shape.groups * shape.rows * shape.n)
          << catalog::plan_name(kernel);
      EXPECT_GT(facts.waves.fill, 0);
      EXPECT_LE(facts.waves.fill, 1);
    }
  }
}

// 300 rows: two rows of tiles, stacked, and less than half of one, which a cluster takes four tiles at a time.
TEST(GroupedFacts, PairsTakeTheLastRowsOfTilesBesideEachOther) {
  const GroupedProblem problem = problem_of({Groups::contiguous, DType::bf16, DType::bf16, 4, 300, 4096, 7168});
  int found = 0;
  for (const Instance& kernel : instances_for(problem)) {
    if (catalog::plan_name(kernel) != "grouped-128x256-c2-s4") continue;
    ++found;
    EXPECT_EQ(facts_of(kernel, problem, 132).waves.tiles, 4 * (16 + 4));
  }
  EXPECT_EQ(found, 1);
}

TEST(GroupedFacts, TheFloorMovesEveryOperandOnce) {
  GroupedWork w{1024, 4096, 2048, 8, 1, 4096, DType::e4m3, DType::e2m1, DType::bf16, 100};
  const Floor floor = floor_of(w, Arch::sm100);
  EXPECT_DOUBLE_EQ(floor.flops, 2.0 * 1024 * 4096 * 2048);
  EXPECT_DOUBLE_EQ(floor.bytes, 1024.0 * 2048 + 8 * 4096.0 * 2048 / 2 + 1024.0 * 4096 * 2 + 100);
  EXPECT_DOUBLE_EQ(floor.memory_us, floor.bytes / 8e6);
  w.a = DType::e2m1;
  EXPECT_DOUBLE_EQ(floor_of(w, Arch::sm100).tensor_us, floor.tensor_us / 2);
}

}  // namespace
}  // namespace warpwright::choice

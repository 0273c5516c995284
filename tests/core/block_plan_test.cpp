// The block plan: layout, look-ups, and each rule that check_block_plan turns into a static_assert.
#include "warpwright/core/block_plan.h"

#include <gtest/gtest.h>

namespace warpwright {
namespace {

constexpr BlockPlan base() {
  BlockPlan p("test", Arch::sm90);
  p.role("load", 1).role("compute", 4);
  p.region("tile", 1000, 3, 128);
  p.barrier("in.full", 3, 1, "compute", {"load", 1});
  p.barrier("in.empty", 3, 4, "load", {"compute", 4});
  return p;
}
constexpr BlockPlan kPlan = base();

TEST(BlockPlan, LaysRegionsAndBarriersOutInOrder) {
  static_assert(kPlan.region("tile").offset == 0);
  static_assert(kPlan.region("tile").bytes() == 3000);
  static_assert(kPlan.barrier("in.full").offset == 3000);
  static_assert(kPlan.barrier("in.empty").offset == 3024);
  static_assert(kPlan.shared_bytes == 3048);
  static_assert(kPlan.role("compute").first_thread() == 32 && kPlan.role("compute").threads() == 128);
  static_assert(kPlan.threads() == 160);
  EXPECT_TRUE(kPlan.arrivals_match_counts() && kPlan.roles_are_known() && kPlan.names_are_unique() &&
              kPlan.shared_memory_fits() && kPlan.registers_fit());
}

TEST(BlockPlan, AlignsRegions) {
  BlockPlan p = base();
  p.region("aligned", 64, 1, 1024);
  EXPECT_EQ(p.regions[1].offset % 1024, 0u);
  EXPECT_GE(p.regions[1].offset, 3048u);
}

TEST(BlockPlan, SeesArrivalsThatDoNotSumToTheCount) {
  BlockPlan p = base();
  p.barrier("odd", 1, 5, "load", {"compute", 4});
  EXPECT_FALSE(p.arrivals_match_counts());
}

TEST(BlockPlan, SeesABarrierOfAnUnknownRole) {
  BlockPlan p = base();
  p.barrier("odd", 1, 1, "store", {"compute", 1});
  EXPECT_FALSE(p.roles_are_known());
  BlockPlan q = base();
  q.barrier("odd", 1, 1, "load", {"store", 1});
  EXPECT_FALSE(q.roles_are_known());
}

TEST(BlockPlan, SeesNamesUsedTwice) {
  BlockPlan p = base();
  p.barrier("in.full", 1, 1, "compute", {"load", 1});
  EXPECT_FALSE(p.names_are_unique());
  BlockPlan q = base();
  q.region("tile", 16, 1, 16);
  EXPECT_FALSE(q.names_are_unique());
}

TEST(BlockPlan, SeesWhatHasNoStage) {
  BlockPlan p = base();
  EXPECT_EQ(p.without_stages(), nullptr);
  p.region("none", 1024, 0, 128);
  EXPECT_STREQ(p.without_stages(), "none");
  BlockPlan q = base();
  q.barrier("nothing", 0, 1, "load", {"load", 1});
  EXPECT_STREQ(q.without_stages(), "nothing");
}

TEST(BlockPlan, SeesSharedMemoryThatDoesNotFit) {
  BlockPlan p = base();
  p.region("fits", kMaxSharedBytes - 4096, 1, 1024);
  EXPECT_TRUE(p.shared_memory_fits());
  p.region("too much", 2048, 1, 1024);
  EXPECT_FALSE(p.shared_memory_fits());
}

TEST(BlockPlan, SeesTensorMemoryThatDoesNotFit) {
  BlockPlan p = base();
  p.tensor_memory("a", 256).tensor_memory("b", 130);
  EXPECT_EQ(p.tmem_columns, 512u);
  EXPECT_EQ(p.tmem[1].column, 256u);
  EXPECT_TRUE(p.tensor_memory_fits());
  p.tensor_memory("c", 200);
  EXPECT_FALSE(p.tensor_memory_fits());
}

TEST(BlockPlan, GivesNamedBarriersDistinctIdsAndChecksTheirThreads) {
  BlockPlan p = base();
  p.named_barrier("one", 64).named_barrier("two", 160);
  EXPECT_NE(p.named[0].id, p.named[1].id);
  EXPECT_NE(p.named[0].id, 0);
  EXPECT_TRUE(p.named_barriers_are_legal());
  p.named_barrier("three", 192);
  EXPECT_FALSE(p.named_barriers_are_legal());
  BlockPlan q = base();
  q.named_barrier("four", 48);
  EXPECT_FALSE(q.named_barriers_are_legal());
}

TEST(BlockPlan, SeesRegistersBeyondTheFile) {
  BlockPlan p("registers", Arch::sm90);
  p.role("mma", 8, 232).role("load", 4, 40);
  EXPECT_EQ(p.launch_registers(), 168);
  EXPECT_TRUE(p.registers_fit());
  BlockPlan q("registers", Arch::sm90);
  q.role("mma", 8, 240).role("load", 4, 40);
  EXPECT_FALSE(q.registers_fit());
  // 65536 registers, but 168 * 384 at launch.
  BlockPlan r("registers", Arch::sm90);
  r.role("mma", 8, 224).role("load", 4, 64);
  EXPECT_FALSE(r.registers_fit());
}

}  // namespace
}  // namespace warpwright

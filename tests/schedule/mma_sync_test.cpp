// The schedules of the mma.sync GEMM: proven for every choice that a configuration can make, with the fewest barriers,
// and without a wait or barrier that could be left out.
#include <gtest/gtest.h>

#include <algorithm>

#include "warpwright/kernel/sm80/config.h"

namespace {
using namespace warpwright;
using schedule::EntryList;
using schedule::Pipeline;

void expect_proven(const MmaSyncSchedule& s) {
  const Pipeline p = mma_sync_pipeline(s);
  SCOPED_TRACE(testing::Message() << s.shape.m << "x" << s.shape.n << " pieces " << s.shape.pieces << " copies "
                                  << s.shape.copies_a << "," << s.shape.copies_b << " spread " << s.shape.spread
                                  << " latency " << s.shape.copy_latency << " depth " << s.depth << " unroll "
                                  << s.unroll);
  ASSERT_TRUE(p.ok()) << p.error.a.c_str() << " " << p.error.b.c_str();
  EXPECT_EQ(p.interval(), p.mii()) << "the tensor cores are never idle";
  for (int n = 0; n <= p.stages() + 2 * p.depths[0].depth + 2; ++n) {
    EXPECT_TRUE(schedule::verify(p, n).empty()) << n << " iterations";
  }
}

TEST(MmaSyncSchedule, is_proven_for_every_order_and_depth) {
  for (int pieces : {1, 2, 4})
    for (int latency : {600, 1200})
      for (bool spread : {false, true})
        for (int depth : {0, 3, 4, 6}) {
          expect_proven({{.pieces = pieces, .spread = spread, .copy_latency = latency}, depth, 1});
          expect_proven(
              {{.pieces = pieces, .copies_a = 1, .copies_b = 1, .spread = spread, .copy_latency = latency}, depth, 1});
        }
}

TEST(MmaSyncSchedule, is_proven_for_other_tiles_and_for_two_tiles_an_iteration) {
  schedule::MmaSyncShape tall{
      .m = 256, .n = 128, .warps_m = 4, .warps_n = 2, .pieces = 2, .copies_a = 4, .copies_b = 2};
  schedule::MmaSyncShape middle{
      .m = 128, .n = 128, .warps_m = 2, .warps_n = 2, .pieces = 2, .copies_b = 2, .blocks = 2};
  schedule::MmaSyncShape small{.m = 64, .n = 64, .warps_m = 2, .warps_n = 2, .pieces = 2, .copies_b = 2, .blocks = 4};
  tall.copy_latency = middle.copy_latency = 2400;
  small.copy_latency = 1200;
  for (const schedule::MmaSyncShape& s : {tall, middle, small}) {
    expect_proven({s, 0, 1});
    expect_proven({s, 4, 1});
  }
  expect_proven({{.copies_a = 1, .copies_b = 1, .spread = false}, 4, 2});
}

TEST(MmaSyncSchedule, of_the_default_has_one_barrier_for_arrival_and_reuse) {
  const Pipeline p = mma_sync_pipeline(MmaSyncGemmConfig{}.order());
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p.barriers(), 1);
  EXPECT_LE(p.registers.peak, 192);
}

// The copies of a tile are one group in every phase, wherever they stand, so that the loop's one wait leaves open all
// that it may: every tile that was copied ahead of the one that it needs.
TEST(MmaSyncSchedule, counts_the_copies_of_a_tile_as_one_group) {
  int checked = 0;
  for (const int depth : {3, 4, 5, 6})
    for (const int pieces : {1, 2, 4})
      for (const int parts : {1, 2}) {
        const schedule::MmaSyncShape s{
            .pieces = pieces, .copies_a = parts, .copies_b = 2 * parts, .copy_latency = 600 + 1024 * (depth - 3)};
        const Pipeline p = mma_sync_pipeline({s, depth, 1});
        SCOPED_TRACE(testing::Message() << "depth " << depth << " pieces " << pieces << " parts " << parts);
        ASSERT_TRUE(p.ok());
        const auto count = [](const EntryList& list, schedule::Tag tag) {
          return std::count_if(list.begin(), list.end(),
                               [&](const schedule::ScheduleEntry& e) { return e.op.tag == tag; });
        };
        const bool same_stage = p.order.stage[0] == p.order.stage[size_t(3 * parts - 1)];
        if (!same_stage) continue;  // the parts of a tile are copied in two turns of the loop
        ++checked;
        EXPECT_EQ(count(p.schedule.kernel, schedule::tags::commit_copy), 1);
        EXPECT_EQ(count(p.schedule.prologue, schedule::tags::commit_copy), p.stages() - 1);
      }
  EXPECT_GE(checked, 8);
}

// What the kernel's copies, fragments and multiplications are counted by.
TEST(MmaSyncSchedule, has_as_many_ops_for_a_tile_as_the_kernel_counts) {
  for (int pieces : {1, 2, 4}) {
    const schedule::MmaSyncShape s{.pieces = pieces};
    EXPECT_EQ(mma_sync_pipeline({s, 4, 1}).body.size(), schedule::mma_sync_ops(s));
  }
}

// A shorter interval than the tensor cores need, and a chip without cp.async, are refused.
TEST(MmaSyncSchedule, is_refused_where_it_cannot_run) {
  const schedule::MmaSyncShape s;
  EXPECT_EQ(schedule::mma_sync_ring(schedule::targets::gfx950, s).error.code, schedule::Code::unit_missing);
  EXPECT_EQ(mma_sync_pipeline({s, 7, 1}).error.code, schedule::Code::smem_capacity);
}

// Every wait and every barrier of every phase, left out, is a hazard that the validator names.
TEST(MmaSyncSchedule, has_no_wait_and_no_barrier_too_many) {
  for (const MmaSyncSchedule& s :
       {MmaSyncSchedule{}, MmaSyncSchedule{{.spread = false}, 4, 1}, MmaSyncSchedule{{.copy_latency = 600}, 0, 1}}) {
    const Pipeline whole = mma_sync_pipeline(s);
    ASSERT_TRUE(whole.ok());
    int mutants = 0;
    for (EntryList schedule::Schedule::*phase :
         {&schedule::Schedule::prologue, &schedule::Schedule::kernel, &schedule::Schedule::epilogue}) {
      for (size_t i = 0; i < (whole.schedule.*phase).size(); ++i) {
        const schedule::OpDesc op = (whole.schedule.*phase)[i].op;
        if (!op.is_wait() && !op.is_barrier()) continue;
        Pipeline p = whole;
        (p.schedule.*phase).erase(i);
        bool found = false;
        for (int n = p.stages() - 1; n <= p.stages() + 2 * p.depths[0].depth; ++n) {
          found = found || !schedule::verify(p, n).empty();
        }
        EXPECT_TRUE(found) << schedule::op_name(op).c_str() << " at " << i;
        ++mutants;
      }
    }
    EXPECT_GE(mutants, 6);
  }
}

}  // namespace

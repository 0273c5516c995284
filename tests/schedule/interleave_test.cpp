// The simulation of waves: it accepts what is proven, it reports on its own every wait and barrier that is weakened or
// left out, and what it reports names the op and the tiles.
#include "warpwright/schedule/interleave.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "warpwright/kernel/sm80/config.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;
using warpwright::MmaSyncGemmConfig;

struct Case {
  const char* name;
  Pipeline pipeline;
};

std::vector<Case> cases() {
  using targets::gfx942, targets::gfx950, targets::sm80;
  std::vector<Case> list = {
      {"default gfx942", compile(default_matmul(gfx942), gfx942)},
      {"default gfx950, 4 slices", compile(default_matmul(gfx950, 4), gfx950)},
      {"ping-pong gfx950", compile(ping_pong(gfx950), gfx950)},
      {"ping-pong gfx950, unrolled", compile(ping_pong(gfx950), gfx950, {.unroll = 2})},
      {"4-wave gfx950", compile(four_wave(gfx950), gfx950)},
      {"copy ring sm80", compile(copy_ring(sm80), sm80)},
      {"copy ring sm80, depth 1", compile(copy_ring(sm80), sm80, {.depth = 1})},
      {"kernel sm80", mma_sync_pipeline(MmaSyncGemmConfig{}.order())},
  };
  // The other orders of the kernel: what each of its choices makes of the waits.
  for (const int depth : {2, 3, 4}) {
    MmaSyncGemmConfig c;
    c.depth = depth;
    list.push_back({"kernel sm80, other depth", mma_sync_pipeline(c.order())});
    c.spread = false;
    list.push_back({"kernel sm80, not spread", mma_sync_pipeline(c.order())});
    c.copies_a = 2, c.copies_b = 4, c.pieces = 4, c.spread = true, c.copy_latency = 1200;
    list.push_back({"kernel sm80, many parts", mma_sync_pipeline(c.order())});
  }
  return list;
}

std::string text(const Diagnostics& d) { return d.empty() ? "clean" : to_text(d.front()); }

TEST(Waves, of_what_is_proven_find_their_tiles) {
  for (const Case& c : cases()) {
    ASSERT_TRUE(c.pipeline.ok()) << c.name << ": " << to_text(c.pipeline.error);
    for (int n = 0; n <= 2 * c.pipeline.stages() + 2; ++n) {
      EXPECT_EQ(text(simulate_waves(c.pipeline, n)), "clean") << c.name << ", " << n << " iterations";
    }
  }
}

// Each validator on its own.
void expect_both(const Pipeline& p, const std::string& what) {
  bool before = false, waves = false;
  for (int n = p.stages() - 1; n <= 2 * p.stages() + 4 && !(before && waves); ++n) {
    const PipelineModel model{p, n};
    const Trace trace = make_trace(p.schedule, p.shape, p.kernel_iterations(n));
    before =
        before || !find_hazards(trace, model, p.costs).empty() || !find_register_hazards(trace, model, p.costs).empty();
    const Diagnostics found = simulate_waves(p, n);
    waves = waves || !found.empty();
    for (const Diagnostic& d : found) {
      EXPECT_EQ(d.code, Code::stale_tile);
      EXPECT_FALSE(d.a.empty());
      EXPECT_NE(d.have, d.need);
    }
  }
  EXPECT_TRUE(before) << what << ": the happens-before validator says nothing";
  EXPECT_TRUE(waves) << what << ": the simulation of waves says nothing";
}

TEST(Waves, and_happens_before_both_report_every_wait_and_barrier_weakened_or_left_out) {
  int mutants = 0;
  for (const Case& c : cases()) {
    for (EntryList Schedule::*phase : {&Schedule::prologue, &Schedule::kernel, &Schedule::epilogue}) {
      const EntryList& list = c.pipeline.schedule.*phase;
      for (size_t i = 0; i < list.size(); ++i) {
        const OpDesc op = list[i].op;
        if (!op.is_wait() && !op.is_barrier()) continue;
        const std::string what = std::string(c.name) + ", " + word(list[i].phase) + " entry " + std::to_string(i) +
                                 " " + op_name(op).c_str();
        Pipeline without = c.pipeline;
        (without.schedule.*phase).erase(i);
        expect_both(without, what + " left out");
        ++mutants;
        if (!op.is_wait()) continue;
        Pipeline weaker = c.pipeline;
        ++(weaker.schedule.*phase)[i].op.wait_value;
        expect_both(weaker, what + " weakened");
        ++mutants;
      }
    }
  }
  EXPECT_GT(mutants, 150);
}

TEST(Waves, report_names_the_op_and_both_tiles) {
  Pipeline p = compile(copy_ring(targets::sm80), targets::sm80);
  p.schedule.kernel[0].op.wait_value = 2;
  const Diagnostics found = simulate_waves(p, 4);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(to_text(found.front()).find("STALE_TILE: FA0 (role 0), kernel, iteration 0: have -1, need 0"), 0u)
      << to_text(found.front());
  EXPECT_FALSE(simulate_waves(compile(copy_ring(targets::sm80), targets::sm80, {.depth = 11}), 3).empty());
}

}  // namespace

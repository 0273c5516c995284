// A pipeline of 24 ops is compiled and proven in constant evaluation, inside the compilers' default limits.
#include <gtest/gtest.h>

#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;

constexpr Pipeline four_wave_pair() {
  return compile(four_wave(targets::gfx950), targets::gfx950, {.depth = 4, .unroll = 2});
}
constexpr int four_wave_ops() { return four_wave_pair().body.size(); }
static_assert(four_wave_ops() == 24);
constexpr bool four_wave_is_optimal() { return four_wave_pair().placement.optimal(); }
static_assert(four_wave_is_optimal());

constexpr Pipeline ring() { return compile(copy_ring(targets::sm80), targets::sm80); }
constexpr Diagnostics ring_of(int iterations) { return verify(ring(), iterations); }
constexpr Diagnostics ring_short() { return ring_of(1); }
constexpr Diagnostics ring_long() { return ring_of(4); }
static_assert(require<ring_short>());
static_assert(require<ring_long>());

constexpr Schedule ring_schedule() { return ring().schedule; }
constexpr auto kRing = freeze<ring_schedule>();
static_assert(kRing.kernel.size() == 11 && kRing.kernel[0].op == OpDesc::wait_copy(1));
static_assert(kRing.kernel[2].source == 0 && kRing.kernel[2].shift == 2, "the copy is two tiles ahead");

constexpr Code infeasible() { return compile(copy_ring(targets::sm80), targets::sm80, {.interval = 511}).error.code; }
static_assert(infeasible() == Code::ii_infeasible);
constexpr Code too_deep() { return compile(copy_ring(targets::sm80), targets::sm80, {.depth = 11}).error.code; }
static_assert(too_deep() == Code::smem_capacity);

// What the compiler evaluated is what the program computes.
TEST(ConstantEvaluation, agrees_with_run_time) {
  const Schedule s = ring_schedule();
  ASSERT_EQ(s.kernel.size(), kRing.kernel.size());
  for (size_t i = 0; i < s.kernel.size(); ++i) EXPECT_EQ(s.kernel[i], kRing.kernel[i]);
  EXPECT_EQ(s.prologue.size(), kRing.prologue.size());
  EXPECT_EQ(s.epilogue.size(), kRing.epilogue.size());
}

}  // namespace

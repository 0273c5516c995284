// The predicted time of a launch is a function of its problem, not of where the host's heap has put the operands.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rules.h"

namespace warpwright::rules {
namespace {

constexpr int kCtas = 16, kWarps = 8, kThreads = 32 * kWarps;
constexpr uint32_t kPiece = 32, kStep = 512;

// Each thread loads a piece of A and one of B, and all CTAs load at once, so that the lines of device memory are what
// takes time. In host memory there are gaps before both.
uint64_t cycles(size_t gap_a, size_t gap_b) {
  constexpr size_t bytes = size_t(kCtas) * kThreads * kStep;
  std::vector<uint8_t> memory(2 * bytes + gap_a + gap_b + 512);
  uint8_t* const begin = memory.data() + (256 - reinterpret_cast<uintptr_t>(memory.data()) % 256);
  uint8_t *const a = begin + gap_a, *const b = a + bytes + gap_b;
  const BlockPlan plan = block(kWarps, Arch::sm90, 1, 1024 + 2 * kThreads * kPiece);
  simulator::Launch launch;
  launch.plan = &plan;
  launch.grid = {kCtas, 1, 1};
  launch.buffers = {{a, bytes, "A"}, {b, bytes, "B"}};
  Options options;
  options.landing = simulator::Landing::timed;
  const simulator::Result result = simulator::run(launch, options, [&] {
    init(1, 1);
    if (thread() == 0) m::mbarrier_arrive_expect_tx(bar(), 2 * kThreads * kPiece);
    m::sync_block();
    // The end of a line and the beginning of the next: where lines end decides whether that is one or two.
    const uint32_t from = (m::block_index().x * kThreads + thread()) * kStep + 256 - kPiece / 2, to = thread() * kPiece;
    m::bulk_load(data(to), Global<const uint8_t>{a + from}, kPiece, bar());
    m::bulk_load(data(to + kThreads * kPiece), Global<const uint8_t>{b + from}, kPiece, bar());
    wait();
  });
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.findings.front().message);
  return result.stats.predicted_cycles;
}

TEST(TimeOfLayout, IsThatOfTheProblemWhereverTheHeapHasPutIt) {
  const uint64_t aligned = cycles(0, 0);
  EXPECT_GT(aligned, 1000u);
  for (const size_t gap : {16, 64, 128, 208}) {
    EXPECT_EQ(cycles(gap, 0), aligned) << gap;
    EXPECT_EQ(cycles(0, gap), aligned) << gap;
    EXPECT_EQ(cycles(gap, 256 - gap), aligned) << gap;
  }
}

}  // namespace
}  // namespace warpwright::rules

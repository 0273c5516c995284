// The predicted time of loads from global memory by a thread: those that follow each other are in flight together.
#include <cstdint>
#include <functional>
#include <vector>

#include "rules.h"

namespace warpwright::rules {
namespace {

constexpr int kLoads = 8;
constexpr uint64_t kLatency = 600;  // ChipTiming::global_load of an H200

struct Memory {
  std::vector<uint32_t> words = std::vector<uint32_t>(64 * 1024);
  Global<const uint32_t> at(int64_t i) { return {words.data() + i}; }
};

uint64_t cycles(int warps, Memory& memory, const std::function<void()>& body) {
  const BlockPlan plan = block(warps);
  simulator::Launch launch;
  launch.plan = &plan;
  launch.grid = {1, 1, 1};
  launch.buffers = {{memory.words.data(), memory.words.size() * sizeof(uint32_t), "device"}};
  Options options;
  options.landing = simulator::Landing::timed;
  const simulator::Result result = simulator::run(launch, options, body);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.findings.front().message);
  return result.stats.predicted_cycles;
}

TEST(TimeOfLoads, ARowOfLoadsTakesOneLatency) {
  Memory memory;
  const auto row = [&](int loads) {
    return cycles(1, memory, [&memory, loads] {
      uint32_t sum = 0;
      for (int i = 0; i < loads; ++i) sum += m::load(memory.at(64 * i));
      m::store(word(int(thread())), sum);
    });
  };
  EXPECT_LT(row(kLoads), row(1) + kLatency / 2);
  EXPECT_GT(row(1), row(0) + kLatency - 1);
}

TEST(TimeOfLoads, AWordBetweenThemWaits) {
  Memory memory;
  const auto used_at_once = [&](int loads) {
    return cycles(1, memory, [&memory, loads] {
      for (int i = 0; i < loads; ++i) m::store(word(int(thread())), m::load(memory.at(64 * i)));
    });
  };
  EXPECT_GT(used_at_once(kLoads), used_at_once(1) + (kLoads - 1) * kLatency);
}

// Every lane and warp asks at the same time, whatever the order in which the simulator runs them.
TEST(TimeOfLoads, LanesDoNotWaitForEachOther) {
  Memory memory;
  const auto lanes = [&](int warps) {
    return cycles(warps, memory, [&memory] {
      for (int i = 0; i < kLoads; ++i) {
        const uint32_t value = m::load(memory.at(int64_t(thread()) * 256 + 64 * (i % 4)));
        m::store(word(int(thread())), value);
      }
    });
  };
  EXPECT_LT(lanes(8), lanes(1) + kLatency);
  EXPECT_LT(lanes(1), 2 * kLoads * kLatency);
}

}  // namespace
}  // namespace warpwright::rules

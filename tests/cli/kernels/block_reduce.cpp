// sums[row] = the sum of a row. Two groups of four warps take rows in turn, each with a named barrier of its own.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kGroups = 2, kGroupWarps = 4, kGroupThreads = kGroupWarps * 32;

constexpr BlockPlan make_plan() {
  BlockPlan plan("block_reduce", Arch::sm90);
  plan.role("first", kGroupWarps).role("second", kGroupWarps);
  plan.region("partial", kGroups * 2 * kGroupWarps * sizeof(float), 1, 16);
  plan.named_barrier("first.done", kGroupThreads).named_barrier("second.done", kGroupThreads);
  return plan;
}

struct BlockReduce {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> sums;
    int rows, columns;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<BlockReduce>();
    constexpr uint32_t first_id = plan.named_barrier("first.done").id, second_id = plan.named_barrier("second.done").id;
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_index()), lane = int(machine::lane_index());
    const int group = warp / kGroupWarps, thread = int(machine::thread_index()) % kGroupThreads;
    const Shared<float> slots = Shared<float>{base + plan.region("partial").offset} + group * 2 * kGroupWarps;
    const int stride = int(machine::grid_size().x) * kGroups;
    int turn = 0;
    for (int row = int(machine::block_index().x) * kGroups + group; row < args.rows; row += stride) {
      float sum = 0;
      for (int c = thread; c < args.columns; c += kGroupThreads)
        sum += machine::load(args.x + (int64_t(row) * args.columns + c));
      for (uint32_t distance = 16; distance > 0; distance /= 2) sum += machine::shuffle_xor(sum, distance);
      // The slots of the last row may still be read, so rows alternate between two sets of them.
      const Shared<float> mine = slots + turn * kGroupWarps;
      if (lane == 0) machine::store(mine + warp % kGroupWarps, sum);
      machine::named_barrier_sync(group == 0 ? first_id : second_id, kGroupThreads);
      if (thread == 0) {
        float all = 0;
        for (int w = 0; w < kGroupWarps; ++w) all += machine::load(mine + w);
        machine::store(args.sums + row, all);
      }
      turn ^= 1;
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, BlockReduce::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * shape.n);
  std::vector<float> expected(size_t(shape.m));
  for (size_t i = 0; i < x.values.size(); ++i) expected[i / size_t(shape.n)] += x.values[i];
  args.x = x.data;
  args.sums = arrays.output<float>("sums", expected);
  args.rows = int(shape.m);
  args.columns = int(shape.n);
  return 2;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<BlockReduce>("block_reduce", {{.m = 17, .n = 300}, {.m = 1, .n = 3}, {.m = 8, .n = 128}}, arrange);
}

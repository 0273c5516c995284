// Column sums of a tall matrix: the CTAs of a cluster add up rows of their own, then each finishes a quarter of the
// columns from the partial sums in everybody's shared memory.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kCluster = 4, kColumns = 128;

constexpr BlockPlan make_plan() {
  BlockPlan plan("exchange", Arch::sm90, kCluster);
  plan.role("adders", kColumns / 32);
  plan.region("partial", kColumns * sizeof(float), 1, 16);
  return plan;
}

struct Exchange {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> sums;
    int rows;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<Exchange>();
    const Shared<float> partial{machine::shared_base() + plan.region("partial").offset};
    const int column = int(machine::thread_index()), rank = int(machine::cluster_rank());
    float sum = 0;
    for (int r = rank; r < args.rows; r += kCluster) sum += machine::load(args.x + (int64_t(r) * kColumns + column));
    machine::store(partial + column, sum);
    machine::cluster_sync();
    if (column < kColumns / kCluster) {
      const int mine = rank * (kColumns / kCluster) + column;
      float all = 0;
      for (uint32_t other = 0; other < kCluster; ++other)
        all += machine::load(machine::map_to_rank(partial + mine, other));
      machine::store(args.sums + mine, all);
    }
    // Nobody leaves while a peer still reads here.
    machine::cluster_sync();
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, Exchange::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * kColumns);
  std::vector<float> expected(kColumns);
  for (size_t i = 0; i < x.values.size(); ++i) expected[i % kColumns] += x.values[i];
  args.x = x.data;
  args.sums = arrays.output<float>("sums", expected);
  args.rows = int(shape.m);
  return kCluster;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<Exchange>("exchange", {{.m = 50}, {.m = 1}, {.m = 8}}, arrange);
}

// counts[bin] = how often a value occurs: counted in shared memory by atomics, then added to device memory.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kBins = 8, kWarps = 4;

constexpr BlockPlan make_plan() {
  BlockPlan plan("histogram", Arch::sm90);
  plan.role("counters", kWarps);
  plan.region("bins", kBins * sizeof(uint32_t), 1, 16);
  return plan;
}

struct Histogram {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<uint32_t> counts;
    int count;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<Histogram>();
    const Shared<uint32_t> bins{machine::shared_base() + plan.region("bins").offset};
    const int thread = int(machine::thread_index()), threads = int(machine::block_threads());
    if (thread < kBins) machine::store(bins + thread, 0u);
    machine::sync_block();
    const int stride = int(machine::grid_size().x) * threads;
    for (int i = int(machine::block_index().x) * threads + thread; i < args.count; i += stride) {
      const int bin = int(machine::load(args.x + i)) + 3;
      machine::atomic_add(bins + bin, 1u);
    }
    machine::sync_block();
    if (thread < kBins) machine::reduce_add(args.counts + thread, machine::load(bins + thread));
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, Histogram::Args& args) {
  const auto x = arrays.input<float>("x", shape.m);
  std::vector<uint32_t> expected(kBins);
  for (const float v : x.values) ++expected[size_t(int(v) + 3)];
  args.x = x.data;
  args.counts = arrays.in_out<uint32_t>("counts", std::vector<uint32_t>(kBins), expected);
  args.count = int(shape.m);
  return 3;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<Histogram>("histogram", {{.m = 1000}, {.m = 5}, {.m = 384}}, arrange);
}

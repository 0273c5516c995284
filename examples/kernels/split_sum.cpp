// sums[column] of a tall matrix, split between CTAs: each leaves its partial sums in device memory and counts itself
// in; the one that comes last adds them up and sets the counter back for the next launch.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kColumns = 64, kSplits = 4;

constexpr BlockPlan make_plan() {
  BlockPlan plan("split_sum", Arch::sm90);
  plan.role("adders", kColumns / 32);
  plan.region("last", sizeof(uint32_t), 1, 16);
  return plan;
}

struct SplitSum {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> partial, sums;
    Global<uint32_t> arrived;
    int rows;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<SplitSum>();
    const Shared<uint32_t> last{machine::shared_base() + plan.region("last").offset};
    const int column = int(machine::thread_index()), split = int(machine::block_index().x);
    float sum = 0;
    for (int r = split; r < args.rows; r += kSplits) sum += machine::load(args.x + (int64_t(r) * kColumns + column));
    machine::store(args.partial + (split * kColumns + column), sum);
    machine::sync_block();
    if (column == 0) {
      // A fence orders for the counter only in the thread that adds to it, which speaks for the others.
      machine::fence();
      const uint32_t before = machine::atomic_add(args.arrived, 1u);
      machine::fence();
      machine::store(last, before);
    }
    machine::sync_block();
    if (machine::load(last) != kSplits - 1) return;
    float all = 0;
    for (int s = 0; s < kSplits; ++s) all += machine::load(args.partial + (s * kColumns + column));
    machine::store(args.sums + column, all);
    if (column == 0) machine::store(args.arrived, 0u);
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, SplitSum::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * kColumns);
  std::vector<float> expected(kColumns);
  for (size_t i = 0; i < x.values.size(); ++i) expected[i % kColumns] += x.values[i];
  args.x = x.data;
  args.partial = arrays.workspace<float>("partial", kSplits * kColumns);
  args.sums = arrays.output<float>("sums", expected);
  args.arrived = arrays.in_out<uint32_t>("arrived", {0}, {0});
  args.rows = int(shape.m);
  return kSplits;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<SplitSum>("split_sum", {{.m = 50}, {.m = 1}, {.m = 8}}, arrange);
}

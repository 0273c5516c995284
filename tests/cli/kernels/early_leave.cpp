// y = x backwards, by one CTA of 128 threads, of which those without an element leave ahead of the barrier: it waits
// for the threads that are left.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kWarps = 4;

constexpr BlockPlan make_plan() {
  BlockPlan plan("early_leave", Arch::sm90);
  plan.role("all", kWarps);
  plan.region("x", kWarps * 32 * sizeof(float), 1, 16);
  return plan;
}

struct EarlyLeave {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> y;
    int count;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<EarlyLeave>();
    const Shared<float> s{machine::shared_base() + plan.region("x").offset};
    const int t = int(machine::thread_index());
    if (t >= args.count) return;
    machine::store(s + t, machine::load(args.x + t));
    machine::sync_block();
    machine::store(args.y + t, machine::load(s + (args.count - 1 - t)));
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, EarlyLeave::Args& args) {
  const auto x = arrays.input<float>("x", shape.m);
  args.x = x.data;
  args.y = arrays.output<float>("y", std::vector<float>(x.values.rbegin(), x.values.rend()));
  args.count = int(shape.m);
  return 1;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<EarlyLeave>("early_leave", {{.m = 128}, {.m = 40}, {.m = 64}, {.m = 1}}, arrange);
}

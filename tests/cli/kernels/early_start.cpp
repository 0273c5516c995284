// y = x + bias in a launch that may begin before the kernel ahead of it has ended: what that one writes is touched
// after griddepcontrol.wait only.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kThreads = 128;

constexpr BlockPlan make_plan() {
  BlockPlan plan("early_start", Arch::sm90);
  plan.role("adders", kThreads / 32);
  plan.region("bias", kThreads * sizeof(float), 1, 16);
  return plan;
}

struct EarlyStart {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x, bias;
    Global<float> y;
    int rows, columns;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<EarlyStart>();
    const Shared<float> bias{machine::shared_base() + plan.region("bias").offset};
    const int column = int(machine::thread_index());
    machine::store(bias + column, 0.f);
    machine::grid_dependency_launch();
    machine::grid_dependency_wait();
    if (column < args.columns) machine::store(bias + column, machine::load(args.bias + column));
    for (int row = int(machine::block_index().x); row < args.rows; row += int(machine::grid_size().x)) {
      const int64_t at = int64_t(row) * args.columns + column;
      if (column < args.columns) machine::store(args.y + at, machine::load(args.x + at) + machine::load(bias + column));
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, EarlyStart::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * shape.n), bias = arrays.input<float>("bias", shape.n);
  std::vector<float> expected;
  for (size_t i = 0; i < x.values.size(); ++i) expected.push_back(x.values[i] + bias.values[i % size_t(shape.n)]);
  args.x = x.data;
  args.bias = bias.data;
  args.y = arrays.output<float>("y", expected, {.columns = shape.n});
  arrays.of_kernel_ahead(x.data);
  arrays.of_kernel_ahead(bias.data);
  args.rows = int(shape.m);
  args.columns = int(shape.n);
  return 2;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<EarlyStart>("early_start", {{.m = 5, .n = 128}, {.m = 1, .n = 7}}, arrange);
}

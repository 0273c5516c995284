// y = a * x + y0 in vectors of four, the tail one by one.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kThreads = 128;
using Vector = Vec<float, 4>;

constexpr BlockPlan make_plan() {
  BlockPlan plan("axpy", Arch::sm80);
  plan.role("all", kThreads / 32);
  return plan;
}

struct Axpy {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x, y0;
    Global<float> y;
    float a;
    int64_t count;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<Axpy>();
    const int64_t thread = int64_t(machine::block_index().x) * kThreads + machine::thread_index();
    const int64_t threads = int64_t(machine::grid_size().x) * kThreads, vectors = args.count / 4;
    for (int64_t v = thread; v < vectors; v += threads) {
      const Vector x = machine::load((args.x + 4 * v).as<const Vector>());
      Vector y = machine::load((args.y0 + 4 * v).as<const Vector>());
      for (int e = 0; e < 4; ++e) y[e] += args.a * x[e];
      machine::store((args.y + 4 * v).as<Vector>(), y);
    }
    for (int64_t i = 4 * vectors + thread; i < args.count; i += threads)
      machine::store(args.y + i, args.a * machine::load(args.x + i) + machine::load(args.y0 + i));
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, Axpy::Args& args) {
  const auto x = arrays.input<float>("x", shape.m), y0 = arrays.input<float>("y0", shape.m);
  std::vector<float> expected;
  for (size_t i = 0; i < x.values.size(); ++i) expected.push_back(2 * x.values[i] + y0.values[i]);
  args.x = x.data;
  args.y0 = y0.data;
  args.y = arrays.output<float>("y", expected);
  args.a = 2;
  args.count = shape.m;
  return 2;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<Axpy>("axpy", {{.m = 3001}, {.m = 2}, {.m = 1024}}, arrange);
}

// y[row] = softmax(x[row]): a warp has a row, lanes share its columns and meet by shuffles.
#include <cmath>
#include <vector>

#include "warpwright/check.h"
#include "warpwright/epilogue/math.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kWarps = 4;

constexpr BlockPlan make_plan() {
  BlockPlan plan("softmax", Arch::sm90);
  plan.role("rows", kWarps);
  return plan;
}

struct Softmax {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> y;
    int rows, columns;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<Softmax>();
    const int row = int(machine::block_index().x) * kWarps + int(machine::warp_index());
    if (row >= args.rows) return;
    const int lane = int(machine::lane_index());
    const Global<const float> x = args.x + int64_t(row) * args.columns;
    const Global<float> y = args.y + int64_t(row) * args.columns;
    float most = -epilogue::math::kInfinity;
    for (int c = lane; c < args.columns; c += 32) most = epilogue::math::max(most, machine::load(x + c));
    for (uint32_t distance = 16; distance > 0; distance /= 2)
      most = epilogue::math::max(most, machine::shuffle_xor(most, distance));
    float sum = 0;
    for (int c = lane; c < args.columns; c += 32)
      sum = epilogue::math::add(sum, epilogue::math::exp(epilogue::math::subtract(machine::load(x + c), most)));
    for (uint32_t distance = 16; distance > 0; distance /= 2)
      sum = epilogue::math::add(sum, machine::shuffle_xor(sum, distance));
    for (int c = lane; c < args.columns; c += 32) {
      const float e = epilogue::math::exp(epilogue::math::subtract(machine::load(x + c), most));
      machine::store(y + c, epilogue::math::divide(e, sum));
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, Softmax::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * shape.n);
  std::vector<float> expected;
  for (int64_t r = 0; r < shape.m; ++r) {
    const float* row = x.values.data() + r * shape.n;
    double sum = 0;
    for (int64_t c = 0; c < shape.n; ++c) sum += std::exp(double(row[c]));
    for (int64_t c = 0; c < shape.n; ++c) expected.push_back(float(std::exp(double(row[c])) / sum));
  }
  args.x = x.data;
  args.y = arrays.output<float>("y", expected, {.columns = shape.n}, {.relative = 1e-6});
  args.rows = int(shape.m);
  args.columns = int(shape.n);
  return int((shape.m + kWarps - 1) / kWarps);
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<Softmax>("softmax", {{.m = 9, .n = 100}, {.m = 1, .n = 5}, {.m = 4, .n = 64}}, arrange);
}

// The kernel that a newcomer writes in tests/docs/first_hour.py: maxima[row] = the largest element of a row of x. One
// warp loads boxes of 64 rows and 32 columns, two warps own 32 rows each.
#include <algorithm>
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"

using namespace warpwright;

constexpr int kRows = 64, kColumns = 32, kStages = 3, kMathWarps = 2;
constexpr TensorBox kBox{DType::fp32, kColumns, kRows, Swizzle::none};

constexpr BlockPlan make_block_plan() {
  BlockPlan plan("row_maxima", Arch::sm90);
  plan.role("math", kMathWarps).role("load", 1);
  plan.region("x", kBox.bytes(), kStages, 128);
  plan.barrier("x.full", kStages, 1, "math", {"load", 1});
  plan.barrier("x.empty", kStages, kMathWarps, "load", {"math", kMathWarps});
  return plan;
}

struct RowMaxima {
  static constexpr BlockPlan plan = make_block_plan();
  struct Args {
    TensorMap x;
    Global<float> maxima;
    int rows, columns;
  };

  WW_FN static Shared<float> stage_at(uint32_t base, int stage) {
    return {base + plan.region("x").offset + kBox.bytes() * uint32_t(stage)};
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<RowMaxima>();
    const uint32_t base = machine::shared_base();
    constexpr uint32_t full = plan.barrier("x.full").offset, empty = plan.barrier("x.empty").offset;
    const auto ring = pipeline::ring_at<kStages>(base, full, empty);
    const int first_row = int(machine::block_index().x) * kRows, steps = (args.columns + kColumns - 1) / kColumns;
    pipeline::set_up_barriers<RowMaxima>(base);
    if (int(machine::warp_uniform(machine::warp_index())) == plan.role("load").first_warp) {
      if (!machine::elect_one()) return;
      pipeline::Producer<kStages, pipeline::PublishByTma> boxes(ring);
      for (int i = 0; i < steps; ++i) {
        boxes.produce([&](auto stage) {
          stage->expect_bytes(kBox.bytes());
          machine::tma_load(stage_at(base, stage->index()), &args.x, machine::Coords{i * kColumns, first_row},
                            stage->full());
          return stdx::move(stage).release();
        });
      }
      return;
    }
    pipeline::Consumer<kStages, pipeline::ReleaseByWarp<pipeline::Readers::threads>> boxes(ring);
    const int row = int(machine::thread_index());
    float largest = -1e30f;
    for (int i = 0; i < steps; ++i) {
      boxes.consume([&](auto stage) {
        for (int c = 0; c < kColumns; ++c) {
          const int column = (c + row) % kColumns;
          const float x = machine::load(stage_at(base, stage->index()) + (row * kColumns + column));
          if (i * kColumns + column < args.columns && x > largest) largest = x;
        }
        return stdx::move(stage).release();
      });
    }
    if (first_row + row < args.rows) machine::store(args.maxima + (first_row + row), largest);
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, RowMaxima::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * shape.n);
  std::vector<float> expected;
  for (int64_t row = 0; row < shape.m; ++row) {
    const auto begin = x.values.begin() + row * shape.n;
    expected.push_back(*std::max_element(begin, begin + shape.n));
  }
  args.maxima = arrays.output<float>("maxima", expected);
  args.rows = int(shape.m);
  args.columns = int(shape.n);
  arrays.map(args.x, kBox, x.data, shape.m, shape.n);
  return (args.rows + kRows - 1) / kRows;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<RowMaxima>("row_maxima", {{.m = 150, .n = 400}, {.m = 1, .n = 4}, {.m = 64, .n = 36}}, arrange);
}

// y = 2 * x: one warp of a producer warpgroup loads boxes by TMA, two consumer warpgroups have half of the rows of each
// and store by themselves. The producer gives its registers to the consumers.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"

using namespace warpwright;

constexpr int kRows = 64, kColumns = 32, kStages = 2, kConsumers = 8;
constexpr TensorBox kBox{DType::fp32, kColumns, kRows, Swizzle::none};

constexpr BlockPlan make_plan() {
  BlockPlan plan("two_groups", Arch::sm90);
  plan.role("consumer", kConsumers, 232).role("producer", 4, 40);
  plan.region("x", kBox.bytes(), kStages, 128);
  plan.barrier("x.full", kStages, 1, "consumer", {"producer", 1});
  plan.barrier("x.empty", kStages, kConsumers, "producer", {"consumer", kConsumers});
  return plan;
}

struct TwoGroups {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    TensorMap x;
    Global<float> y;
    int rows, columns;
  };
  using Ring = pipeline::Ring<kStages>;

  WW_FN static Shared<float> stage_at(uint32_t base, int stage) {
    return {base + plan.region("x").offset + kBox.bytes() * uint32_t(stage)};
  }
  WW_FN static int across(const Args& args) { return (args.columns + kColumns - 1) / kColumns; }
  WW_FN static int tiles(const Args& args) { return (args.rows + kRows - 1) / kRows * across(args); }

  WW_FN static void produce(const Args& args, uint32_t base, Ring ring) {
    pipeline::Producer<kStages, pipeline::PublishByTma> boxes(ring);
    for (int t = int(machine::block_index().x); t < tiles(args); t += int(machine::grid_size().x)) {
      boxes.produce([&](auto stage) {
        stage->expect_bytes(kBox.bytes());
        machine::tma_load(stage_at(base, stage->index()), &args.x,
                          machine::Coords{t % across(args) * kColumns, t / across(args) * kRows}, stage->full());
        return stdx::move(stage).release();
      });
    }
  }

  WW_FN static void consume(const Args& args, uint32_t base, Ring ring) {
    pipeline::Consumer<kStages, pipeline::ReleaseByWarp<pipeline::Readers::threads>> boxes(ring);
    const int warp = int(machine::warp_index()), lane = int(machine::lane_index());
    for (int t = int(machine::block_index().x); t < tiles(args); t += int(machine::grid_size().x)) {
      boxes.consume([&](auto stage) {
        const int column = t % across(args) * kColumns + lane;
        for (int r = warp; r < kRows; r += kConsumers) {
          const float x = machine::load(stage_at(base, stage->index()) + (r * kColumns + lane));
          const int row = t / across(args) * kRows + r;
          if (row < args.rows && column < args.columns)
            machine::store(args.y + (int64_t(row) * args.columns + column), 2 * x);
        }
        return stdx::move(stage).release();
      });
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<TwoGroups>();
    const uint32_t base = machine::shared_base();
    constexpr uint32_t full = plan.barrier("x.full").offset, empty = plan.barrier("x.empty").offset;
    const Ring ring = pipeline::ring_at<kStages>(base, full, empty);
    pipeline::set_up_barriers<TwoGroups>(base);
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    if (warp >= plan.role("producer").first_warp) {
      machine::registers_decrease<plan.role("producer").registers>();
      if (warp == plan.role("producer").first_warp && machine::elect_one()) produce(args, base, ring);
    } else {
      machine::registers_increase<plan.role("consumer").registers>();
      consume(args, base, ring);
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, TwoGroups::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * shape.n);
  std::vector<float> expected;
  for (const float v : x.values) expected.push_back(2 * v);
  args.y = arrays.output<float>("y", expected, {.columns = shape.n, .tile_rows = kRows, .tile_columns = kColumns});
  args.rows = int(shape.m);
  args.columns = int(shape.n);
  arrays.map(args.x, kBox, x.data, shape.m, shape.n);
  return 2;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<TwoGroups>("two_groups", {{.m = 200, .n = 96}, {.m = 3, .n = 4}, {.m = 64, .n = 68}}, arrange);
}

// y = x transposed, through a tile in shared memory whose columns are swizzled so that neighbours meet different banks.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kTile = 32, kWarps = 8;

constexpr BlockPlan make_plan() {
  BlockPlan plan("transpose", Arch::sm90);
  plan.role("mover", kWarps);
  plan.region("tile", kTile * kTile * sizeof(float), 1, 16);
  return plan;
}

struct Transpose {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> y;
    int rows, columns;
  };

  WW_FN static Shared<float> cell(uint32_t base, int row, int column) {
    return Shared<float>{base + plan.region("tile").offset} + (row * kTile + (column ^ row));
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<Transpose>();
    const uint32_t base = machine::shared_base();
    const int across = (args.columns + kTile - 1) / kTile;
    const int tile = int(machine::block_index().x);
    const int row0 = tile / across * kTile, column0 = tile % across * kTile;
    const int lane = int(machine::lane_index()), warp = int(machine::warp_index());
    for (int r = warp; r < kTile; r += kWarps) {
      if (row0 + r < args.rows && column0 + lane < args.columns) {
        const int64_t at = int64_t(row0 + r) * args.columns + column0 + lane;
        machine::store(cell(base, r, lane), machine::load(args.x + at));
      }
    }
    machine::sync_block();
    for (int c = warp; c < kTile; c += kWarps) {
      if (column0 + c < args.columns && row0 + lane < args.rows) {
        const int64_t at = int64_t(column0 + c) * args.rows + row0 + lane;
        machine::store(args.y + at, machine::load(cell(base, lane, c)));
      }
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, Transpose::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * shape.n);
  std::vector<float> expected(x.values.size());
  for (int64_t r = 0; r < shape.m; ++r)
    for (int64_t c = 0; c < shape.n; ++c) expected[size_t(c * shape.m + r)] = x.values[size_t(r * shape.n + c)];
  args.x = x.data;
  args.y = arrays.output<float>("y", expected, {.columns = shape.m, .tile_rows = kTile, .tile_columns = kTile});
  args.rows = int(shape.m);
  args.columns = int(shape.n);
  return int((shape.m + kTile - 1) / kTile * ((shape.n + kTile - 1) / kTile));
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<Transpose>("transpose", {{.m = 64, .n = 96}, {.m = 50, .n = 33}, {.m = 1, .n = 7}}, arrange);
}

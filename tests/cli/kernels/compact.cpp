// The positive values of each row in their order, and how many there are: a CTA a row, a CTA beyond the rows leaves at
// once. Lanes count by ballot; some lanes work alone between two meetings.
#include <bit>
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kWarps = 4, kColumns = kWarps * 32;

constexpr BlockPlan make_plan() {
  BlockPlan plan("compact", Arch::sm90);
  plan.role("lanes", kWarps);
  plan.region("counts", kWarps * sizeof(int), 1, 16);
  return plan;
}

struct Compact {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> kept;
    Global<int> counts;
    int rows;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<Compact>();
    const int row = int(machine::block_index().x);
    if (row >= args.rows) return;
    const Shared<int> counts{machine::shared_base() + plan.region("counts").offset};
    const int warp = int(machine::warp_index()), lane = int(machine::lane_index());
    const int thread = int(machine::thread_index());
    const float x = machine::load(args.x + (int64_t(row) * kColumns + thread));
    const uint32_t positive = machine::ballot(x > 0);
    int place = std::popcount(positive & ((1u << lane) - 1));
    if (lane == 0) machine::store(counts + warp, std::popcount(positive));
    machine::sync_block();
    int all = 0;
    for (int w = 0; w < kWarps; ++w) {
      const int count = machine::load(counts + w);
      if (w < warp) place += count;
      all += count;
    }
    // Lanes without a value fill the end of the row with zeros.
    if (x > 0) {
      machine::store(args.kept + (int64_t(row) * kColumns + place), x);
    } else {
      const int before = warp * 32 + lane - place;
      machine::store(args.kept + (int64_t(row) * kColumns + all + before), 0.f);
    }
    machine::sync_warp();
    if (machine::elect_one() && warp == 0) machine::store(args.counts + row, all);
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, Compact::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * kColumns);
  std::vector<float> kept(x.values.size());
  std::vector<int> counts(size_t(shape.m));
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t row = i / kColumns;
    if (x.values[i] > 0) kept[row * kColumns + size_t(counts[row]++)] = x.values[i];
  }
  args.x = x.data;
  args.kept = arrays.output<float>("kept", kept, {.columns = kColumns});
  args.counts = arrays.output<int>("counts", counts);
  args.rows = int(shape.m);
  return int(shape.m) + 2;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<Compact>("compact", {{.m = 5}, {.m = 1}}, arrange);
}

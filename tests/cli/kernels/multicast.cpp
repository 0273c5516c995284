// A cluster of two: each CTA adds the rows of its own half of x to the rows of one shared matrix w. Each loads half of
// a box of w and multicasts it, so that w is read once a cluster. The ring's barriers are used by hand.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"

using namespace warpwright;

constexpr int kCluster = 2, kRows = 16, kColumns = 32, kStages = 2, kWarps = 4;
constexpr int kShare = kRows / kCluster;
constexpr TensorBox kShareBox{DType::fp32, kColumns, kShare, Swizzle::none};
constexpr uint32_t kStageBytes = kShareBox.bytes() * kCluster;

constexpr BlockPlan make_plan() {
  BlockPlan plan("multicast", Arch::sm90, kCluster);
  plan.role("math", kWarps).role("load", 1);
  plan.region("w", kStageBytes, kStages, 128);
  plan.barrier("w.full", kStages, 1, "math", {"load", 1});
  plan.barrier("w.empty", kStages, kWarps * kCluster, "load", {"math", kWarps * kCluster});
  return plan;
}

struct Multicast {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    TensorMap w;
    Global<const float> x;
    Global<float> y;
    int rows, columns;
  };
  WW_FN static Shared<float> stage_at(uint32_t base, int stage) {
    return {base + plan.region("w").offset + kStageBytes * uint32_t(stage)};
  }
  WW_FN static int steps(const Args& args) { return (args.rows + kRows - 1) / kRows; }

  WW_FN static void load(const Args& args, uint32_t base, Shared<Mbarrier> full, Shared<Mbarrier> empty) {
    const uint32_t rank = machine::cluster_rank();
    machine::Phase phase = machine::Phase::producer();
    for (int i = 0; i < steps(args); ++i) {
      const int stage = i % kStages;
      machine::mbarrier_wait<Scope::cluster>(empty + stage, phase);
      machine::mbarrier_arrive_expect_tx(full + stage, kStageBytes);
      machine::tma_load_multicast(stage_at(base, stage).plus_bytes(kShareBox.bytes() * rank), &args.w,
                                  machine::Coords{0, i * kRows + int(rank) * kShare}, full + stage, 0b11);
      phase.advance_if(stage == kStages - 1);
    }
  }

  WW_FN static void math(const Args& args, uint32_t base, Shared<Mbarrier> full, Shared<Mbarrier> empty) {
    const int warp = int(machine::warp_index()), lane = int(machine::lane_index());
    const int64_t half = int64_t(machine::block_index().x) * args.rows * args.columns;
    machine::Phase phase = machine::Phase::consumer();
    for (int i = 0; i < steps(args); ++i) {
      const int stage = i % kStages;
      machine::mbarrier_wait(full + stage, phase);
      for (int r = warp; r < kRows; r += kWarps) {
        const int row = i * kRows + r;
        if (row < args.rows && lane < args.columns) {
          const int64_t at = half + int64_t(row) * args.columns + lane;
          machine::store(args.y + at,
                         machine::load(args.x + at) + machine::load(stage_at(base, stage) + (r * kColumns + lane)));
        }
      }
      machine::fence_proxy_async<ProxySpace::shared_cluster>();
      machine::sync_warp();
      if (lane < kCluster)
        machine::mbarrier_arrive<Scope::cluster>(machine::map_to_rank(empty + stage, uint32_t(lane)));
      phase.advance_if(stage == kStages - 1);
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<Multicast>();
    const uint32_t base = machine::shared_base();
    const Shared<Mbarrier> full{base + plan.barrier("w.full").offset}, empty{base + plan.barrier("w.empty").offset};
    pipeline::set_up_barriers<Multicast>(base);
    if (int(machine::warp_uniform(machine::warp_index())) == plan.role("load").first_warp) {
      if (machine::elect_one()) load(args, base, full, empty);
    } else {
      math(args, base, full, empty);
    }
    machine::cluster_sync();
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, Multicast::Args& args) {
  const auto w = arrays.input<float>("w", shape.m * shape.n);
  const auto x = arrays.input<float>("x", 2 * shape.m * shape.n);
  std::vector<float> expected;
  for (size_t i = 0; i < x.values.size(); ++i) expected.push_back(x.values[i] + w.values[i % w.values.size()]);
  args.x = x.data;
  args.y = arrays.output<float>("y", expected, {.columns = shape.n});
  args.rows = int(shape.m);
  args.columns = int(shape.n);
  arrays.map(args.w, kShareBox, w.data, shape.m, shape.n);
  return kCluster;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<Multicast>("multicast", {{.m = 100, .n = 32}, {.m = 3, .n = 4}, {.m = 96, .n = 28}}, arrange);
}

// y = 3 * x in pieces of 1024 floats: bulk copies in and out, with mbarriers and parities by hand. One thread copies,
// four warps scale in place.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"

using namespace warpwright;

constexpr int kPiece = 1024, kWarps = 4, kThreads = kWarps * 32, kStages = 2;
constexpr uint32_t kBytes = kPiece * sizeof(float);

constexpr BlockPlan make_plan() {
  BlockPlan plan("bulk_scale", Arch::sm90);
  plan.role("math", kWarps).role("copy", 1);
  plan.region("piece", kBytes, kStages, 128);
  plan.barrier("in", kStages, 1, "math", {"copy", 1});
  plan.barrier("out", kStages, kThreads, "copy", {"math", kThreads});
  return plan;
}

struct BulkScale {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> y;
    int pieces;
  };
  WW_FN static Shared<float> piece_at(uint32_t base, int stage) {
    return Shared<float>{base + plan.region("piece").offset} + stage * kPiece;
  }
  WW_FN static void fetch(const Args& args, uint32_t base, Shared<Mbarrier> in, int i) {
    machine::mbarrier_arrive_expect_tx(in + i % kStages, kBytes);
    machine::bulk_load(piece_at(base, i % kStages), args.x + int64_t(i) * kPiece, kBytes, in + i % kStages);
  }

  // One thread. The next piece is fetched when the store of the one before it has read its stage.
  WW_FN static void copy(const Args& args, uint32_t base, Shared<Mbarrier> in, Shared<Mbarrier> out) {
    for (int i = 0; i < kStages && i < args.pieces; ++i) fetch(args, base, in, i);
    for (int i = 0; i < args.pieces; ++i) {
      machine::mbarrier_wait(out + i % kStages, machine::Phase::of_parity(uint32_t(i / kStages) % 2));
      machine::bulk_store(args.y + int64_t(i) * kPiece, piece_at(base, i % kStages), kBytes);
      machine::bulk_commit();
      if (i + kStages < args.pieces) {
        machine::bulk_wait_read<0>();
        fetch(args, base, in, i + kStages);
      }
    }
    machine::bulk_wait<0>();
  }

  WW_FN static void math(const Args& args, uint32_t base, Shared<Mbarrier> in, Shared<Mbarrier> out) {
    for (int i = 0; i < args.pieces; ++i) {
      machine::mbarrier_wait(in + i % kStages, machine::Phase::of_parity(uint32_t(i / kStages) % 2));
      for (int e = int(machine::thread_index()); e < kPiece; e += kThreads) {
        const Shared<float> at = piece_at(base, i % kStages) + e;
        machine::store(at, 3 * machine::load(at));
      }
      machine::fence_proxy_async<ProxySpace::shared_cta>();
      machine::mbarrier_arrive(out + i % kStages);
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<BulkScale>();
    const uint32_t base = machine::shared_base();
    const Shared<Mbarrier> in{base + plan.barrier("in").offset}, out{base + plan.barrier("out").offset};
    if (machine::thread_index() == 0) {
      for (int i = 0; i < kStages; ++i) {
        machine::mbarrier_init(in + i, 1);
        machine::mbarrier_init(out + i, kThreads);
      }
      machine::fence_mbarrier_init();
    }
    machine::sync_block();
    if (int(machine::warp_uniform(machine::warp_index())) == plan.role("copy").first_warp) {
      if (machine::elect_one()) copy(args, base, in, out);
    } else {
      math(args, base, in, out);
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, BulkScale::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * kPiece);
  std::vector<float> expected;
  for (const float v : x.values) expected.push_back(3 * v);
  args.x = x.data;
  args.y = arrays.output<float>("y", expected);
  args.pieces = int(shape.m);
  return 1;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<BulkScale>("bulk_scale", {{.m = 7}, {.m = 1}}, arrange);
}

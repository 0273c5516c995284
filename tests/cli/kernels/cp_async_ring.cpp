// y = x with each chunk of 128 vectors turned round, by cp.async through a ring of three slots that the block keeps
// itself: every thread copies 16 bytes and reads what another one copied.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kThreads = 128, kSlots = 3;
using Vector = Vec<float, 4>;

constexpr BlockPlan make_plan() {
  BlockPlan plan("cp_async_ring", Arch::sm80);
  plan.role("copy", kThreads / 32);
  plan.region("slots", kThreads * sizeof(Vector), kSlots, 16);
  return plan;
}

struct CpAsyncRing {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const Vector> x;
    Global<Vector> y;
    int vectors;
  };

  WW_FN static Shared<Vector> slot(uint32_t base, int chunk) {
    return Shared<Vector>{base + plan.region("slots").offset} + chunk % kSlots * kThreads;
  }
  // A group is committed for a chunk that is not there too, so that the number of groups is known.
  WW_FN static void fetch(const Args& args, uint32_t base, int chunk, int chunks, int thread) {
    if (chunk < chunks) {
      const int64_t from = int64_t(chunk) * kThreads + thread;
      const bool valid = from < args.vectors;
      machine::cp_async_16(slot(base, chunk) + thread, args.x + (valid ? from : 0), valid ? 16u : 0u);
    }
    machine::cp_async_commit();
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<CpAsyncRing>();
    const uint32_t base = machine::shared_base();
    const int thread = int(machine::thread_index());
    const int chunks = (args.vectors + kThreads - 1) / kThreads;
    for (int chunk = 0; chunk < kSlots - 1; ++chunk) fetch(args, base, chunk, chunks, thread);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      machine::cp_async_wait<kSlots - 2>();
      machine::sync_block();
      const Vector v = machine::load(slot(base, chunk) + (kThreads - 1 - thread));
      const int64_t to = int64_t(chunk) * kThreads + thread;
      if (to < args.vectors) machine::store(args.y + to, v);
      // The slot that is filled now was read before this turn's barrier.
      fetch(args, base, chunk + kSlots - 1, chunks, thread);
    }
    machine::cp_async_wait<0>();
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, CpAsyncRing::Args& args) {
  const auto x = arrays.input<float>("x", shape.m * 4);
  std::vector<float> expected(x.values.size());
  for (int64_t v = 0; v < shape.m; ++v) {
    const int64_t from = v / kThreads * kThreads + kThreads - 1 - v % kThreads;
    for (int64_t e = 0; e < 4; ++e) expected[size_t(v * 4 + e)] = from < shape.m ? x.values[size_t(from * 4 + e)] : 0;
  }
  args.x = Global<const float>(x.data).as<const Vector>();
  args.y = Global<float>(arrays.output<float>("y", expected)).as<Vector>();
  args.vectors = int(shape.m);
  return 1;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<CpAsyncRing>("cp_async_ring", {{.m = 128 * 10}, {.m = 1}, {.m = 300}}, arrange);
}

// y = x + 1, chunk by chunk: a scheduler thread draws chunks from a counter in device memory and tells the workers of
// its CTA through a ring of two words; a word of -1 ends them.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"

using namespace warpwright;

constexpr int kWorkers = 2, kThreads = kWorkers * 32, kStages = 2;

constexpr BlockPlan make_plan() {
  BlockPlan plan("dynamic_tiles", Arch::sm90);
  plan.role("worker", kWorkers).role("scheduler", 1);
  plan.region("chunk", 16, kStages, 16);
  plan.barrier("chunk.full", kStages, 1, "worker", {"scheduler", 1});
  plan.barrier("chunk.empty", kStages, kThreads, "scheduler", {"worker", kThreads});
  return plan;
}

struct DynamicTiles {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> y;
    Global<uint32_t> next;
    int count;
  };
  using Ring = pipeline::Ring<kStages>;
  WW_FN static Shared<int> word(uint32_t base, int stage) {
    return {base + plan.region("chunk").offset + 16 * uint32_t(stage)};
  }
  WW_FN static int chunks(const Args& args) { return (args.count + kThreads - 1) / kThreads; }

  WW_FN static void schedule(const Args& args, uint32_t base, Ring ring) {
    pipeline::Producer<kStages, pipeline::PublishByThread<pipeline::To::threads>> words(ring);
    for (bool more = true; more;) {
      const int drawn = int(machine::atomic_add(args.next, 1u));
      more = drawn < chunks(args);
      words.produce([&](auto stage) {
        machine::store(word(base, stage->index()), more ? drawn : -1);
        return stdx::move(stage).release();
      });
    }
  }

  WW_FN static void work(const Args& args, uint32_t base, Ring ring) {
    pipeline::Consumer<kStages, pipeline::ReleaseByThread<pipeline::Readers::threads>> words(ring);
    for (;;) {
      const int chunk = words.consume([&](auto stage) {
        const int value = machine::load(word(base, stage->index()));
        return stdx::move(stage).release(value);
      });
      if (chunk < 0) break;
      const int at = chunk * kThreads + int(machine::thread_index());
      if (at < args.count) machine::store(args.y + at, machine::load(args.x + at) + 1);
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<DynamicTiles>();
    const uint32_t base = machine::shared_base();
    constexpr uint32_t full = plan.barrier("chunk.full").offset, empty = plan.barrier("chunk.empty").offset;
    const Ring ring = pipeline::ring_at<kStages>(base, full, empty);
    pipeline::set_up_barriers<DynamicTiles>(base);
    if (int(machine::warp_uniform(machine::warp_index())) == plan.role("scheduler").first_warp) {
      if (machine::elect_one()) schedule(args, base, ring);
    } else {
      work(args, base, ring);
    }
  }
};

constexpr int kCtas = 2;

static int arrange(check::Arrays& arrays, check::Shape shape, DynamicTiles::Args& args) {
  const auto x = arrays.input<float>("x", shape.m);
  std::vector<float> expected;
  for (const float v : x.values) expected.push_back(v + 1);
  args.x = x.data;
  args.y = arrays.output<float>("y", expected);
  // Each CTA draws one chunk too many.
  const uint32_t chunks = uint32_t((shape.m + kThreads - 1) / kThreads);
  args.next = arrays.in_out<uint32_t>("next", {0}, {chunks + kCtas});
  args.count = int(shape.m);
  return kCtas;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<DynamicTiles>("dynamic_tiles", {{.m = 1000}, {.m = 1}, {.m = 640}}, arrange);
}

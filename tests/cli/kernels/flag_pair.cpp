// Pairs of CTAs in a chain: the even one doubles a chunk into a mailbox in device memory and counts a flag up,
// the odd one adds 1 to what it finds there and gives the mailbox back by a flag of its own.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kThreads = 64;

constexpr BlockPlan make_plan() {
  BlockPlan plan("flag_pair", Arch::sm90);
  plan.role("all", kThreads / 32);
  return plan;
}

struct FlagPair {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const float> x;
    Global<float> mailbox, y;
    Global<uint32_t> filled, emptied;  // chunks so far
    int chunks;
  };

  // One thread waits, the barrier tells the others.
  WW_FN static void await(Global<uint32_t> flag, uint32_t value) {
    if (machine::thread_index() == 0) {
      while (machine::load_acquire(flag) != value) {
      }
    }
    machine::sync_block();
  }
  WW_FN static void raise(Global<uint32_t> flag, uint32_t value) {
    machine::sync_block();
    if (machine::thread_index() == 0) machine::store_release(flag, value);
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<FlagPair>();
    const int pair = int(machine::block_index().x) / 2, thread = int(machine::thread_index());
    const Global<uint32_t> filled = args.filled + pair, emptied = args.emptied + pair;
    const Global<float> mail = args.mailbox + (pair * kThreads + thread);
    for (int chunk = 0; chunk < args.chunks; ++chunk) {
      const int64_t at = (int64_t(pair) * args.chunks + chunk) * kThreads + thread;
      if (machine::block_index().x % 2 == 0) {
        await(emptied, uint32_t(chunk));
        machine::store(mail, 2 * machine::load(args.x + at));
        raise(filled, uint32_t(chunk + 1));
      } else {
        await(filled, uint32_t(chunk + 1));
        machine::store(args.y + at, machine::load(mail) + 1);
        raise(emptied, uint32_t(chunk + 1));
      }
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, FlagPair::Args& args) {
  const int64_t pairs = shape.n;
  const auto x = arrays.input<float>("x", pairs * shape.m * kThreads);
  std::vector<float> expected;
  for (const float v : x.values) expected.push_back(2 * v + 1);
  args.x = x.data;
  args.y = arrays.output<float>("y", expected);
  args.mailbox = arrays.workspace<float>("mailbox", pairs * kThreads);
  const std::vector<uint32_t> first(static_cast<size_t>(pairs)), last(size_t(pairs), uint32_t(shape.m));
  args.filled = arrays.in_out<uint32_t>("filled", first, last);
  args.emptied = arrays.in_out<uint32_t>("emptied", first, last);
  args.chunks = int(shape.m);
  return int(2 * pairs);
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<FlagPair>("flag_pair", {{.m = 5, .n = 2}, {.m = 1, .n = 1}}, arrange);
}

// Speed of the simulator: how fast fibers switch, how many warp instructions a second it checks, and what checking
// costs. Not a test: nothing is asserted. `ninja benchmarks && bin/bench_sim`.
#include <benchmark/benchmark.h>

#include "simulate/example.h"
#include "simulate/examples.h"
#include "warpwright/machine/machine.h"

namespace warpwright {
namespace {

// A block whose warps do nothing but meet: the cost of a switch and of a rendezvous.
void FiberSwitches(benchmark::State& state) {
  BlockPlan plan("switches", Arch::sm90);
  plan.role("all", int(state.range(0)));
  plan.region("nothing", 16, 1, 16);
  simulator::Launch launch;
  launch.plan = &plan;
  simulator::Options options;
  options.landing = simulator::Landing::eager;
  options.check = false;
  uint64_t switches = 0;
  for (auto _ : state) {
    const simulator::Result r = simulator::run(launch, options, [] {
      for (int i = 0; i < 2000; ++i) (void)machine::elect_one();
    });
    switches += r.stats.switches;
  }
  state.counters["switches/s"] = benchmark::Counter(double(switches), benchmark::Counter::kIsRate);
}
BENCHMARK(FiberSwitches)->Arg(1)->Arg(4)->Arg(12)->Unit(benchmark::kMillisecond);

void Kernel(benchmark::State& state, const char* name, reference::Case shape, bool check) {
  const simulate::Example& example = *simulate::find_example(name);
  const reference::Workload work = example.workload(shape, reference::Data::integers, 1);
  simulator::Options options;
  options.landing = simulator::Landing::eager;
  options.check = check;
  uint64_t words = 0, warp_instructions = 0, checks = 0;
  for (auto _ : state) {
    const simulate::Outcome out = example.simulate(work, options, 0);
    if (!out.ok()) state.SkipWithError("wrong result");
    words += out.sim.stats.words;
    warp_instructions += out.sim.stats.warp_instructions;
    checks += out.sim.stats.checks;
  }
  state.counters["words/s"] = benchmark::Counter(double(words), benchmark::Counter::kIsRate);
  // Words that a thread executes alone count for a 32nd of a warp instruction.
  state.counters["warp instructions/s"] = benchmark::Counter(double(words) / 32, benchmark::Counter::kIsRate);
  state.counters["collectives/s"] = benchmark::Counter(double(warp_instructions), benchmark::Counter::kIsRate);
  state.counters["checks/s"] = benchmark::Counter(double(checks), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(Kernel, ring_copy_unchecked, "sm90/ring_copy-32x64-s4/fp32", {512, 512, 0}, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Kernel, ring_copy_checked, "sm90/ring_copy-32x64-s4/fp32", {512, 512, 0}, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Kernel, cluster_ring_unchecked, "sm90/cluster_ring-32x64-c2-s4/fp32", {512, 512, 0}, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Kernel, cluster_ring_checked, "sm90/cluster_ring-32x64-c2-s4/fp32", {512, 512, 0}, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Kernel, gemm_sm90_unchecked, "sm90/dense-128x256-c2-s4/bf16-nt", {512, 512, 512}, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Kernel, gemm_sm90_checked, "sm90/dense-128x256-c2-s4/bf16-nt", {512, 512, 512}, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Kernel, tmem_lifecycle_unchecked, "sm100/tmem_lifecycle-n128-s4/bf16-to_fp32", {512, 512, 512}, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Kernel, tmem_lifecycle_checked, "sm100/tmem_lifecycle-n128-s4/bf16-to_fp32", {512, 512, 512}, true)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warpwright

BENCHMARK_MAIN();

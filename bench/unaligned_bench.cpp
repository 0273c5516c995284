// What rows that the TMA cannot address cost: the same product with an even and with an odd depth, packed, through the
// host API. Skips without a Hopper GPU.
#include <benchmark/benchmark.h>

#include <vector>

#include "gpu/memory.h"
#include "gpu/require.h"
#include "warpwright/gemm.h"

namespace {

using namespace warpwright;

// Bursts of a quarter of a second.
void unaligned_gemm(benchmark::State& state) {
  GemmProblem p;
  p.m = state.range(0);
  p.n = state.range(1);
  p.k = state.range(2);
  auto plan = make_plan(p);
  if (!plan) {
    state.SkipWithError(plan.status().message().c_str());
    return;
  }
  const gpu::DeviceMemory a(size_t(p.m * p.k) * 2), b(size_t(p.n * p.k) * 2), d(size_t(p.m * p.n) * 2);
  // Any pattern without NaN: what the operands hold does not change the path, but zeros would keep the chip cool.
  for (const gpu::DeviceMemory* m : {&a, &b}) {
    std::vector<uint16_t> values(size_t((m == &a ? p.m : p.n) * p.k));
    uint32_t state_of = 12345;
    for (uint16_t& v : values) {
      state_of = state_of * 1664525u + 1013904223u;
      v = uint16_t((state_of >> 31) << 15 | (0x3f00 + (state_of >> 16) % 0x100));
    }
    gpu::copy_to_device(m->data(), values.data(), values.size() * 2);
  }
  const gpu::Stream stream;
  const gpu::Event start, stop;
  const auto burst = [&](int launches) {
    start.record(stream);
    for (int i = 0; i < launches; ++i) {
      gpu::require(plan->run({.a = a.data(), .b = b.data(), .d = d.data()}, stream.get()));
    }
    stop.record(stream);
    stop.synchronize();
    return stop.us_since(start) / launches;
  };
  const int launches = int(250'000 / burst(20)) + 1;
  double us = 0;
  for (auto _ : state) {
    us = burst(launches);
    state.SetIterationTime(us * 1e-6);
  }
  state.SetLabel(plan->name());
  state.counters["us"] = us;
  state.counters["TFLOPS"] = 2 * double(p.m) * double(p.n) * double(p.k) / us * 1e-6;
}
BENCHMARK(unaligned_gemm)
    ->Args({4096, 4096, 4096})
    ->Args({4096, 4096, 4097})
    ->Iterations(1)
    ->Repetitions(3)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

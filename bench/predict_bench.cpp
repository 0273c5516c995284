// What the simulator predicts for whole problems on the whole chip: cycles and time of a timed run, nothing checked.
// docs/evidence/prediction.md compares it with measurements.
#include <benchmark/benchmark.h>

#include "runtime/example.h"

namespace warpwright {
namespace {

void Predict(benchmark::State& state, const char* name, int64_t m, int64_t n, int64_t k, int ctas) {
  const runtime::Example& example = *runtime::find_example(name);
  // Operands without a reference: computing one in float64 would take longer than the simulation.
  runtime::Workload work;
  work.shape = {m, n, k};
  for (const auto& [array, rows, columns] : {std::tuple{"A", m, k}, {"B", n, k}, {"D", m, n}}) {
    runtime::Array a{array, example.gemm.type, rows, columns, array[0] == 'D', {}};
    a.bytes.resize(a.size());
    if (!a.output) runtime::fill(a, runtime::Data::integers, 1);
    work.arrays.push_back(std::move(a));
  }
  simulator::Options options;
  options.check = false;
  double us = 0, cycles = 0;
  for (auto _ : state) {
    const runtime::Outcome out = example.simulate(work, options, ctas);
    us = out.sim.stats.predicted_us;
    cycles = out.sim.stats.predicted_cycles;
  }
  state.counters["predicted_us"] = us;
  state.counters["predicted_cycles"] = cycles;
}
BENCHMARK_CAPTURE(Predict, gemm_1024, "gemm_sm90", 1024, 1024, 1024, 32)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(Predict, gemm_2048, "gemm_sm90", 2048, 2048, 2048, 128)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(Predict, gemm_4096x4096x512, "gemm_sm90", 4096, 4096, 512, 132)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(Predict, gemm_4096, "gemm_sm90", 4096, 4096, 4096, 132)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace warpwright

BENCHMARK_MAIN();

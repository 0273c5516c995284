#include "runtime/tune_gpu.h"

#include <fmt/format.h>

#include "runtime/gpu.h"

#if WW_HAVE_CUDA
#include "runtime/bench_competitors.h"
#include "runtime/tune_measure.h"
#endif

namespace warpwright::runtime {

#if WW_HAVE_CUDA
namespace {

TuneRow tune_shape(const BenchShape& shape, const TuneOptions& options, const GpuInfo& gpu) {
  const Stream stream;
  const Operands operands(shape, uint64_t(options.protocol.cache_multiple * double(gpu.l2_bytes)));
  // The name of the chip is left out: the table that is being made must not answer for itself.
  const auto current = choose(shape, {"", gpu.sm_count}, "", options.on_demand);
  if (!current) throw CudaFailure(current.status().message());
  const Ours incumbent(shape, plan_name(current->kernel), Following{}, operands);

  TuneRow row;
  row.shape = shape;
  row.plan = row.current = incumbent.name();
  std::vector<Ours> others;
  for (const Kernel& kernel : candidates(shape, options.on_demand)) {
    if (plan_name(kernel) != row.current) others.emplace_back(shape, plan_name(kernel), Following{}, operands);
  }
  row.candidates = int(others.size()) + 1;
  std::vector<LaunchSet> launches;
  for (const Ours& other : others) launches.push_back(other.launch());
  const Fastest fastest = fastest_of(incumbent.launch(), launches, operands.sets(), options, stream);
  if (fastest.winner >= 0) row.plan = others[size_t(fastest.winner)].name();
  static_cast<TuneFigures&>(row) = fastest;
  return row;
}

}  // namespace

std::string toolkit_version() {
  int version = 0;
  (void)cudaRuntimeGetVersion(&version);
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::optional<std::string> tune(const std::vector<BenchShape>& shapes, const TuneOptions& options, TuneReport& report,
                                const std::function<void(const TuneRow&)>& row) {
  return tune_all(
      shapes, options, report, row,
      [&](const BenchShape& shape, const GpuInfo& gpu) { return tune_shape(shape, options, gpu); },
      [](const TuneRow& measured) {
        TunedRow entry = row_of(measured.shape);
        entry.plan = measured.plan;
        entry.us = measured.us;
        entry.model_us = measured.current_us;
        return entry;
      });
}

#else

std::string toolkit_version() { return ""; }
std::optional<std::string> tune(const std::vector<BenchShape>&, const TuneOptions&, TuneReport&,
                                const std::function<void(const TuneRow&)>&) {
  return bench_missing(false);
}

#endif

}  // namespace warpwright::runtime

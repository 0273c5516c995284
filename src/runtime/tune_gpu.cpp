#include "runtime/tune_gpu.h"

#include <fmt/format.h>

#include <chrono>

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
  row.mode = fastest.mode;
  row.us = fastest.us;
  row.current_us = fastest.current_us;
  row.ratio = fastest.ratio;
  row.ratio_lo = fastest.ratio_lo;
  row.ratio_hi = fastest.ratio_hi;
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
  if (auto missing = bench_missing(false)) return missing;
  const GpuInfo gpu = list_gpus().front();
  const auto begin = std::chrono::steady_clock::now();
  report = {};
  report.table.device = gpu.name;
  report.table.multiprocessors = gpu.sm_count;
  report.table.toolkit = toolkit_version();
  try {
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (options.budget_s > 0 && spent.count() > options.budget_s) {
        report.left_out = shapes.size() - i;
        break;
      }
      const TuneRow measured = tune_shape(shapes[i], options, gpu);
      TunedRow entry = row_of(shapes[i]);
      entry.plan = measured.plan;
      entry.us = measured.us;
      entry.model_us = measured.current_us;
      report.table.rows.push_back(entry);
      report.rows.push_back(measured);
      row(measured);
    }
  } catch (const CudaFailure& failure) {
    return failure.what();
  }
  return {};
}

#else

std::string toolkit_version() { return ""; }
std::optional<std::string> tune(const std::vector<BenchShape>&, const TuneOptions&, TuneReport&,
                                const std::function<void(const TuneRow&)>&) {
  return bench_missing(false);
}

#endif

}  // namespace warpwright::runtime

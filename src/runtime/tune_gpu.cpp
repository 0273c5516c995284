#include "runtime/tune_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "runtime/bench_stats.h"
#include "runtime/gpu.h"

#if WW_HAVE_CUDA
#include "runtime/bench_competitors.h"
#endif

namespace warpwright::runtime {

#if WW_HAVE_CUDA
namespace {

constexpr double kLongUs = 50;  // from here on the sustained figure counts

TuneRow tune_shape(const BenchShape& shape, const TuneOptions& options, const GpuInfo& gpu) {
  const Stream stream;
  const Operands operands(shape, uint64_t(options.protocol.cache_multiple * double(gpu.l2_bytes)));
  const int sets = operands.sets();
  // The name of the chip is left out: the table that is being made must not answer for itself.
  const auto current = choose(shape, {"", gpu.sm_count}, "", options.on_demand);
  if (!current) throw CudaFailure(current.status().message());
  const Ours incumbent(shape, plan_name(current->kernel), Following{}, operands);
  const LaunchSet launch = incumbent.launch();

  TuneRow row;
  row.shape = shape;
  row.plan = row.current = incumbent.name();
  row.mode = brief_us(launch, sets, stream, 0.01) > kLongUs ? BenchMode::sustained : BenchMode::cool;
  const auto brief = [&](const LaunchSet& one) {
    if (row.mode == BenchMode::sustained) return brief_us(one, sets, stream, 0.02);
    return CoolLaunch(one, sets, stream).several(9, 0.001);
  };
  std::vector<Ours> others;
  for (const Kernel& kernel : candidates(shape, options.on_demand)) {
    if (plan_name(kernel) != row.current) others.emplace_back(shape, plan_name(kernel), Following{}, operands);
  }
  row.candidates = int(others.size()) + 1;
  const auto times = there_and_back(int(others.size()), [&](int i) { return brief(others[size_t(i)].launch()); });
  std::vector<size_t> order(others.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return times[x] < times[y]; });
  if (order.size() > size_t(options.finalists)) order.resize(size_t(options.finalists));

  for (const size_t i : order) {
    BenchRow pair;
    pair.shape = shape;
    summarize(pair, measure_pair(others[i].launch(), launch, sets, row.mode, options.protocol, stream));
    if (row.current_us == 0) row.us = row.current_us = pair.peer_us;
    if (pair.ratio_lo <= 1 || pair.ratio <= row.ratio) continue;
    row.plan = others[i].name();
    row.us = pair.us;
    row.current_us = pair.peer_us;
    row.ratio = pair.ratio;
    row.ratio_lo = pair.ratio_lo;
    row.ratio_hi = pair.ratio_hi;
  }
  if (row.us == 0) row.us = row.current_us = brief(launch);
  return row;
}

std::string toolkit_version() {
  int version = 0;
  (void)cudaRuntimeGetVersion(&version);
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

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

std::optional<std::string> tune(const std::vector<BenchShape>&, const TuneOptions&, TuneReport&,
                                const std::function<void(const TuneRow&)>&) {
  return bench_missing(false);
}

#endif

}  // namespace warpwright::runtime

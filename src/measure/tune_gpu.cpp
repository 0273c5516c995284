#include "measure/tune_gpu.h"

#include "gpu/devices.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/bench_competitors.h"
#include "measure/tune_measure.h"

namespace warpwright::measure {
namespace {

TuneRow tune_shape(const BenchShape& shape, const TuneOptions& options, const gpu::GpuInfo& gpu) {
  const gpu::Stream stream;
  const Operands operands(shape, uint64_t(options.protocol.cache_multiple * double(gpu.l2_bytes)));
  // The name of the chip is omitted: the table that is being made must not answer for itself.
  const auto current = choice::choose(shape, {"", gpu.sm_count}, "", options.on_demand);
  gpu::require(current.status());
  // Where operands can be copied first the library decides that too.
  const std::string plan = shape.load == Mover::tma ? catalog::plan_name(current->instance) : "";
  const Ours incumbent(shape, plan, Following{}, operands);

  TuneRow row;
  row.shape = shape;
  row.plan = row.current = incumbent.name();
  std::vector<Ours> others;
  for (const catalog::Instance& instance : choice::candidates(shape, options.on_demand)) {
    const std::string name = catalog::plan_name(instance);
    if (name != row.current) others.emplace_back(shape, name, Following{}, operands);
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
#if defined(WARPWRIGHT_TOOLKIT)
  return "CUDA " WARPWRIGHT_TOOLKIT;
#else
  return "";
#endif
}

Status tune(const std::vector<BenchShape>& shapes, const TuneOptions& options, TuneReport& report,
            const std::function<void(const TuneRow&)>& row) {
  return tune_all(
      shapes, options, report, row,
      [&](const BenchShape& shape, const gpu::GpuInfo& gpu) { return tune_shape(shape, options, gpu); },
      [](const TuneRow& measured) {
        choice::TunedRow entry = choice::row_of(measured.shape);
        entry.plan = measured.plan;
        entry.us = measured.us;
        entry.model_us = measured.current_us;
        return entry;
      });
}

}  // namespace warpwright::measure

#include "measure/tune_grouped.h"

#include <vector>

#include "gpu/devices.h"
#include "gpu/require.h"
#include "measure/grouped_operands.h"
#include "measure/tune_measure.h"

namespace warpwright::measure {

namespace {

GroupedTuneRow tune_shape(const GroupedCase& shape, const TuneOptions& options, const gpu::GpuInfo& gpu) {
  const gpu::Stream stream;
  const GroupedSets operands(table_for(shape), uint64_t(options.protocol.cache_multiple * double(gpu.l2_bytes)));
  // The model's choice: the table that is being made must not answer for itself.
  const auto current = choice::choose(operands.problem(), gpu.sm_count);
  gpu::require(current.status());

  GroupedTuneRow row;
  row.shape = shape;
  row.plan = row.current = catalog::plan_name(current->instance);
  std::vector<catalog::Instance> others = choice::instances_for(operands.problem());
  std::erase(others, current->instance);
  row.candidates = int(others.size()) + 1;
  std::vector<LaunchSet> launches;
  for (const catalog::Instance& other : others) launches.push_back(launch_of(operands, other));
  const Fastest fastest =
      fastest_of(launch_of(operands, current->instance), launches, operands.count(), options, stream);
  if (fastest.winner >= 0) row.plan = catalog::plan_name(others[size_t(fastest.winner)]);
  static_cast<TuneFigures&>(row) = fastest;
  return row;
}

}  // namespace

Status tune(const std::vector<GroupedCase>& shapes, const TuneOptions& options, GroupedTuneReport& report,
            const std::function<void(const GroupedTuneRow&)>& row) {
  return tune_all(
      shapes, options, report, row,
      [&](const GroupedCase& shape, const gpu::GpuInfo& gpu) { return tune_shape(shape, options, gpu); },
      [](const GroupedTuneRow& measured) {
        return choice::GroupedTunedRow{measured.shape, measured.plan, measured.us, measured.current_us};
      });
}

}  // namespace warpwright::measure

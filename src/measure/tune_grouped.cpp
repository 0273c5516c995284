#include "measure/tune_grouped.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "gpu/devices.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/bench_competitors.h"
#include "measure/tune_measure.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::measure {

GroupedTable table_for(const choice::GroupedShape& shape) {
  GroupedTable table{problem_of(shape), {}};
  GroupedProblem& p = table.problem;
  if (p.groups == Groups::none) return table;
  std::mt19937_64 random(1);
  const bool by_depth = p.groups == Groups::by_depth;
  const int64_t usual = by_depth ? shape.k : shape.rows;
  std::vector<int64_t> counts;
  for (int64_t g = 0; g < shape.groups; ++g) {
    const int64_t count = std::max<int64_t>(1, usual * (700 + int64_t(random() % 601)) / 1000);
    // Groups along k end where a block with a scale does.
    counts.push_back(by_depth ? (count + 127) / 128 * 128 : count);
  }
  if (p.groups == Groups::masked) {
    table.rows.assign(counts.begin(), counts.end());
    p.m = shape.groups * 2 * shape.rows;
    return table;
  }
  table.rows.push_back(0);
  for (const int64_t count : counts) table.rows.push_back(uint32_t(table.rows.back() + count));
  (by_depth ? p.k : p.m) = table.rows.back();
  return table;
}

namespace {

constexpr int64_t kMostGroupedSets = 64;

size_t padded(int64_t bytes) { return size_t(ceil_div(std::max<int64_t>(bytes, 1), 256) * 256); }

// Sets of operands with one table.
class GroupedSets {
 public:
  GroupedSets(const GroupedTable& table, uint64_t least_bytes)
      : problem_(table.problem),
        matrices_(problem_.groups == Groups::contiguous || problem_.groups == Groups::masked ? problem_.group_count
                                                                                             : 1),
        a_bytes_(padded(problem_.m * problem_.k * bits(problem_.type) / 8)),
        b_bytes_(padded(matrices_ * problem_.n * problem_.k * bits(problem_.type) / 8)),
        d_bytes_(padded(results() * problem_.m * problem_.n * bits(problem_.out) / 8)),
        sets_(int(std::clamp<int64_t>(ceil_div(int64_t(least_bytes), int64_t(a_bytes_ + b_bytes_ + d_bytes_)), 2,
                                      kMostGroupedSets))),
        a_(a_bytes_ * size_t(sets_)),
        b_(b_bytes_ * size_t(sets_)),
        d_(d_bytes_ * size_t(sets_)),
        scale_bytes_(padded(4 * ceil_div(problem_.k, 128) * std::max(problem_.m, matrices_ * problem_.n))),
        a_scales_(scale_bytes_),
        b_scales_(scale_bytes_),
        rows_(padded(4 * int64_t(table.rows.size()))) {
    fill_normal(problem_.type, 1, a_, a_bytes_ * size_t(sets_));
    fill_normal(problem_.type, 2, b_, b_bytes_ * size_t(sets_));
    fill_normal(DType::fp32, 3, a_scales_, scale_bytes_);
    fill_normal(DType::fp32, 4, b_scales_, scale_bytes_);
    gpu::copy_to_device(rows_.data(), table.rows.data(), 4 * table.rows.size());
  }

  int count() const { return sets_; }
  const GroupedProblem& problem() const { return problem_; }
  GroupedPointers pointers(int set) const {
    GroupedPointers p;
    p.a = a_.data() + a_bytes_ * size_t(set);
    p.b = b_.data() + b_bytes_ * size_t(set);
    p.d = d_.data() + d_bytes_ * size_t(set);
    p.a_scales = reinterpret_cast<const float*>(a_scales_.data());
    p.b_scales = reinterpret_cast<const float*>(b_scales_.data());
    p.rows = reinterpret_cast<const uint32_t*>(rows_.data());
    return p;
  }

 private:
  int64_t results() const { return problem_.groups == Groups::by_depth ? problem_.group_count : 1; }

  GroupedProblem problem_;
  int64_t matrices_;
  size_t a_bytes_, b_bytes_, d_bytes_;
  int sets_;
  gpu::DeviceMemory a_, b_, d_;
  size_t scale_bytes_;
  gpu::DeviceMemory a_scales_, b_scales_, rows_;
};

LaunchSet launch_of(const GroupedSets& sets, const catalog::Instance& instance) {
  GroupedProblem named = sets.problem();
  named.plan = catalog::name_of(instance);
  auto made = make_plan(named);
  gpu::require(made.status());
  return [plan = std::make_shared<const GroupedPlan>(std::move(*made)), &sets](int set, const gpu::Stream& stream) {
    gpu::require(plan->run(sets.pointers(set), stream.get()));
  };
}

GroupedTuneRow tune_shape(const choice::GroupedShape& shape, const TuneOptions& options, const gpu::GpuInfo& gpu) {
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

Status tune(const std::vector<choice::GroupedShape>& shapes, const TuneOptions& options, GroupedTuneReport& report,
            const std::function<void(const GroupedTuneRow&)>& row) {
  return tune_all(
      shapes, options, report, row,
      [&](const choice::GroupedShape& shape, const gpu::GpuInfo& gpu) { return tune_shape(shape, options, gpu); },
      [](const GroupedTuneRow& measured) {
        return choice::GroupedTunedRow{measured.shape, measured.plan, measured.us, measured.current_us};
      });
}

}  // namespace warpwright::measure

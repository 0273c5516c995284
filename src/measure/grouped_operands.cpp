#include "measure/grouped_operands.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gpu/require.h"
#include "measure/bench_competitors.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::measure {
namespace {

constexpr int64_t kMostGroupedSets = 64;

size_t padded(int64_t bytes) { return size_t(ceil_div(std::max<int64_t>(bytes, 1), 256) * 256); }

}  // namespace

GroupedSets::GroupedSets(const GroupedTable& table, uint64_t least_bytes)
    : problem_(table.problem),
      matrices_(problem_.groups == Groups::contiguous || problem_.groups == Groups::masked ? problem_.group_count : 1),
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

GroupedPointers GroupedSets::pointers(int set) const {
  GroupedPointers p;
  p.a = a_.data() + a_bytes_ * size_t(set);
  p.b = b_.data() + b_bytes_ * size_t(set);
  p.d = d_.data() + d_bytes_ * size_t(set);
  p.a_scales = reinterpret_cast<const float*>(a_scales_.data());
  p.b_scales = reinterpret_cast<const float*>(b_scales_.data());
  p.rows = reinterpret_cast<const uint32_t*>(rows_.data());
  return p;
}

LaunchSet launch_of(const GroupedSets& sets, const catalog::Instance& instance) {
  GroupedProblem named = sets.problem();
  named.plan = catalog::name_of(instance);
  auto made = make_plan(named);
  gpu::require(made.status());
  return [plan = std::make_shared<const GroupedPlan>(std::move(*made)), &sets](int set, const gpu::Stream& stream) {
    gpu::require(plan->run(sets.pointers(set), stream.get()));
  };
}

}  // namespace warpwright::measure

// What products with blockwise scales and products by groups are measured on. Failures are thrown (gpu/require.h).
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/memory.h"
#include "measure/bench_measure.h"
#include "measure/draw.h"
#include "warpwright/grouped.h"

namespace warpwright::measure {

// Sets of operands with one table, of normal values.
class GroupedSets {
 public:
  GroupedSets(const GroupedTable& table, uint64_t least_bytes);

  int count() const { return sets_; }
  const GroupedProblem& problem() const { return problem_; }
  GroupedPointers pointers(int set) const;

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

// The product by one instance; the sets must outlive it.
LaunchSet launch_of(const GroupedSets& sets, const catalog::Instance& instance);

}  // namespace warpwright::measure

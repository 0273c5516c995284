// What a launch needs to know of a choice.
#include <algorithm>
#include <cstdint>

#include "choice/dense.h"
#include "choice/packing.h"

namespace warpwright::choice {
namespace {

int64_t bytes_of(const StoredMatrix& copy) {
  const int64_t bytes = copy.count * copy.batch_stride * bits(copy.type) / 8;
  return (bytes + Packing::kAlignment - 1) / Packing::kAlignment * Packing::kAlignment;
}

}  // namespace

int64_t Packing::a_bytes() const { return a ? bytes_of(a_copy) : 0; }
int64_t Packing::b_bytes() const { return b ? bytes_of(b_copy) : 0; }

// Clusters do not span a GPC, so the larger ones leave SMs empty. cudaOccupancyMaxActiveClusters on an H200 of 132 SMs
// gives 132, 66, 39, 30 and 15 for clusters of 1, 2, 3, 4 and 8.
int64_t resident_clusters(int multiprocessors, int cluster) {
  const double usable = cluster <= 2 ? 1 : cluster == 3 ? 117.0 / 132 : 120.0 / 132;
  return std::max(1, int(multiprocessors * usable) / cluster);
}

}  // namespace warpwright::choice

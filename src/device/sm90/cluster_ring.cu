#include "device/persistent.cuh"
#include "warpwright/kernel/sm90/cluster_ring.h"

namespace warpwright::device {

Status launch_cluster_ring_sm90(int index, const ClusterRingArgs& args, int clusters, void* stream) {
  return at_index<int(std::size(kClusterRingSm90))>("cluster_ring", index, [&](auto instance) {
    constexpr ClusterRingConfig config = kClusterRingSm90[instance()];
    using Kernel = kernel::sm90::ClusterRing<config>;
    const unsigned ctas = unsigned(clusters * config.cluster);
    return describe<Kernel>(runtime::launch<Kernel>(args, ctas, static_cast<cudaStream_t>(stream)));
  });
}

}  // namespace warpwright::device

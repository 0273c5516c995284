// How many CTAs a launch has: the same for a GPU and for the simulator.
#pragma once
#include <cstdint>
#include <variant>

#include "catalog/instance.h"
#include "warpwright/status.h"

namespace warpwright::launch {

// The arguments of the kernels that make products, with an alternative for each family.
using Arguments = std::variant<DenseGemmArgs, SkinnyGemmArgs, GroupedGemmArgs, SkinnyBlockwiseArgs, DenseGemmSm100Args,
                               BlockwiseFp8Sm100Args, GroupedGemmSm100Args, MmaSyncGemmArgs, CdnaMatmulArgs>;

inline const void* bytes_of(const Arguments& arguments) {
  return std::visit([](const auto& a) -> const void* { return &a; }, arguments);
}

// Pieces of work that clusters share. 0: nothing is launched.
int64_t work_of(const DenseGemmConfig& config, const DenseGemmArgs& args);
int64_t work_of(const SkinnyGemmConfig& config, const SkinnyGemmArgs& args);
int64_t work_of(const GroupedGemmConfig& config, const GroupedGemmArgs& args);
int64_t work_of(const SkinnyBlockwiseConfig& config, const SkinnyBlockwiseArgs& args);
int64_t work_of(const DenseGemmSm100Config& config, const DenseGemmSm100Args& args);
int64_t work_of(const BlockwiseFp8Sm100Config& config, const BlockwiseFp8Sm100Args& args);
int64_t work_of(const GroupedGemmSm100Config& config, const GroupedGemmSm100Args& args);
int64_t work_of(const CdnaMatmulConfig& config, const CdnaMatmulArgs& args);
int64_t work_of(const MmaSyncGemmConfig& config, const MmaSyncGemmArgs& args);
int64_t work_of(const PackRowsConfig& config, const PackRowsArgs& args);
int64_t work_of(const RouteConfig& config, const RouteArgs& args);
int64_t work_of(const CombineConfig& config, const CombineArgs& args);
int64_t work_of(const RingCopyConfig& config, const RingCopyArgs& args);

// CTAs of a grid, of which at most `clusters` clusters run at once: a persistent one has no more than those; one whose
// clusters cancel each other's launch, or are workgroups of CDNA, has one for each piece of work. A failure where the
// parts of a tile are more than run at once. 0: there is nothing to do.
Result<unsigned> ctas_of(const catalog::Instance& instance, const Arguments& arguments, int64_t clusters);

// Whether the kernel waits for the launch ahead on the stream before it touches memory, so that it may be launched
// before that ends.
bool may_start_early(const catalog::Instance& instance);

// CTAs of a cluster.
int cluster_of(const catalog::Instance& instance);

// Memory in which clusters that share the depth of a tile leave their sums, in a launch of at most this many.
int64_t workspace_bytes(const catalog::Instance& instance, const Arguments& arguments, int64_t clusters);
void set_workspace(Arguments& arguments, void* workspace);

// Clusters that may run where `resident` fit and the caller allows `sm_limit` SMs (0: all).
int64_t allowed_clusters(int64_t resident, int cluster, int sm_limit);

}  // namespace warpwright::launch

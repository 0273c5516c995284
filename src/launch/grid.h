// How many CTAs a launch has: the same for a GPU and for the simulator.
#pragma once
#include <cstdint>
#include <variant>

#include "catalog/instance.h"
#include "warpwright/status.h"

namespace warpwright::launch {

// The arguments of the kernels behind the API, with an alternative for each family.
using Arguments = std::variant<DenseGemmArgs, SkinnyGemmArgs, GroupedGemmArgs, SkinnyBlockwiseArgs>;

inline const void* bytes_of(const Arguments& arguments) {
  return std::visit([](const auto& a) -> const void* { return &a; }, arguments);
}

// Pieces of work that clusters share. 0: nothing is launched.
int64_t work_of(const DenseGemmConfig& config, const DenseGemmArgs& args);
int64_t work_of(const SkinnyGemmConfig& config, const SkinnyGemmArgs& args);
int64_t work_of(const GroupedGemmConfig& config, const GroupedGemmArgs& args);
int64_t work_of(const SkinnyBlockwiseConfig& config, const SkinnyBlockwiseArgs& args);
int64_t work_of(const MmaSyncGemmConfig& config, const MmaSyncGemmArgs& args);
int64_t work_of(const PackRowsConfig& config, const PackRowsArgs& args);
int64_t work_of(const RingCopyConfig& config, const RingCopyArgs& args);

// CTAs of a persistent grid, of which at most `clusters` clusters run at once. A failure where the parts of a tile are
// more than that. 0: there is nothing to do.
Result<unsigned> ctas_of(const catalog::Instance& instance, const Arguments& arguments, int64_t clusters);

// Clusters that may run where `resident` fit and the caller allows `sm_limit` SMs (0: all).
int64_t allowed_clusters(int64_t resident, int cluster, int sm_limit);

}  // namespace warpwright::launch

// The layout of a block of every family, from a configuration that is known at run time only.
#include <variant>

#include "catalog/instance.h"
#include "warpwright/kernel/cdna/matmul.h"
#include "warpwright/kernel/demo/cluster_ring.h"
#include "warpwright/kernel/demo/ring_copy.h"
#include "warpwright/kernel/demo/tmem_lifecycle.h"
#include "warpwright/kernel/sm100/blockwise/blockwise_fp8.h"
#include "warpwright/kernel/sm100/dense/dense_gemm.h"
#include "warpwright/kernel/sm100/grouped/grouped_gemm.h"
#include "warpwright/kernel/sm80/dense_gemm.h"
#include "warpwright/kernel/sm90/dense/dense_plan.h"
#include "warpwright/kernel/sm90/grouped/grouped_gemm.h"
#include "warpwright/kernel/sm90/moe/combine.h"
#include "warpwright/kernel/sm90/moe/route.h"
#include "warpwright/kernel/sm90/pack_rows.h"
#include "warpwright/kernel/sm90/skinny/skinny_blockwise.h"
#include "warpwright/kernel/sm90/skinny/skinny_gemm.h"

namespace warpwright::catalog {
namespace {

// The functions from which the kernels have their plans as constants.
struct BlockPlanOf {
  BlockPlan operator()(const DenseGemmConfig& c) const { return kernel::sm90::dense_gemm_plan(c); }
  BlockPlan operator()(const SkinnyGemmConfig& c) const { return kernel::sm90::skinny_gemm_plan(c); }
  BlockPlan operator()(const GroupedGemmConfig& c) const { return kernel::sm90::grouped_gemm_plan(c); }
  BlockPlan operator()(const SkinnyBlockwiseConfig& c) const { return kernel::sm90::skinny_blockwise_plan(c); }
  BlockPlan operator()(const DenseGemmSm100Config& c) const { return kernel::sm100::dense_gemm_design(c).plan; }
  BlockPlan operator()(const BlockwiseFp8Sm100Config& c) const { return kernel::sm100::blockwise_fp8_design(c).plan; }
  BlockPlan operator()(const GroupedGemmSm100Config& c) const { return kernel::sm100::grouped_gemm_design(c).plan; }
  BlockPlan operator()(const MmaSyncGemmConfig& c) const { return kernel::sm80::dense_gemm_plan(c); }
  BlockPlan operator()(const CdnaMatmulConfig& c) const { return kernel::cdna::matmul_plan(c); }
  BlockPlan operator()(const RingCopyConfig& c) const { return kernel::sm90::ring_copy_plan(c); }
  BlockPlan operator()(const ClusterRingConfig& c) const { return kernel::sm90::cluster_ring_plan(c); }
  BlockPlan operator()(const TmemLifecycleConfig& c) const { return kernel::sm100::tmem_lifecycle_plan(c); }
  BlockPlan operator()(const PackRowsConfig& c) const { return kernel::sm90::pack_rows_plan(c); }
  BlockPlan operator()(const RouteConfig& c) const { return kernel::sm90::route_plan(c); }
  BlockPlan operator()(const CombineConfig& c) const { return kernel::sm90::combine_plan(c); }
};

}  // namespace

BlockPlan block_plan(const Instance& instance) { return std::visit(BlockPlanOf{}, instance.config); }

}  // namespace warpwright::catalog

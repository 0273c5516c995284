// Who am I.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
// Not volatile: a special register of this kind is constant during the kernel, so equal reads may be merged.
#define WW_SPECIAL_REGISTER(function, name)       \
  WW_FN uint32_t function() {                     \
    uint32_t value;                               \
    asm("mov.u32 %0, %%" name ";" : "=r"(value)); \
    return value;                                 \
  }
WW_SPECIAL_REGISTER(cluster_ctarank, "cluster_ctarank")
WW_SPECIAL_REGISTER(cluster_nctarank, "cluster_nctarank")
WW_SPECIAL_REGISTER(clusterid_x, "clusterid.x")
WW_SPECIAL_REGISTER(nclusterid_x, "nclusterid.x")
#undef WW_SPECIAL_REGISTER
}  // namespace detail

WW_FN uint32_t thread_index() { return threadIdx.x; }
WW_FN uint32_t block_threads() { return blockDim.x; }
WW_FN Index3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
WW_FN Index3 grid_size() { return {gridDim.x, gridDim.y, gridDim.z}; }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
// Before sm_90 every block is a cluster of its own.
WW_FN uint32_t cluster_rank() { return 0; }
WW_FN uint32_t cluster_size() { return 1; }
WW_FN uint32_t cluster_index() { return blockIdx.x; }
WW_FN uint32_t cluster_count() { return gridDim.x; }
#else
WW_FN uint32_t cluster_rank() { return detail::cluster_ctarank(); }
WW_FN uint32_t cluster_size() { return detail::cluster_nctarank(); }
WW_FN uint32_t cluster_index() { return detail::clusterid_x(); }
WW_FN uint32_t cluster_count() { return detail::nclusterid_x(); }
#endif
WW_FN uint32_t lane_index() { return threadIdx.x % 32; }
WW_FN uint32_t warp_index() { return threadIdx.x / 32; }

// Kernels have no static shared memory, so the dynamic part starts the window and its alignment is the declared one.
WW_FN uint32_t shared_base() {
  extern __shared__ __align__(1024) unsigned char ww_dynamic_shared[];
  const uint32_t base = uint32_t(__cvta_generic_to_shared(ww_dynamic_shared));
#if defined(WW_DEBUG)
  if (base % 1024 != 0) __trap();
#endif
  return base;
}

}  // namespace warpwright::inline WW_WORLD::machine

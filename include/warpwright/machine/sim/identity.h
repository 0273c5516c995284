// Who am I.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

uint32_t thread_index();   // %tid.x; blocks are one-dimensional
uint32_t block_threads();  // %ntid.x
Index3 block_index();      // %ctaid
Index3 grid_size();        // %nctaid
uint32_t cluster_rank();   // %cluster_ctarank
uint32_t cluster_size();   // %cluster_nctarank
uint32_t cluster_index();  // linear index of the cluster in a grid whose clusters extend along x
uint32_t cluster_count();  // number of such clusters
uint32_t shared_base();    // shared::cta address of the dynamic shared memory, 1024-byte aligned
inline uint32_t lane_index() { return thread_index() % 32; }
inline uint32_t warp_index() { return thread_index() / 32; }

}  // namespace warpwright::inline WW_WORLD::machine

// Stages of grouped_gemm.h that hold elements of other groups along k: threads make them zero before they are
// multiplied.
#pragma once
#include "warpwright/core/layout.h"
#include "warpwright/kernel/clear_depth.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/handoff.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Releases a stage that threads may have written to: a peer's TMA, which writes there next, must see that they have.
template <int Cluster>
struct ReleaseCleared {
  const bool* cleared = nullptr;
  WW_FN static void acquired(machine::here) {}
  WW_FN void release(Shared<Mbarrier> empty, machine::here at) const {
    if (*cleared) {
      pipeline::ReleaseToCluster<Cluster, pipeline::Readers::threads>::release(empty, at);
    } else {
      pipeline::ReleaseToCluster<Cluster, pipeline::Readers::async>::release(empty, at);
    }
  }
};

// Clears what belongs to other groups in a stage of the kernel G, before `begin` and from `end` on. Each warpgroup
// clears its rows of A and its share of those of B, and all wait for each other before they multiply. The peers clear
// their own copies.
template <class G>
WW_FN void clear_edges(uint32_t base, int stage, int begin, int end, int group) {
  constexpr GroupedGemmConfig C = G::config;
  constexpr uint32_t id = G::plan.named_barrier("edges").id, line_bytes = swizzle_bytes(Swizzle::b128);
  constexpr int threads = 128;  // of a warpgroup
  if constexpr (C.a_major == Major::K) {
    constexpr SmemTile tile{C.type, C.tile_m > C.tile_n ? C.tile_m : C.tile_n, C.tile_k()};
    constexpr int b_lines = C.tile_n / C.warpgroups();
    clear_lines<tile, threads>(G::a_stage(base, stage).plus_bytes(line_bytes * uint32_t(group * C.group_rows)),
                               C.group_rows, begin, end, C.tile_k());
    clear_lines<tile, threads>(G::b_stage(base, stage).plus_bytes(line_bytes * uint32_t(group * b_lines)), b_lines,
                               begin, end, C.tile_k());
  } else {
    // If the panels of B are odd in number, the first warpgroup has one more.
    constexpr int a_panels = C.group_rows / C.panel_rows(), b_panels = C.tile_n / C.panel_rows();
    constexpr int b_first = (b_panels + C.warpgroups() - 1) / C.warpgroups();
    constexpr uint32_t bytes = C.panel_box().bytes();
    clear_panels<bytes, threads>(G::a_stage(base, stage).plus_bytes(bytes * uint32_t(group * a_panels)), a_panels, end,
                                 C.tile_k());
    clear_panels<bytes, threads>(G::b_stage(base, stage).plus_bytes(bytes * uint32_t(group * b_first)),
                                 group == 0 ? b_first : b_panels - b_first, end, C.tile_k());
  }
  machine::fence_proxy_async<ProxySpace::shared_cta>();
  machine::named_barrier_sync(id, uint32_t(G::plan.role("mma").threads()));
  machine::sync_warp();  // an MMA wants the lanes together, which that barrier does not promise
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

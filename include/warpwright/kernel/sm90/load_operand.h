// One operand of a stage of grouped_gemm.h, by one thread.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// The lines from `line` on: one or two boxes of them, or, where the CTAs of a cluster share them, this one's box for
// all. Always: they share them in every tile.
template <int Cluster, bool Always = false>
WW_FN void load_operand(Shared<uint8_t> to, const TensorMap* map, TensorBox box, int boxes, bool shared, int k,
                        int line, Shared<Mbarrier> full) {
  if (Always || shared) {  // unreached [-c1-]: a cluster of one shares nothing
    constexpr uint16_t everyone = (1u << Cluster) - 1;
    const int rank = int(machine::cluster_rank());
    machine::tma_load_multicast(to.plus_bytes(box.bytes() * uint32_t(rank)), map,
                                machine::Coords<2>{k, line + rank * box.outer}, full, everyone);
    return;
  }
  if constexpr (!Always) {
    WW_UNROLL
    for (int i = 0; i < 2; ++i) {
      if (i < boxes) {
        machine::tma_load(to.plus_bytes(box.bytes() * uint32_t(i)), map, machine::Coords<2>{k, line + i * box.outer},
                          full);
      }
    }
  }
}

// An operand that is stored along m or n, in panels: all of them, or, where CTAs may share it and do, this one's for
// all. corner(panel) is where one begins.
template <int Cluster, int Panels, bool MayShare, class Corner>
WW_FN void load_panels(Shared<uint8_t> to, const TensorMap* map, TensorBox box, bool shared, Corner&& corner,
                       Shared<Mbarrier> full) {
  if constexpr (MayShare) {
    if (shared) {
      constexpr int each = Panels / Cluster;
      constexpr uint16_t everyone = (1u << Cluster) - 1;
      const int first = int(machine::cluster_rank()) * each;
      WW_UNROLL
      for (int i = 0; i < each; ++i) {
        machine::tma_load_multicast(to.plus_bytes(box.bytes() * uint32_t(first + i)), map, corner(first + i), full,
                                    everyone);
      }
      return;
    }
  }
  WW_UNROLL
  for (int panel = 0; panel < Panels; ++panel) {
    machine::tma_load(to.plus_bytes(box.bytes() * uint32_t(panel)), map, corner(panel), full);
  }
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

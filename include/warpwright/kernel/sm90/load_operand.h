// One operand of a stage of grouped_gemm.h, by one thread.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// The lines from `line` on: one or two boxes of them, or, where the CTAs of a cluster share them, this one's box for
// all.
template <int Cluster>
WW_FN void load_operand(Shared<uint8_t> to, const TensorMap* map, TensorBox box, int boxes, bool shared, int k,
                        int line, Shared<Mbarrier> full) {
  if (shared) {  // unreached [-c1-]: a cluster of one shares nothing
    constexpr uint16_t everyone = (1u << Cluster) - 1;
    const int rank = int(machine::cluster_rank());
    machine::tma_load_multicast(to.plus_bytes(box.bytes() * uint32_t(rank)), map,
                                machine::Coords<2>{k, line + rank * box.outer}, full, everyone);
    return;
  }
  WW_UNROLL
  for (int i = 0; i < 2; ++i) {
    if (i < boxes) {
      machine::tma_load(to.plus_bytes(box.bytes() * uint32_t(i)), map, machine::Coords<2>{k, line + i * box.outer},
                        full);
    }
  }
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

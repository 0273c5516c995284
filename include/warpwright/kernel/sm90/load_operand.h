// One operand of a stage of grouped_gemm.h, by one thread.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// One or two boxes of lines, or, where the CTAs of a cluster share them, this one's box for all. corner(i) is where box
// i begins. Always: they share them in every tile.
template <int Cluster, bool Always = false, class Corner>
WW_FN void load_operand(Shared<uint8_t> to, const TensorMap* map, TensorBox box, int boxes, bool shared,
                        Corner&& corner, Shared<Mbarrier> full) {
  if (Always || shared) {  // unreached [-c1-]: a cluster of one shares nothing
    constexpr uint16_t everyone = (1u << Cluster) - 1;
    const int rank = int(machine::cluster_rank());
    machine::tma_load_multicast(to.plus_bytes(box.bytes() * uint32_t(rank)), map, corner(rank), full, everyone);
    return;
  }
  if constexpr (!Always) {
    WW_UNROLL
    for (int i = 0; i < 2; ++i) {
      if (i < boxes) machine::tma_load(to.plus_bytes(box.bytes() * uint32_t(i)), map, corner(i), full);
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

// Rows of A from `line` on, in `boxes` boxes where k is contiguous. Paired CTAs that work side by side (`beside`) share
// them.
template <GroupedGemmConfig C>
WW_FN void load_a(Shared<uint8_t> to, const TensorMap* map, int boxes, bool beside, int k, int line,
                  Shared<Mbarrier> full) {
  if constexpr (C.a_major == Major::K) {
    load_operand<C.cluster, C.cluster_n() != 1>(
        to, map, C.a_box(), boxes, beside,
        [&](int box) {
          return machine::Coords<2>{k, line + box * C.a_box().outer};
        },
        full);
  } else {
    load_panels<C.cluster, C.tile_m / C.panel_rows(), C.cluster_n() != 1>(
        to, map, C.a_box(), true,
        [&](int panel) {
          return machine::Coords<2>{line + panel * C.panel_rows(), k};
        },
        full);
  }
}
// Where a K-major box of B begins that is for the columns of D from `line` on, counted from the first row of the map of
// B, or in pairs from the first column of `matrix`.
template <GroupedGemmConfig C>
WW_FN auto b_corner(int k, int line, [[maybe_unused]] int matrix) {
  if constexpr (C.in_pairs()) {
    return machine::Coords<5>{k, 0, 0, line / (kPairedRows / 2), matrix};
  } else {
    return machine::Coords<2>{k, line};
  }
}
// Rows of B from `line` on, those of `matrix` if the map has it as a dimension. With swiglu, gates and ups come
// together in pairs, or one after the other, the ups from half of B further on. Paired CTAs that work side by side have
// their own.
template <GroupedGemmConfig C>
WW_FN void load_b(Shared<uint8_t> to, const GroupedGemmArgs& args, bool beside, int k, int line, int matrix,
                  Shared<Mbarrier> full) {
  if constexpr (C.b_major == Major::K) {
    WW_UNROLL
    for (int half = 0; half < C.column_blocks(); ++half) {
      constexpr uint32_t bytes = C.b_bytes() / C.column_blocks();
      const int first = line + half * (args.n / C.operands());
      load_operand<C.cluster>(
          to.plus_bytes(bytes * uint32_t(half)), &args.b, C.b_box(), C.paired() ? 2 : 1, C.cluster_m() > 1 && !beside,
          [&](int box) { return b_corner<C>(k, first + box * C.box_columns(), matrix); }, full);
    }
  } else {
    load_panels<C.cluster, C.tile_n / C.panel_rows(), C.cluster_m() != 1>(
        to, &args.b, C.b_box(), !beside,
        [&](int panel) {
          return machine::Coords<3>{line + panel * C.panel_rows(), k, matrix};
        },
        full);
  }
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

// Groups along k of the grouped Blackwell kernel: each is a range of columns of A and B, with any beginning and end.
// The TMA brings whole stages, the first from a multiple of 16 bytes on where operands are stored along k; the MMA warp
// clears what belongs to other groups in the first and the last stage, as far as an MMA reads it.
#pragma once
#include "warpwright/kernel/clear_depth.h"
#include "warpwright/kernel/sm100/dense/dense_load.h"
#include "warpwright/kernel/sm100/dense/dense_multiply.h"
#include "warpwright/kernel/sm100/grouped/config.h"
#include "warpwright/pipeline/handoff.h"
#include "warpwright/tile/groups.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// Releases a stage that MMAs read and that the warp may have written to: the commit vouches for the MMAs; a lane, which
// has met the others after their writes, arrives for those.
struct ReleaseCleared {
  static constexpr int cta_group = 1;
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    pipeline::ReleaseByWarpCommit<1>::release(empty, at);
    if (machine::lane_index() == 0) machine::mbarrier_arrive(empty, 1, at);
  }
};

template <GroupedGemmSm100Config C>
struct AlongK {
  static constexpr DenseGemmSm100Config kDense = C.dense();
  static constexpr bool kAlongK = C.a_major == Major::K;  // how operands are stored
  static constexpr int kTileK = kDense.tile_k(), kMmaK = mma_k(C.type);
  using Multiply = PlainMultiply<kDense, C.a_major>;

  // Elements of other groups before the first one of this group, at the beginning of its first stage.
  WW_FN static int head(const tile::GroupTile& tile) { return kAlongK ? tile.first_k % (128 / bits(C.type)) : 0; }
  // Stages of a tile.
  WW_FN static int steps(const tile::GroupTile& tile) {
    return tile.k == 0 ? 0 : tile::ceil_div(head(tile) + tile.k, kTileK);
  }

  // One thread: both operands of a stage.
  template <class Tile>
  WW_FN static void load(const GroupedGemmSm100Args& args, const Tile& to, int k, int a_row, int b_row,
                         Shared<Mbarrier> full) {
    using Load = DenseLoad<kDense>;
    if constexpr (kAlongK) {
      Load::template load_box<false, 2>(to.a, &args.a, {{k, a_row}}, full, 0);
      Load::template load_box<false, 2>(to.b, &args.b, {{k, b_row}}, full, 0);
    } else {
      constexpr TensorBox box = C.panel_box();
      const auto panels = [&](Shared<uint8_t> at, const TensorMap* map, int row, int count) {
        for (int i = 0; i < count; ++i) {
          Load::template load_box<false, 2>(at.plus_bytes(box.bytes() * uint32_t(i)), map, {{row + i * box.inner, k}},
                                            full, 0);
        }
      };
      panels(to.a, &args.a, a_row, kDense.tile_m / box.inner);
      panels(to.b, &args.b, b_row, C.tile_n / box.inner);
    }
  }

  // The whole warp: the product of stage `step` of a tile.
  template <class Tile>
  WW_FN static void multiply(Tmem sums, const tile::GroupTile& tile, const Tile& operands, int step) {
    const int begin = step == 0 ? head(tile) : 0, left = head(tile) + tile.k - step * kTileK;
    const int end = left < kTileK ? left : kTileK, mmas = tile::ceil_div(end, kMmaK);
    if (begin != 0 || end != mmas * kMmaK) {
      clear(operands, begin, end, mmas * kMmaK);
      machine::fence_proxy_async<ProxySpace::shared_cta>();
      machine::sync_warp();
    }
    if (machine::elect_one()) Multiply::issue(sums, operands, step == 0, mmas);
  }

 private:
  template <class Tile>
  WW_FN static void clear(const Tile& operands, [[maybe_unused]] int begin, int end, int stop) {
    if constexpr (kAlongK) {
      constexpr SmemTile tile{C.type, kDense.tile_m > C.tile_n ? kDense.tile_m : C.tile_n, kTileK};
      clear_lines<tile, kWarpThreads>(operands.a, kDense.tile_m, begin, end, stop);
      clear_lines<tile, kWarpThreads>(operands.b, C.tile_n, begin, end, stop);
    } else {
      constexpr TensorBox box = C.panel_box();
      clear_panels<box.bytes(), kWarpThreads>(operands.a, kDense.tile_m / box.inner, end, stop);
      clear_panels<box.bytes(), kWarpThreads>(operands.b, C.tile_n / box.inner, end, stop);
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

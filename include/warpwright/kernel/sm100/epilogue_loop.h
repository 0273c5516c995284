// The one loop over accumulators of the Blackwell kernels: who holds tensor memory, tile after tile, and how a tile is
// read out in steps. What happens to the values is up to each kernel.
#pragma once
#include "warpwright/kernel/sm100/epilogue_layout.h"
#include "warpwright/warp/epilogue_warp.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// K is the kernel, C the tile and the warps of its epilogue.
template <DenseGemmSm100Config C, class K>
struct EpilogueLoop {
  using Layout = EpilogueLayout<C>;
  using Share = typename Layout::Share;
  using Warp = warp::EpilogueWarpContext<K::output, K::kMmaThreads, K::kEpilogueThreads>;

  // All threads of the role: each(epilogue, tile) for every tile of the walk.
  template <class Tile, class Walk, class Each>
  WW_FN static void over_tiles(uint32_t base, const KernelContext& self, Walk walk, Each&& each) {
    Warp::run(Warp::Sync::wait(), warp::output_storage<K, K::output>(base), self.mma_complete_mask, [&](auto epilogue) {
      for (Tile tile; walk.next(tile);) each(*epilogue, tile);
      return stdx::move(epilogue).release();
    });
  }

  // Calls put(step, values) for every Count accumulators of this thread, in order.
  template <int Count, class Epilogue, class Put>
  WW_FN static void in_steps(Epilogue& epilogue, const Share& mine, bool has_product, Put&& put) {
    constexpr int last = Layout::kWidth / Count - 1;
    machine::TmemRegisters<Count> values;
    epilogue.output().consumer().consume([&](auto sums) {
      const Tmem from = sums->tmem().lane(mine.lanes).column(mine.first_accumulator());
      for (int step = 0; step < last; ++step) {
        if (has_product) read(values, from.column(uint32_t(step * Count)));
        put(step, values);
      }
      // What is in registers no longer needs the accumulator: the next MMAs may have it during the last stores.
      if (has_product) read(values, from.column(uint32_t(last * Count)));
      return stdx::move(sums).release();
    });
    put(last, values);
  }

  template <int Count>
  WW_FN static void read(machine::TmemRegisters<Count>& values, Tmem from, machine::here at = {}) {
    machine::tcgen05_ld<machine::TmemShape::b32x32, Count>(values, from, at);
    machine::tcgen05_wait_ld(at);
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

// The main loop of an MMA warpgroup whose operands have blockwise scales: the sums of every block along k are
// multiplied by theirs and added to totals in ordinary registers.
#pragma once
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/block_scales.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// The scales of all blocks of a warpgroup. Blocks side by side have the same rows.
template <GroupedGemmConfig C>
struct StageScales {
  BlockScales<C> blocks[C.group_blocks()];
  WW_FN static StageScales read(Shared<float> slot, int row) {
    StageScales s{};
    WW_UNROLL
    for (int block = 0; block < C.group_blocks(); ++block) {
      if (block % C.column_blocks() == 0) {
        s.blocks[block] = BlockScales<C>::of(slot, row + 64 * (block / C.column_blocks()), 0);
      } else {
        s.blocks[block].read_columns(slot, block % C.column_blocks());
      }
    }
    return s;
  }
  template <class Totals, class Sums>
  WW_FN void promote(int block, Totals& totals, const Sums& sums) const {
    blocks[block].promote(blocks[block / C.column_blocks() * C.column_blocks()].a, totals, sums);
  }
};

// Every block of a stage goes through the same registers: its sums must be added up before the next one starts. What
// does not depend on them, the wait for the next stage and its scales, is done while the tensor core works.
// `slot_at(index)` is a slot of the ring of scales, `row` the thread's first row in the tile; start(block, stage)
// starts the MMAs of one block and commits them.
template <GroupedGemmConfig C, class Totals, class Sums, class Input, class Slots, class SlotAt, class Start>
WW_FN void accumulate_scaled(Totals (&totals)[C.group_blocks()], const Sums& sums, Input& input, Slots& scales, int row,
                             int depth, SlotAt slot_at, Start start) {
  constexpr int blocks = C.group_blocks(), last = blocks - 1;
  clear(totals);
  if (depth == 0) return;
  if constexpr (C.row_scales() && blocks > 1) {
    // Scales of single columns stay in their slot until all blocks are added up.
    for (int k = 0; k < depth; ++k) {
      scales.consume([&](auto slot) {
        const StageScales<C> now = StageScales<C>::read(slot_at(slot->index()), row);
        input.consume([&](auto stage) {
          WW_UNROLL
          for (int block = 0; block < blocks; ++block) {
            if (block > 0) now.promote(block - 1, totals[block - 1], sums);
            start(block, stage->index());
            machine::wgmma_wait<0>();
          }
          return stdx::move(stage).release();
        });
        now.promote(last, totals[last], sums);
        return stdx::move(slot).release();
      });
    }
    return;
  }
  StageScales<C> now{};
  // All blocks but the last one are added up too.
  const auto start_all = [&](int stage) {
    start(0, stage);
    if constexpr (!C.row_scales()) {
      scales.consume([&](auto slot) {
        now = StageScales<C>::read(slot_at(slot->index()), row);
        return stdx::move(slot).release();
      });
    }
    WW_UNROLL
    for (int block = 1; block < blocks; ++block) {
      machine::wgmma_wait<0>();
      now.promote(block - 1, totals[block - 1], sums);
      start(block, stage);
    }
  };
  const auto add_up_last = [&] {
    if constexpr (C.row_scales()) {
      scales.consume([&](auto slot) {
        StageScales<C>::read(slot_at(slot->index()), row).promote(last, totals[last], sums);
        return stdx::move(slot).release();
      });
    } else {
      now.promote(last, totals[last], sums);
    }
  };
  input.consume_overlapped(
      depth,
      [&](auto current) {
        start_all(current->index());
        return stdx::move(current).keep();
      },
      [&](auto previous, auto current) {
        machine::wgmma_wait<0>();
        return stdx::move(previous).release_keep_then(stdx::move(current), [&](const auto& stage) {
          add_up_last();
          start_all(stage.index());
        });
      },
      [&](auto previous) {
        machine::wgmma_wait<0>();
        return stdx::move(previous).release();
      });
  add_up_last();
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

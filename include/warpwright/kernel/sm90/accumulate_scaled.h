// The main loop of an MMA warpgroup whose operands have blockwise scales: the sums of every block along k are
// multiplied by theirs and added to totals in ordinary registers.
#pragma once
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/block_scales.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Every block of a stage goes through the same registers: its sums must be added up before the next one starts. What
// does not depend on them, the wait for the next stage and the reading of its scales, is done while the tensor core
// works. `row` is the thread's first row in the tile, `offset` that of the tile's first column in its 128;
// start(block, stage) starts the MMAs of one block and commits them. Only the first `Blocks` of a stage are there;
// leave_out() stands for each of the others.
template <GroupedGemmConfig C, int Blocks, class Totals, class Sums, class Input, class Start, class LeaveOut>
WW_FN void accumulate_scaled(Totals (&totals)[C.group_blocks()], const Sums& sums, Input& input, Shared<float> slots,
                             int row, int offset, int depth, Start start, LeaveOut leave_out) {
  constexpr int blocks = Blocks, last = blocks - 1;
  clear(totals);
  if (depth == 0) return;
  StageScales<C> now{};
  // All blocks but the last one are added up too.
  const auto start_all = [&](int stage) {
    start(0, stage);
    now = StageScales<C>::read(ScaleSlots<C>::slot(slots, stage), row);
    WW_UNROLL
    for (int block = 1; block < blocks; ++block) {
      machine::wgmma_wait<0>();
      now.promote(block - 1, offset, totals[block - 1], sums);
      start(block, stage);
    }
  };
  // Scales of single columns are read while sums are added up: before the stage is handed back.
  const auto add_up_in_stage = [&] {
    if constexpr (C.row_scales()) now.promote(last, offset, totals[last], sums);
  };
  const auto add_up = [&] {
    if constexpr (!C.row_scales()) now.promote(last, offset, totals[last], sums);
    for (int block = blocks; block < C.group_blocks(); ++block) leave_out();
  };
  input.consume_overlapped(
      depth,
      [&](auto current) {
        start_all(current->index());
        return stdx::move(current).keep();
      },
      [&](auto previous, auto current) {
        machine::wgmma_wait<0>();
        add_up_in_stage();
        return stdx::move(previous).release_keep_then(stdx::move(current), [&](const auto& stage) {
          add_up();
          start_all(stage.index());
        });
      },
      [&](auto previous) {
        machine::wgmma_wait<0>();
        add_up_in_stage();
        return stdx::move(previous).release();
      });
  add_up();
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

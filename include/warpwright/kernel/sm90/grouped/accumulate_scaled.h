// The main loop of an MMA warpgroup whose operands have blockwise scales: the sums of every block along k are
// multiplied by theirs and added to totals in ordinary registers.
#pragma once
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/grouped/block_scales.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Every block of a stage goes through the same registers, so its sums must be added up before the next one starts.
// What does not depend on them, the wait for the next stage and the reading of its scales, is done while the
// tensor core works. `offset` is that of the tile's first column in its 128. Only the first `Blocks` of a stage
// are there.
//   leave_out()          stands for each block that is not there
//   begun()              once, while the first MMAs run if others follow
//   done(block)          the totals of a block are complete; while the MMAs of the next one run
template <GroupedGemmConfig C, int Blocks, class Totals, class Sums, class Input, class Start, class LeaveOut,
          class Begun, class Done>
WW_FN void accumulate_scaled(Totals (&totals)[C.group_blocks()], const Sums& sums, Input& input, Shared<float> slots,
                             const SumPlace& place, int offset, int depth, Start start, LeaveOut leave_out, Begun begun,
                             Done done) {
  constexpr int blocks = Blocks, last = blocks - 1;
  clear(totals);
  if (depth <= 1) begun();
  if (depth == 0) {
    WW_UNROLL
    for (int block = 0; block < blocks; ++block) done(block);
    return;
  }
  StageScales<C> now{};
  // All blocks but the last one are added up too.
  const auto start_all = [&](int stage, auto first_of_many, auto last_of_all) {
    start(0, stage);
    if constexpr (first_of_many()) begun();
    now = StageScales<C>::read(ScaleSlots<C>::slot(slots, stage), place);
    WW_UNROLL
    for (int block = 1; block < blocks; ++block) {
      machine::wgmma_wait<0>();
      now.promote(block - 1, offset, totals[block - 1], sums);
      start(block, stage);
      if constexpr (last_of_all()) done(block - 1);
    }
  };
  constexpr stdx::true_type yes;
  constexpr stdx::false_type no;
  // Scales of single columns are read while sums are added up: before the stage is handed back.
  const auto add_up_in_stage = [&] {
    if constexpr (C.row_scales()) now.promote(last, offset, totals[last], sums);
  };
  const auto add_up = [&] {
    if constexpr (!C.row_scales()) now.promote(last, offset, totals[last], sums);
    for (int block = blocks; block < C.group_blocks(); ++block) leave_out();
  };
  // The last stage stands alone: it costs the others no branch.
  input.consume_overlapped(
      depth - 1,
      [&](auto current) {
        start_all(current->index(), yes, no);
        return stdx::move(current).keep();
      },
      [&](auto previous, auto current) {
        machine::wgmma_wait<0>();
        add_up_in_stage();
        return stdx::move(previous).release_keep_then(stdx::move(current), [&](const auto& stage) {
          add_up();
          start_all(stage.index(), no, no);
        });
      },
      [&](auto previous) {
        machine::wgmma_wait<0>();
        add_up_in_stage();
        return stdx::move(previous).release();
      });
  if (depth > 1) add_up();
  input.consume([&](auto stage) {
    start_all(stage->index(), no, yes);
    machine::wgmma_wait<0>();
    add_up_in_stage();
    return stdx::move(stage).release();
  });
  add_up();
  done(last);
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

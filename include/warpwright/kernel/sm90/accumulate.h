// The main loop of an MMA warpgroup: the stages of one tile, from the ring into the accumulators.
#pragma once
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/pipeline/unroll.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// issue(stage, fresh) starts the MMAs of a stage and commits them; `fresh` forgets what the accumulators held.
// Overlapped: stage k-1 is handed back while the MMAs of stage k run.
template <bool Overlapped, class Sums, class Input, class Issue>
WW_FN void accumulate_stages(Sums& sums, Input& input, int depth, Issue issue) {
  if (depth == 0) {
    WW_UNROLL
    for (int i = 0; i < Sums::kRegisters; ++i) sums.set(i, 0.f);
  } else if constexpr (Overlapped) {
    input.consume_overlapped(
        depth,
        [&](auto current) {
          issue(current->index(), true);
          return stdx::move(current).keep();
        },
        [&](auto previous, auto current) {
          issue(current->index(), false);
          machine::wgmma_wait<1>();
          return stdx::move(previous).release_keep(stdx::move(current));
        },
        [&](auto previous) {
          machine::wgmma_wait<0>();
          return stdx::move(previous).release();
        });
  } else {
    for (int k = 0; k < depth; ++k) {
      input.consume([&](auto stage) {
        issue(stage->index(), k == 0);
        machine::wgmma_wait<0>();
        return stdx::move(stage).release();
      });
    }
  }
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

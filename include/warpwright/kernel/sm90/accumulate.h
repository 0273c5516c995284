// The main loop of an MMA warpgroup: the stages of one tile, from the ring into the accumulators.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Sums in ordinary registers, beside those that the tensor core adds to; laid out like machine::Accumulator<N>.
template <int N>
class Totals {
 public:
  static constexpr int kRegisters = N / 2;
  WW_FN float get(int i) const { return v_[i]; }
  WW_FN void set(int i, float v) { v_[i] = v; }

 private:
  float v_[kRegisters];
};

template <class Sums>
WW_FN void clear(Sums& sums) {
  WW_UNROLL
  for (int i = 0; i < Sums::kRegisters; ++i) sums.set(i, 0.f);  // unreached [by_threads]: other kernels have no depth
}
template <class Sums, int Blocks>
WW_FN void clear(Sums (&sums)[Blocks]) {
  WW_UNROLL
  for (int block = 0; block < Blocks; ++block) clear(sums[block]);
}

// issue(stage, fresh) starts the MMAs of a stage and commits them; `fresh` forgets what the accumulators held.
// issued() follows the last of them. Overlapped: stage k-1 is handed back while the MMAs of stage k run.
template <bool Overlapped, class Sums, class Input, class Issue, class Issued>
WW_FN void accumulate_stages(Sums& sums, Input& input, int depth, Issue issue, Issued issued) {
  if (depth == 0) {
    clear(sums);
    issued();
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
          issued();
          machine::wgmma_wait<0>();
          return stdx::move(previous).release();
        });
  } else {
    for (int k = 0; k < depth; ++k) {
      input.consume([&](auto stage) {
        issue(stage->index(), k == 0);
        if (k + 1 == depth) issued();
        machine::wgmma_wait<0>();
        return stdx::move(stage).release();
      });
    }
  }
}
template <bool Overlapped, class Sums, class Input, class Issue>
WW_FN void accumulate_stages(Sums& sums, Input& input, int depth, Issue issue) {
  accumulate_stages<Overlapped>(sums, input, depth, issue, [] {});
}

// The same, with the sums of every `each` stages added to `totals`.
template <bool Overlapped, class Totals, class Sums, int Blocks, class Input, class Issue, class Issued>
WW_FN void accumulate_promoted(Totals (&totals)[Blocks], Sums (&sums)[Blocks], Input& input, int depth, int each,
                               Issue issue, Issued issued) {
  clear(totals);
  for (int k = 0; k < depth; k += each) {
    accumulate_stages<Overlapped>(sums, input, depth - k < each ? depth - k : each, issue);
    WW_UNROLL
    for (int block = 0; block < Blocks; ++block) {
      WW_UNROLL
      for (int i = 0; i < Totals::kRegisters; ++i) {
        totals[block].set(i, totals[block].get(i) + sums[block].get(i));
      }
    }
  }
  issued();
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

// The warp that owns tensor memory and multiplies. API of pipeline/ and warp/ in short:
//
//   plan:      const OutputPipelineConfig opc = declare_output(plan, {.num_stages = 2, .stage_stride_cols = 128});
//              adds accum.full, accum.empty, tmem.done, tmem.peer (of a pair), tmem.address, the named barrier and the
//              tensor memory
//   storage:   const auto out = warp::output_storage<K, opc>(base);
//   MMA warp:  auto mma = MmaWarp<opc, 32, 128>::create(out, context.mma_complete_mask);         flat, whole warp
//              auto sums = mma.acquire_k_stage_linear();              waits for accum.empty
//              if (machine::elect_one()) tcgen05_mma(sums->tmem().address(), ...);
//              stdx::move(sums).release();                            the one commit to accum.full
//              stdx::move(mma).release();                             relinquish, wait for the epilogue, deallocate
//   or scoped: MmaWarpContext<opc, 32, 128>::run(out, mask, [&](auto mma) {
//                mma->output().producer().produce([&](auto sums) { ...; return stdx::move(sums).release(); });
//                return stdx::move(mma).release(); });
//   epilogue:  auto epilogue = EpilogueWarp<opc, 32, 128>::create(Epilogue::Sync::wait(), out, mask);   every thread
//              auto sums = epilogue.acquire_k_stage_linear();         waits for accum.full
//              tcgen05_ld(..., sums->tmem().lane(32 * warp)); tcgen05_wait_ld();
//              stdx::move(sums).release();                            arrives on accum.empty
//              stdx::move(epilogue).release();                        signals peer and self
//   or scoped: EpilogueWarpContext<opc, 32, 128>::run(Sync::wait(), out, mask, [&](auto epilogue) { ... });
//   input:     InputTilePipeline<Payload, groups, k_group_size, Free> (pipeline/input_tile.h)
//   pair mode: create() of the leader returns when the peer has allocated; the peer's MMA warp creates, acquires
//              nothing and releases; both CTAs' epilogues do all of the above; the kernel runs in
//              pipeline::run_block<K>(base, roles).
#pragma once
#include "warpwright/warp/output_warp.h"

namespace warpwright::inline WW_WORLD::warp {

namespace detail {
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct MmaSide {
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;
  using Pipeline = typename Types::Pipeline;
  static constexpr bool needs_token = false;
  // Named here because gcc 12 crashes on an alias that spells the class with a dependent configuration.
  using Linear = LinearWarp<MmaSide>;
  using Scoped = ScopedWarp<MmaSide>;

  // Allocates, lets the epilogue read the address, and in pair mode meets the peer: whoever has the result may
  // multiply.
  struct Core : WarpCore<opc> {
    WW_FN Core(OutputStorage<opc> storage, uint16_t mask, machine::here at)
        : WarpCore<opc>(storage, Types::Tmem::allocate(storage.tmem_address, at), mask) {
      Types::Sync::arrive(at);
      pipeline::TmemPeerBarrier<opc.cta_group>(storage.peer).meet(at);
    }
    // Relinquishes the right to allocate, waits for the epilogue and deallocates.
    WW_FN void finish(machine::here at) { this->dealloc.complete_dealloc(this->output.tmem(), at); }
  };

  WW_FN static pipeline::MmaKStage<opc> per_k_stage(Pipeline& output) { return output.per_k().produce(); }
  using LinearStage = linear::Owned<pipeline::MmaStage<opc>>;
  WW_LINEAR_MAKES WW_FN static LinearStage acquire(Pipeline& output, machine::here at) {
    return output.acquire_mma_linear(at);
  }
};
}  // namespace detail

// By one whole, converged warp of each CTA, in pair mode of both.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
using MmaWarp = typename detail::MmaSide<opc, mma_threads, epilogue_threads>::Linear;
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
using MmaWarpContext = typename detail::MmaSide<opc, mma_threads, epilogue_threads>::Scoped;

}  // namespace warpwright::inline WW_WORLD::warp

// The warps that read accumulators. The order of their life is in the types: the wait for the MMA warp gives the token
// that create() needs, so the address of tensor memory cannot be read before it is there. See warp/mma_warp.h.
#pragma once
#include "warpwright/pipeline/input_tile.h"
#include "warpwright/warp/output_warp.h"

namespace warpwright::inline WW_WORLD::warp {

namespace detail {
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct EpilogueSide {
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;
  using Pipeline = typename Types::Pipeline;
  static constexpr bool needs_token = true;
  // Named here because gcc 12 crashes on an alias that spells the class with a dependent configuration.
  using Linear = LinearWarp<EpilogueSide>;
  using Scoped = ScopedWarp<EpilogueSide>;

  struct Core : WarpCore<opc> {
    WW_FN Core(OutputStorage<opc> storage, uint16_t mask, machine::here at)
        : WarpCore<opc>(storage, Types::Tmem::from_shared(storage.tmem_address, at), mask) {}
    // After the wait for the last tcgen05.ld: tells the peer's MMA warp and the own one that this thread is done.
    WW_FN void finish(machine::here at) { this->dealloc.signal_complete(at); }
  };

  template <class Payload, int groups, int k_group_size, class Free>
  WW_FN static pipeline::EpilogueKContext<opc, groups> per_k_stage(
      Pipeline& output, pipeline::InputTilePipeline<Payload, groups, k_group_size, Free>& input) {
    static_assert(k_group_size == 1, "an accumulator per K tile: groups of several tiles do not fit");
    return output.per_k_epilogue(input.pipeline());
  }
  using LinearStage = linear::Owned<pipeline::EpilogueStage<opc>>;
  WW_LINEAR_MAKES WW_FN static LinearStage acquire(Pipeline& output, machine::here at) {
    return output.acquire_epilogue_linear(at);
  }
};
}  // namespace detail

// By every epilogue thread, also by those without work.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
using EpilogueWarp = typename detail::EpilogueSide<opc, mma_threads, epilogue_threads>::Linear;
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
using EpilogueWarpContext = typename detail::EpilogueSide<opc, mma_threads, epilogue_threads>::Scoped;

}  // namespace warpwright::inline WW_WORLD::warp

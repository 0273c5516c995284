// The warps that read accumulators. The order of their life is in the types: the wait for the MMA warp gives the token
// that create() needs, so the address of tensor memory cannot be read before it is there. See warp/mma_warp.h.
#pragma once
#include "warpwright/pipeline/input_tile.h"
#include "warpwright/warp/warp_types.h"

namespace warpwright::inline WW_WORLD::warp {

namespace detail {
template <class Types, OutputPipelineConfig opc>
struct EpilogueCore : WarpCore<opc> {
  WW_FN EpilogueCore(OutputStorage<opc> storage, uint16_t mask, machine::here at)
      : WarpCore<opc>(storage, Types::Tmem::from_shared(storage.tmem_address, at), mask) {}
  WW_FN void finish(machine::here at) { this->dealloc.signal_complete(at); }
};
}  // namespace detail

// Linear and immovable: stages point into it. By every epilogue thread, also by those without work.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
class WW_LINEAR_HANDLE EpilogueWarp {
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;

 public:
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;
  using Token = typename Sync::Token;
  using Storage = OutputStorage<opc>;
  using Here = machine::here;

  EpilogueWarp(const EpilogueWarp&) = delete;
  EpilogueWarp& operator=(const EpilogueWarp&) = delete;
  WW_LINEAR_CONSUMED(callable_when("consumed")) WW_FN ~EpilogueWarp() { life_.leave(); }

  WW_LINEAR_MAKES WW_FN static EpilogueWarp create(const Token&, Storage storage, uint16_t mma_complete_mask,
                                                   machine::here at = {}) {
    return EpilogueWarp(storage, mma_complete_mask, at);
  }
  WW_LINEAR_MAKES WW_FN static EpilogueWarp create(const Token&, Shared<uint32_t> tmem_address,
                                                   typename Pipeline::Ring accum_barriers,
                                                   Shared<Mbarrier> dealloc_barrier, uint16_t mma_complete_mask,
                                                   machine::here at = {}) {
    return EpilogueWarp({tmem_address, accum_barriers, dealloc_barrier}, mma_complete_mask, at);
  }

  WW_LINEAR_LIVE WW_FN Tmem tmem() const { return core_.output.tmem(); }
  WW_LINEAR_LIVE WW_FN Pipeline& output() {
    life_.use();
    return core_.output;
  }
  WW_LINEAR_LIVE WW_FN Dealloc dealloc_barrier() const { return core_.dealloc; }

  // One round per K tile with the input stage whose scales it needs: per_k_stage(input).run(body).
  template <class Payload, int groups, int k_group_size, class Free>
  WW_LINEAR_LIVE WW_FN pipeline::EpilogueKContext<opc, groups> per_k_stage(
      pipeline::InputTilePipeline<Payload, groups, k_group_size, Free>& input) {
    static_assert(k_group_size == 1, "an accumulator per K tile: groups of several tiles do not fit");
    return output().per_k_epilogue(input.pipeline());
  }
  WW_LINEAR_LIVE WW_LINEAR_MAKES WW_FN linear::Owned<pipeline::EpilogueStage<opc>> acquire_k_stage_linear(
      machine::here at = {}) {
    return output().acquire_epilogue_linear(at);
  }

  // After the wait for the last tcgen05.ld: tells the peer's MMA warp and the own one that this thread is done.
  WW_LINEAR_ENDS WW_FN void release(machine::here at = {}) && {
    life_.end();
    core_.finish(at);
  }
  template <class... Arguments>
  WW_FN void release(Arguments&&...) & {
    static_assert(linear::never<Arguments...>, "linear: release() ends the handle: write std::move(handle).release()");
  }

 private:
  WW_LINEAR_MAKES WW_FN EpilogueWarp(Storage storage, uint16_t mask, machine::here at) : core_(storage, mask, at) {}

  detail::EpilogueCore<Types, opc> core_;
  [[no_unique_address]] linear::Life life_;
};

// The scoped form. The body receives a handle and ends in `return stdx::move(epilogue).release();`.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
class EpilogueWarpContext {
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;
  using Core = detail::EpilogueCore<Types, opc>;

 public:
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;
  using Token = typename Sync::Token;
  using Here = machine::here;
  EpilogueWarpContext(EpilogueWarpContext&&) = default;
  EpilogueWarpContext& operator=(EpilogueWarpContext&&) = default;

  template <class Body>
  WW_FN static auto run(const Token&, OutputStorage<opc> storage, uint16_t mma_complete_mask, Body&& body,
                        machine::here at = {}) {
    Core core(storage, mma_complete_mask, at);
    return linear::scope(EpilogueWarpContext(&core), body);
  }

  WW_FN Tmem tmem() const { return core_->output.tmem(); }
  WW_FN Pipeline& output() const { return core_->output; }
  WW_FN Dealloc dealloc_barrier() const { return core_->dealloc; }
  template <class Payload, int groups, int k_group_size, class Free>
  WW_FN pipeline::EpilogueKContext<opc, groups> per_k_stage(
      pipeline::InputTilePipeline<Payload, groups, k_group_size, Free>& input) const {
    static_assert(k_group_size == 1, "an accumulator per K tile: groups of several tiles do not fit");
    return output().per_k_epilogue(input.pipeline());
  }
  WW_LINEAR_MAKES WW_FN linear::Owned<pipeline::EpilogueStage<opc>> acquire_k_stage_linear(
      machine::here at = {}) const {
    return output().acquire_epilogue_linear(at);
  }

  WW_FN static void release(EpilogueWarpContext& context, Here at) { context.core_->finish(at); }

 private:
  WW_FN explicit EpilogueWarpContext(Core* core) : core_(core) {}
  Core* core_;
};

}  // namespace warpwright::inline WW_WORLD::warp

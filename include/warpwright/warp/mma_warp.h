// The warp that owns tensor memory and multiplies. API of pipeline/ and warp/ in short:
//
//   plan:      const OutputPipelineConfig opc = declare_output(plan, {.num_stages = 2, .stage_stride_cols = 128});
//              adds accum.full, accum.empty, tmem.done, tmem.peer (of a pair), tmem.address, the named barrier and the
//              tensor memory
//   storage:   const auto out = warp::output_storage<K, opc>(base);
//   MMA warp:  auto mma = MmaWarp<opc, 32, 128>::create(out, context.mma_complete_mask);         flat, whole warp
//              auto sums = mma.acquire_k_stage_linear();              waits for accum.empty
//              if (machine::elect_one()) tcgen05_mma(sums->tmem().address(), ...);
//              stdx::move(sums).release();                            the one commit to accum.full, next stage
//              stdx::move(mma).release();                             relinquish, wait for the epilogue, deallocate
//   or scoped: MmaWarpContext<opc, 32, 128>::run(out, mask, [&](auto mma) {
//                mma->output().producer().produce([&](auto sums) { ...; return stdx::move(sums).release(); });
//                return stdx::move(mma).release(); });
//   epilogue:  auto epilogue = EpilogueWarp<opc, 32, 128>::create(Epilogue::Sync::wait(), out, mask);   every thread
//              auto sums = epilogue.acquire_k_stage_linear();         waits for accum.full
//              tcgen05_ld(..., sums->tmem().lane(32 * warp)); tcgen05_wait_ld();
//              stdx::move(sums).release();                            arrives on accum.empty, next stage
//              stdx::move(epilogue).release();                        signals peer and self
//   or scoped: EpilogueWarpContext<opc, 32, 128>::run(Sync::wait(), out, mask, [&](auto epilogue) { ... });
//   input:     InputTilePipeline<Payload, groups, k_group_size, Free> (pipeline/input_tile.h)
//   pair mode: create() of the leader returns when the peer has allocated; the peer's MMA warp creates, acquires
//              nothing and releases; both CTAs' epilogues do all of the above; the kernel ends in
//              pipeline::leave_cluster<K>().
#pragma once
#include "warpwright/warp/warp_types.h"

namespace warpwright::inline WW_WORLD::warp {

namespace detail {
// Allocates, lets the epilogue read the address, and in pair mode meets the peer: whoever has the result may multiply.
template <class Types, OutputPipelineConfig opc>
struct MmaCore : WarpCore<opc> {
  WW_FN MmaCore(OutputStorage<opc> storage, uint16_t mask, machine::here at)
      : WarpCore<opc>(storage, Types::Tmem::allocate(storage.tmem_address, at), mask) {
    Types::Sync::arrive(at);
    pipeline::TmemPeerBarrier<opc.cta_group>(storage.peer).meet(at);
  }
  WW_FN void finish(machine::here at) { this->dealloc.complete_dealloc(this->output.tmem(), at); }
};
}  // namespace detail

// Linear and immovable: stages point into it. By one whole, converged warp of each CTA, in pair mode of both.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
class WW_LINEAR_HANDLE MmaWarp {
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;

 public:
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;
  using Storage = OutputStorage<opc>;
  using Here = machine::here;

  MmaWarp(const MmaWarp&) = delete;
  MmaWarp& operator=(const MmaWarp&) = delete;
  WW_LINEAR_CONSUMED(callable_when("consumed")) WW_FN ~MmaWarp() { life_.leave(); }

  WW_LINEAR_MAKES WW_FN static MmaWarp create(Storage storage, uint16_t mma_complete_mask, machine::here at = {}) {
    return MmaWarp(storage, mma_complete_mask, at);
  }
  WW_LINEAR_MAKES WW_FN static MmaWarp create(Shared<uint32_t> tmem_address, typename Pipeline::Ring accum_barriers,
                                              Shared<Mbarrier> dealloc_barrier, uint16_t mma_complete_mask,
                                              machine::here at = {}) {
    static_assert(opc.cta_group == 1, "a pair needs a barrier on which the peer says that it has allocated");
    return MmaWarp({tmem_address, accum_barriers, dealloc_barrier}, mma_complete_mask, at);
  }
  // `peer_barrier` expects one arrival.
  WW_LINEAR_MAKES WW_FN static MmaWarp create(Shared<uint32_t> tmem_address, typename Pipeline::Ring accum_barriers,
                                              Shared<Mbarrier> dealloc_barrier, Shared<Mbarrier> peer_barrier,
                                              uint16_t mma_complete_mask, machine::here at = {}) {
    return MmaWarp({tmem_address, accum_barriers, dealloc_barrier, peer_barrier}, mma_complete_mask, at);
  }

  WW_LINEAR_LIVE WW_FN Tmem tmem() const { return core_.output.tmem(); }
  WW_LINEAR_LIVE WW_FN Pipeline& output() {
    life_.use();
    return core_.output;
  }
  WW_LINEAR_LIVE WW_FN Dealloc dealloc_barrier() const { return core_.dealloc; }

  // One round per K tile: per_k_stage().run(body), or the flat form.
  WW_LINEAR_LIVE WW_FN pipeline::MmaKStage<opc> per_k_stage() { return output().per_k().produce(); }
  WW_LINEAR_LIVE WW_LINEAR_MAKES WW_FN linear::Owned<pipeline::MmaStage<opc>> acquire_k_stage_linear(
      machine::here at = {}) {
    return output().acquire_mma_linear(at);
  }

  // Relinquishes the right to allocate, waits for the epilogue and deallocates.
  WW_LINEAR_ENDS WW_FN void release(machine::here at = {}) && {
    life_.end();
    core_.finish(at);
  }
  template <class... Arguments>
  WW_FN void release(Arguments&&...) & {
    static_assert(linear::never<Arguments...>, "linear: release() ends the handle: write std::move(handle).release()");
  }

 private:
  WW_LINEAR_MAKES WW_FN MmaWarp(Storage storage, uint16_t mask, machine::here at) : core_(storage, mask, at) {}

  detail::MmaCore<Types, opc> core_;
  [[no_unique_address]] linear::Life life_;
};

// The scoped form. The body receives a handle and ends in `return stdx::move(mma).release();`.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
class MmaWarpContext {
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;
  using Core = detail::MmaCore<Types, opc>;

 public:
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;
  using Here = machine::here;
  MmaWarpContext(MmaWarpContext&&) = default;
  MmaWarpContext& operator=(MmaWarpContext&&) = default;

  template <class Body>
  WW_FN static auto run(OutputStorage<opc> storage, uint16_t mma_complete_mask, Body&& body, machine::here at = {}) {
    Core core(storage, mma_complete_mask, at);
    return linear::scope(MmaWarpContext(&core), body);
  }

  WW_FN Tmem tmem() const { return core_->output.tmem(); }
  WW_FN Pipeline& output() const { return core_->output; }
  WW_FN Dealloc dealloc_barrier() const { return core_->dealloc; }
  WW_FN pipeline::MmaKStage<opc> per_k_stage() const { return output().per_k().produce(); }
  WW_LINEAR_MAKES WW_FN linear::Owned<pipeline::MmaStage<opc>> acquire_k_stage_linear(machine::here at = {}) const {
    return output().acquire_mma_linear(at);
  }

  WW_FN static void release(MmaWarpContext& context, Here at) { context.core_->finish(at); }

 private:
  WW_FN explicit MmaWarpContext(Core* core) : core_(core) {}
  Core* core_;
};

}  // namespace warpwright::inline WW_WORLD::warp

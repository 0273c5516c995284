// The two forms in which a warp holds its side of the output ring: flat and linear, or scoped. A Side says what
// creating and finishing mean (warp/mma_warp.h, warp/epilogue_warp.h):
//
//   using Types = WarpContextTypes<...>;
//   struct Core : detail::WarpCore<config>     made from (storage, mma_complete_mask, at), ends in finish(at)
//   static constexpr bool needs_token          creation needs the proof that the address was waited for
//   using LinearStage; acquire(output, at), per_k_stage(output, input...)
#pragma once
#include "warpwright/warp/warp_types.h"

namespace warpwright::inline WW_WORLD::warp {

// Immovable: stages point into it.
template <class Side>
class WW_LINEAR_HANDLE LinearWarp {
  using Types = typename Side::Types;
  using Core = typename Side::Core;

 public:
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;
  using Token = typename Sync::Token;
  using Storage = typename Types::Storage;
  using Here = machine::here;

  LinearWarp(const LinearWarp&) = delete;
  LinearWarp& operator=(const LinearWarp&) = delete;
  WW_LINEAR_CONSUMED(callable_when("consumed")) WW_FN ~LinearWarp() { life_.leave(); }

  WW_LINEAR_MAKES WW_FN static LinearWarp create(Storage storage, uint16_t mma_complete_mask,
                                                 machine::here at = {}) requires(!Side::needs_token) {
    return LinearWarp(storage, mma_complete_mask, at);
  }
  WW_LINEAR_MAKES WW_FN static LinearWarp create(const Token&, Storage storage, uint16_t mma_complete_mask,
                                                 machine::here at = {}) requires(Side::needs_token) {
    return LinearWarp(storage, mma_complete_mask, at);
  }
  WW_LINEAR_MAKES WW_FN static LinearWarp create(Shared<uint32_t> tmem_address, typename Pipeline::Ring accum_barriers,
                                                 Shared<Mbarrier> dealloc_barrier, uint16_t mma_complete_mask,
                                                 machine::here at = {}) requires(!Side::needs_token) {
    static_assert(Types::config.cta_group == 1, "a pair needs a barrier on which the peer says that it has allocated");
    return LinearWarp({tmem_address, accum_barriers, dealloc_barrier}, mma_complete_mask, at);
  }
  // `peer_barrier` expects one arrival.
  WW_LINEAR_MAKES WW_FN static LinearWarp create(Shared<uint32_t> tmem_address, typename Pipeline::Ring accum_barriers,
                                                 Shared<Mbarrier> dealloc_barrier, Shared<Mbarrier> peer_barrier,
                                                 uint16_t mma_complete_mask,
                                                 machine::here at = {}) requires(!Side::needs_token) {
    return LinearWarp({tmem_address, accum_barriers, dealloc_barrier, peer_barrier}, mma_complete_mask, at);
  }
  WW_LINEAR_MAKES WW_FN static LinearWarp create(const Token&, Shared<uint32_t> tmem_address,
                                                 typename Pipeline::Ring accum_barriers,
                                                 Shared<Mbarrier> dealloc_barrier, uint16_t mma_complete_mask,
                                                 machine::here at = {}) requires(Side::needs_token) {
    return LinearWarp({tmem_address, accum_barriers, dealloc_barrier}, mma_complete_mask, at);
  }

  WW_LINEAR_LIVE WW_FN Tmem tmem() const { return core_.output.tmem(); }
  WW_LINEAR_LIVE WW_FN Pipeline& output() {
    life_.use();
    return core_.output;
  }
  WW_LINEAR_LIVE WW_FN Dealloc dealloc_barrier() const { return core_.dealloc; }

  // One round per K tile: per_k_stage().run(body), or the flat form. The epilogue names the input ring whose scales it
  // needs: per_k_stage(input).run(body).
  template <class... Input>
  WW_LINEAR_LIVE WW_FN auto per_k_stage(Input&... input) {
    return Side::per_k_stage(output(), input...);
  }
  WW_LINEAR_LIVE WW_LINEAR_MAKES WW_FN typename Side::LinearStage acquire_k_stage_linear(machine::here at = {}) {
    return Side::acquire(output(), at);
  }

  WW_LINEAR_ENDS WW_FN void release(machine::here at = {}) && {
    life_.end();
    core_.finish(at);
  }
  template <class... Arguments>
  WW_FN void release(Arguments&&...) & {
    static_assert(linear::never<Arguments...>, "linear: release() ends the handle: write stdx::move(handle).release()");
  }

 private:
  WW_LINEAR_MAKES WW_FN LinearWarp(Storage storage, uint16_t mask, machine::here at) : core_(storage, mask, at) {}

  Core core_;
  [[no_unique_address]] linear::Life life_;
};

// run(..., body): the body receives a handle and ends in `return stdx::move(handle).release();`.
template <class Side>
class ScopedWarp {
  using Types = typename Side::Types;
  using Core = typename Side::Core;

 public:
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;
  using Token = typename Sync::Token;
  using Storage = typename Types::Storage;
  using Here = machine::here;
  ScopedWarp(ScopedWarp&&) = default;
  ScopedWarp& operator=(ScopedWarp&&) = default;

  template <class Body>
  WW_FN static auto run(Storage storage, uint16_t mma_complete_mask, Body&& body,
                        machine::here at = {}) requires(!Side::needs_token) {
    Core core(storage, mma_complete_mask, at);
    return linear::scope(ScopedWarp(&core), body);
  }
  template <class Body>
  WW_FN static auto run(const Token&, Storage storage, uint16_t mma_complete_mask, Body&& body,
                        machine::here at = {}) requires(Side::needs_token) {
    Core core(storage, mma_complete_mask, at);
    return linear::scope(ScopedWarp(&core), body);
  }

  WW_FN Tmem tmem() const { return core_->output.tmem(); }
  WW_FN Pipeline& output() const { return core_->output; }
  WW_FN Dealloc dealloc_barrier() const { return core_->dealloc; }
  template <class... Input>
  WW_FN auto per_k_stage(Input&... input) const {
    return Side::per_k_stage(output(), input...);
  }
  WW_LINEAR_MAKES WW_FN typename Side::LinearStage acquire_k_stage_linear(machine::here at = {}) const {
    return Side::acquire(output(), at);
  }

  WW_FN static void release(ScopedWarp& context, Here at) { context.core_->finish(at); }

 private:
  WW_FN explicit ScopedWarp(Core* core) : core_(core) {}
  Core* core_;
};

}  // namespace warpwright::inline WW_WORLD::warp

// mbarrier objects (PTX 9.7.13.15).
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

// Which completion of a barrier a role waits for. On the GPU it is the parity bit; in the simulator the full count, so
// that a wait which passes on another generation of the same parity is seen.
class Phase {
 public:
  static constexpr Phase consumer() { return Phase(0); }   // waits for the first completion
  static constexpr Phase producer() { return Phase(-1); }  // a fresh barrier counts as already completed
  static constexpr Phase of_parity(uint32_t p) { return Phase(int64_t(p), true); }  // generation unknown
  constexpr void advance() { ++lap_; }
  constexpr void advance_if(bool wrapped) { lap_ += wrapped; }
  constexpr uint32_t parity() const { return uint32_t(lap_ & 1); }
  constexpr int64_t lap() const { return lap_; }
  constexpr bool parity_only() const { return parity_only_; }

 private:
  constexpr explicit Phase(int64_t lap, bool parity_only = false) : lap_(lap), parity_only_(parity_only) {}
  int64_t lap_;
  bool parity_only_;
};

// Retry by the hardware's own time limit, or with a suspend-time hint (the warp sleeps until the phase flips).
enum class Suspend : uint8_t { none, hint };

void mbarrier_init(Shared<Mbarrier> b, uint32_t count, here at = {});
void mbarrier_invalidate(Shared<Mbarrier> b, here at = {});
void mbarrier_arrive(Shared<Mbarrier> b, uint32_t count = 1, here at = {});        // release.cta
void mbarrier_arrive_relaxed(Shared<Mbarrier> b, here at = {});                    // relaxed.cta: orders no data
void mbarrier_arrive_expect_tx(Shared<Mbarrier> b, uint32_t bytes, here at = {});  // expect, then one arrival
void mbarrier_expect_tx(Shared<Mbarrier> b, uint32_t bytes, here at = {});         // no arrival
bool mbarrier_test_wait(Shared<Mbarrier> b, Phase phase, here at = {});            // never blocks
bool mbarrier_try_wait(Shared<Mbarrier> b, Phase phase, here at = {});             // may return false: loop

namespace detail {
void mbarrier_wait(Shared<Mbarrier> b, Phase phase, Scope scope, here at);
void mbarrier_arrive_remote(ClusterShared<Mbarrier> b, uint32_t count, Scope scope, here at);
void mbarrier_arrive_expect_tx_remote(ClusterShared<Mbarrier> b, uint32_t bytes, here at);
}  // namespace detail

// Blocks until `phase` is complete; acquire at scope S.
template <Scope S = Scope::cta, Suspend H = Suspend::hint>
void mbarrier_wait(Shared<Mbarrier> b, Phase phase, here at = {}) {
  detail::mbarrier_wait(b, phase, S, at);
}
// Remote arrival. At Scope::cta (the plain PTX form) it hands back what asynchronous operations read or wrote, which
// completed before; ordinary loads and stores of this thread need Scope::cluster, which costs a barrier through L2.
template <Scope S = Scope::cta>
void mbarrier_arrive(ClusterShared<Mbarrier> b, uint32_t count = 1, here at = {}) {
  detail::mbarrier_arrive_remote(b, count, S, at);
}
inline void mbarrier_arrive_expect_tx(ClusterShared<Mbarrier> b, uint32_t bytes, here at = {}) {
  detail::mbarrier_arrive_expect_tx_remote(b, bytes, at);
}

}  // namespace warpwright::inline WW_WORLD::machine

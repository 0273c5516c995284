// mbarrier objects (PTX 9.7.13.15).
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/record.h"

namespace warpwright::inline WW_WORLD::machine {

// Which completion of a barrier a role waits for: on the GPU its parity.
class Phase {
 public:
  WW_HD static constexpr Phase consumer() { return Phase(0); }  // waits for the first completion
  WW_HD static constexpr Phase producer() { return Phase(1); }  // a fresh barrier counts as already completed
  WW_HD static constexpr Phase of_parity(uint32_t p) { return Phase(p); }
  WW_HD constexpr void advance() { parity_ ^= 1; }
  WW_HD constexpr void advance_if(bool wrapped) { parity_ ^= uint32_t(wrapped); }
  WW_HD constexpr uint32_t parity() const { return parity_; }

 private:
  WW_HD constexpr explicit Phase(uint32_t parity) : parity_(parity) {}
  uint32_t parity_;
};

// Retry by the hardware's own time limit, or with a suspend-time hint (the warp sleeps until the phase flips).
enum class Suspend : uint8_t { none, hint };
inline constexpr uint32_t kSuspendHintNs = 0x989680;  // 10 ms: in practice until the phase flips

WW_FN void mbarrier_init(Shared<Mbarrier> b, uint32_t count, here = {}) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b.address), "r"(count) : "memory");
}
WW_FN void mbarrier_invalidate(Shared<Mbarrier> b, here = {}) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b.address) : "memory");
}
// A constant count of 1, the usual case, folds to the form without a count operand.
WW_FN void mbarrier_arrive(Shared<Mbarrier> b, uint32_t count = 1, here at = {}) {
  record::arrival(record::Kind::arrive, b.address, count, at);
  if (count == 1) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(b.address) : "memory");
  } else {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(b.address), "r"(count) : "memory");
  }
}
WW_FN void mbarrier_arrive_relaxed(Shared<Mbarrier> b, here at = {}) {
  record::arrival(record::Kind::arrive, b.address, 1, at);
  asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(b.address) : "memory");
}
WW_FN void mbarrier_arrive_expect_tx(Shared<Mbarrier> b, uint32_t bytes, here at = {}) {
  record::arrival(record::Kind::arrive_expect, b.address, 1, at);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b.address), "r"(bytes) : "memory");
}
WW_FN void mbarrier_expect_tx(Shared<Mbarrier> b, uint32_t bytes, here = {}) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(b.address), "r"(bytes) : "memory");
}
WW_FN bool mbarrier_test_wait(Shared<Mbarrier> b, Phase phase, here = {}) {
  uint32_t complete;
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
      "selp.b32 %0, 1, 0, complete;\n"
      "}"
      : "=r"(complete)
      : "r"(b.address), "r"(phase.parity())
      : "memory");
  return complete != 0;
}
WW_FN bool mbarrier_try_wait(Shared<Mbarrier> b, Phase phase, here = {}) {
  uint32_t complete;
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
      "selp.b32 %0, 1, 0, complete;\n"
      "}"
      : "=r"(complete)
      : "r"(b.address), "r"(phase.parity())
      : "memory");
  return complete != 0;
}

namespace detail {
template <Scope S>
struct WaitText {
  static constexpr char text[] = "";  // acquire.cta is the default of try_wait
};
template <>
struct WaitText<Scope::cluster> {
  static constexpr char text[] = ".acquire.cluster";
};
}  // namespace detail

// Blocks until `phase` is complete; acquire at scope S. The loop is inside the asm: its label is local to the braces.
template <Scope S = Scope::cta, Suspend H = Suspend::hint>
WW_FN void mbarrier_wait(Shared<Mbarrier> b, Phase phase, here at = {}) {
  static_assert(S == Scope::cta || S == Scope::cluster, "mbarrier.try_wait acquires at cta or cluster scope");
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_mbarrier, b.address, phase.parity(), at);
  if constexpr (H == Suspend::hint) {
    asm volatile(
        "{\n"
        ".reg .pred complete;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity%3.shared::cta.b64 complete, [%0], %1, %2;\n"
        "@complete bra DONE;\n"
        "bra WAIT;\n"
        "DONE:\n"
        "}" ::"r"(b.address),
        "r"(phase.parity()), "r"(kSuspendHintNs), "C"(detail::WaitText<S>::text)
        : "memory");
  } else {
    asm volatile(
        "{\n"
        ".reg .pred complete;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity%2.shared::cta.b64 complete, [%0], %1;\n"
        "@complete bra DONE;\n"
        "bra WAIT;\n"
        "DONE:\n"
        "}" ::"r"(b.address),
        "r"(phase.parity()), "C"(detail::WaitText<S>::text)
        : "memory");
  }
}

// Remote arrival. At Scope::cta (the plain PTX form) it hands back what asynchronous operations read or wrote, which
// completed before; ordinary loads and stores of this thread need Scope::cluster, which costs a barrier through L2.
template <Scope S = Scope::cta>
WW_FN void mbarrier_arrive(ClusterShared<Mbarrier> b, uint32_t count = 1, here at = {}) {
  static_assert(S == Scope::cta || S == Scope::cluster, "mbarrier.arrive releases at cta or cluster scope");
  record::remote_arrival(b.address, at);
  if constexpr (S == Scope::cluster) {
    if (count == 1) {
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b.address) : "memory");
    } else {
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(b.address), "r"(count)
                   : "memory");
    }
  } else {
    if (count == 1) {
      asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(b.address) : "memory");
    } else {
      asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0], %1;" ::"r"(b.address), "r"(count) : "memory");
    }
  }
}
WW_FN void mbarrier_arrive_expect_tx(ClusterShared<Mbarrier> b, uint32_t bytes, here at = {}) {
  record::remote_arrival(b.address, at);
  asm volatile("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], %1;" ::"r"(b.address), "r"(bytes) : "memory");
}

}  // namespace warpwright::inline WW_WORLD::machine

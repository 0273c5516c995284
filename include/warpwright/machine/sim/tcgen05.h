// tcgen05 (sm_100a): tensor memory and the asynchronous matrix unit.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

using ::warpwright::MmaKind;
// Shapes of tcgen05.ld / st: lanes x bits per column step.
enum class TmemShape : uint8_t { b32x32, b64x16, b128x16, b256x16 };
// Shapes of tcgen05.cp.
enum class TmemCopy : uint8_t { s128x256b, s128x128b, s4x256b, s64x128b_warpx2, s32x128b_warpx4 };

constexpr int tmem_registers(TmemShape s, int repeat) {
  return repeat * (s == TmemShape::b32x32 || s == TmemShape::b64x16 ? 1 : s == TmemShape::b128x16 ? 2 : 4);
}

namespace detail {
void tcgen05_alloc(uint32_t slot, uint32_t columns, int cta_group, here at);
void tcgen05_dealloc(uint32_t address, uint32_t columns, int cta_group, here at);
void tcgen05_relinquish(int cta_group, here at);
struct Tcgen05Mma {
  MmaKind kind;
  int cta_group;
  uint32_t d;
  uint64_t a_desc;  // or, with a_in_tmem, a TMEM address
  uint64_t b_desc;
  uint32_t idesc;
  bool accumulate, a_in_tmem;
  uint32_t scale_a, scale_b;  // TMEM addresses of the scale factors, block-scaled kinds only
};
void tcgen05_mma(const Tcgen05Mma& op, here at);
void tcgen05_commit(uint32_t bar, uint16_t mask, bool multicast, int cta_group, here at);
void tcgen05_cp(TmemCopy shape, uint32_t dst, uint64_t src_desc, int cta_group, here at);
struct TmemState {
  uint64_t pending = 0;  // 1 + sequence number of the load that fills the registers
};
void tcgen05_ld(TmemShape shape, int repeat, uint32_t* r, TmemState& state, uint32_t address, here at);
void tcgen05_st(TmemShape shape, int repeat, const uint32_t* r, uint32_t address, here at);
void tmem_register_read(const TmemState&, here at);
}  // namespace detail

template <int CtaGroup>
void tcgen05_alloc(Shared<uint32_t> slot, uint32_t columns, here at = {}) {
  detail::tcgen05_alloc(slot.address, columns, CtaGroup, at);
}
template <int CtaGroup>
void tcgen05_dealloc(Tmem t, uint32_t columns, here at = {}) {
  detail::tcgen05_dealloc(t.address, columns, CtaGroup, at);
}
template <int CtaGroup>
void tcgen05_relinquish(here at = {}) {
  detail::tcgen05_relinquish(CtaGroup, at);
}
// One thread issues. Block-scaled kinds take the TMEM addresses of the scales.
template <MmaKind K, int CtaGroup>
void tcgen05_mma(Tmem d, uint64_t a_desc, uint64_t b_desc, uint32_t idesc, bool accumulate, here at = {}) {
  static_assert(K == MmaKind::f16 || K == MmaKind::tf32 || K == MmaKind::f8f6f4, "block-scaled kinds need scales");
  detail::tcgen05_mma({K, CtaGroup, d.address, a_desc, b_desc, idesc, accumulate, false, 0, 0}, at);
}
template <MmaKind K, int CtaGroup>
void tcgen05_mma_ts(Tmem d, Tmem a, uint64_t b_desc, uint32_t idesc, bool accumulate, here at = {}) {
  static_assert(K == MmaKind::f16 || K == MmaKind::tf32 || K == MmaKind::f8f6f4, "block-scaled kinds need scales");
  detail::tcgen05_mma({K, CtaGroup, d.address, a.address, b_desc, idesc, accumulate, true, 0, 0}, at);
}
template <MmaKind K, int CtaGroup>
void tcgen05_mma_scaled(Tmem d, uint64_t a_desc, uint64_t b_desc, uint32_t idesc, Tmem scale_a, Tmem scale_b,
                        bool accumulate, here at = {}) {
  static_assert(K == MmaKind::mxf8f6f4 || K == MmaKind::mxf4 || K == MmaKind::mxf4nvf4, "this kind takes no scales");
  detail::tcgen05_mma(
      {K, CtaGroup, d.address, a_desc, b_desc, idesc, accumulate, false, scale_a.address, scale_b.address}, at);
}
// Arrives on the barrier when all earlier mma and cp of this thread are complete.
template <int CtaGroup>
void tcgen05_commit(Shared<Mbarrier> bar, here at = {}) {
  detail::tcgen05_commit(bar.address, 0, false, CtaGroup, at);
}
template <int CtaGroup>
void tcgen05_commit_multicast(Shared<Mbarrier> bar, uint16_t mask, here at = {}) {
  detail::tcgen05_commit(bar.address, mask, true, CtaGroup, at);
}
template <TmemCopy S, int CtaGroup>
void tcgen05_cp(Tmem dst, uint64_t src_desc, here at = {}) {
  detail::tcgen05_cp(S, dst.address, src_desc, CtaGroup, at);
}

// Registers filled by tcgen05.ld: readable after tcgen05_wait_ld.
template <int N>
class TmemRegisters {
 public:
  TmemRegisters() = default;
  TmemRegisters(const TmemRegisters&) = delete;
  TmemRegisters& operator=(const TmemRegisters&) = delete;
  uint32_t bits(int i, here at = {}) const {
    detail::tmem_register_read(state_, at);
    return r_[i];
  }
  float get(int i, here at = {}) const { return stdx::bit_cast<float>(bits(i, at)); }
  void set(int i, uint32_t v) { r_[i] = v; }
  void set(int i, float v) { r_[i] = stdx::bit_cast<uint32_t>(v); }

 private:
  template <TmemShape S, int Repeat, int M>
  friend void tcgen05_ld(TmemRegisters<M>&, Tmem, here);
  template <TmemShape S, int Repeat, int M>
  friend void tcgen05_st(Tmem, const TmemRegisters<M>&, here);
  uint32_t r_[N];
  detail::TmemState state_;
};
template <TmemShape S, int Repeat, int N>
void tcgen05_ld(TmemRegisters<N>& r, Tmem t, here at = {}) {
  static_assert(N == tmem_registers(S, Repeat), "the register count follows from shape and repeat");
  detail::tcgen05_ld(S, Repeat, r.r_, r.state_, t.address, at);
}
template <TmemShape S, int Repeat, int N>
void tcgen05_st(Tmem t, const TmemRegisters<N>& r, here at = {}) {
  static_assert(N == tmem_registers(S, Repeat), "the register count follows from shape and repeat");
  detail::tcgen05_st(S, Repeat, r.r_, t.address, at);
}
void tcgen05_wait_ld(here at = {});
void tcgen05_wait_st(here at = {});
void tcgen05_fence_before(here at = {});  // fence::before_thread_sync
void tcgen05_fence_after(here at = {});   // fence::after_thread_sync

}  // namespace warpwright::inline WW_WORLD::machine

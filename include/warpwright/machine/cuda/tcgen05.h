// tcgen05 (sm_100a): tensor memory and the asynchronous matrix unit. Everything is a template or unused inline code on
// other architectures, so a translation unit for sm_90a may include this file.
#pragma once
#include <cuda/ptx>

#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/machine/cuda/here.h"

namespace warpwright::inline WW_WORLD::machine {

enum class MmaKind : uint8_t { f16, tf32, f8f6f4, mxf8f6f4, mxf4, mxf4nvf4 };
// Shapes of tcgen05.ld / st: lanes x bits per column step.
enum class TmemShape : uint8_t { b32x32, b64x16, b128x16, b256x16 };
// Shapes of tcgen05.cp.
enum class TmemCopy : uint8_t { s128x256b, s128x128b, s4x256b, s64x128b_warpx2, s32x128b_warpx4 };

WW_HD constexpr int tmem_registers(TmemShape s, int repeat) {
  return repeat * (s == TmemShape::b32x32 || s == TmemShape::b64x16 ? 1 : s == TmemShape::b128x16 ? 2 : 4);
}

namespace detail {
namespace ptx = ::cuda::ptx;
template <int CtaGroup>
using CtaGroupTag = ptx::cta_group_t<CtaGroup == 2 ? ptx::dot_cta_group::cta_group_2 : ptx::dot_cta_group::cta_group_1>;
template <MmaKind K>
WW_FN constexpr auto mma_kind() {
  if constexpr (K == MmaKind::f16) {
    return ptx::kind_f16;
  } else if constexpr (K == MmaKind::tf32) {
    return ptx::kind_tf32;
  } else {
    return ptx::kind_f8f6f4;
  }
}
template <int CtaGroup>
struct CtaGroupText;
template <>
struct CtaGroupText<1> {
  static constexpr char text[] = ".cta_group::1";
};
template <>
struct CtaGroupText<2> {
  static constexpr char text[] = ".cta_group::2";
};
}  // namespace detail

template <int CtaGroup>
WW_FN void tcgen05_alloc(Shared<uint32_t> slot, uint32_t columns, here = {}) {
  asm volatile("tcgen05.alloc%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot.address), "r"(columns),
               "C"(detail::CtaGroupText<CtaGroup>::text)
               : "memory");
}
template <int CtaGroup>
WW_FN void tcgen05_dealloc(Tmem t, uint32_t columns, here = {}) {
  ::cuda::ptx::tcgen05_dealloc(detail::CtaGroupTag<CtaGroup>{}, t.address, columns);
}
template <int CtaGroup>
WW_FN void tcgen05_relinquish(here = {}) {
  ::cuda::ptx::tcgen05_relinquish_alloc_permit(detail::CtaGroupTag<CtaGroup>{});
}
// One thread issues. Block-scaled kinds take the TMEM addresses of the scales.
template <MmaKind K, int CtaGroup>
WW_FN void tcgen05_mma(Tmem d, uint64_t a_desc, uint64_t b_desc, uint32_t idesc, bool accumulate, here = {}) {
  static_assert(K == MmaKind::f16 || K == MmaKind::tf32 || K == MmaKind::f8f6f4, "block-scaled kinds need scales");
  ::cuda::ptx::tcgen05_mma(detail::mma_kind<K>(), detail::CtaGroupTag<CtaGroup>{}, d.address, a_desc, b_desc, idesc,
                           accumulate);
}
template <MmaKind K, int CtaGroup>
WW_FN void tcgen05_mma_ts(Tmem d, Tmem a, uint64_t b_desc, uint32_t idesc, bool accumulate, here = {}) {
  static_assert(K == MmaKind::f16 || K == MmaKind::tf32 || K == MmaKind::f8f6f4, "block-scaled kinds need scales");
  ::cuda::ptx::tcgen05_mma_tmem_a(detail::mma_kind<K>(), detail::CtaGroupTag<CtaGroup>{}, d.address, a.address, b_desc,
                                  idesc, accumulate);
}
// Scales per row of A and column of B for one K step of the instruction: mxf8f6f4 one (32 of K = 32), mxf4 two (32 of
// K = 64), mxf4nvf4 four (16 of K = 64).
template <MmaKind K, int CtaGroup>
WW_FN void tcgen05_mma_scaled(Tmem d, uint64_t a_desc, uint64_t b_desc, uint32_t idesc, Tmem scale_a, Tmem scale_b,
                              bool accumulate, here = {}) {
  static_assert(K == MmaKind::mxf8f6f4 || K == MmaKind::mxf4 || K == MmaKind::mxf4nvf4, "this kind takes no scales");
  constexpr detail::CtaGroupTag<CtaGroup> group{};
  if constexpr (K == MmaKind::mxf8f6f4) {
    ::cuda::ptx::tcgen05_mma_block_scale_vec_1x(::cuda::ptx::kind_mxf8f6f4, group, d.address, a_desc, b_desc, idesc,
                                                scale_a.address, scale_b.address, accumulate);
  } else if constexpr (K == MmaKind::mxf4) {
    ::cuda::ptx::tcgen05_mma_block_scale_vec_2x(::cuda::ptx::kind_mxf4, group, d.address, a_desc, b_desc, idesc,
                                                scale_a.address, scale_b.address, accumulate);
  } else {
    ::cuda::ptx::tcgen05_mma_block_scale_vec_4x(::cuda::ptx::kind_mxf4nvf4, group, d.address, a_desc, b_desc, idesc,
                                                scale_a.address, scale_b.address, accumulate);
  }
}
// Arrives on the barrier when all earlier mma and cp of this thread are complete.
template <int CtaGroup>
WW_FN void tcgen05_commit(Shared<Mbarrier> bar, here = {}) {
  asm volatile("tcgen05.commit%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar.address),
               "C"(detail::CtaGroupText<CtaGroup>::text)
               : "memory");
}
template <int CtaGroup>
WW_FN void tcgen05_commit_multicast(Shared<Mbarrier> bar, uint16_t mask, here = {}) {
  asm volatile(
      "tcgen05.commit%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar.address),
      "h"(mask), "C"(detail::CtaGroupText<CtaGroup>::text)
      : "memory");
}
template <TmemCopy S, int CtaGroup>
WW_FN void tcgen05_cp(Tmem dst, uint64_t src_desc, here = {}) {
  constexpr detail::CtaGroupTag<CtaGroup> group{};
  if constexpr (S == TmemCopy::s128x256b) {
    ::cuda::ptx::tcgen05_cp_128x256b(group, dst.address, src_desc);
  } else if constexpr (S == TmemCopy::s128x128b) {
    ::cuda::ptx::tcgen05_cp_128x128b(group, dst.address, src_desc);
  } else if constexpr (S == TmemCopy::s4x256b) {
    ::cuda::ptx::tcgen05_cp_4x256b(group, dst.address, src_desc);
  } else if constexpr (S == TmemCopy::s64x128b_warpx2) {
    ::cuda::ptx::tcgen05_cp_64x128b_warpx2_02_13(group, dst.address, src_desc);
  } else {
    ::cuda::ptx::tcgen05_cp_32x128b_warpx4(group, dst.address, src_desc);
  }
}

// Registers filled by tcgen05.ld: readable after tcgen05_wait_ld. The empty volatile asm in bits() keeps the compiler
// from moving arithmetic on them above the wait, with which it shares no operand; it costs no instruction.
template <int N>
class TmemRegisters {
 public:
  TmemRegisters() = default;
  TmemRegisters(const TmemRegisters&) = delete;
  TmemRegisters& operator=(const TmemRegisters&) = delete;
  WW_FN uint32_t bits(int i, here = {}) const {
    uint32_t v = r_[i];
    asm volatile("" : "+r"(v));
    return v;
  }
  WW_FN float get(int i, here at = {}) const { return __uint_as_float(bits(i, at)); }
  WW_FN void set(int i, uint32_t v) { r_[i] = v; }
  WW_FN void set(int i, float v) { r_[i] = __float_as_uint(v); }

 private:
  friend struct TmemAccess;
  uint32_t r_[N];
};
struct TmemAccess {
  template <int N>
  static WW_FN auto& registers(TmemRegisters<N>& r) {
    return r.r_;
  }
  template <int N>
  static WW_FN auto& registers(const TmemRegisters<N>& r) {
    return r.r_;
  }
};
template <TmemShape S, int Repeat, int N>
WW_FN void tcgen05_ld(TmemRegisters<N>& r, Tmem t, here = {}) {
  static_assert(N == tmem_registers(S, Repeat), "the register count follows from shape and repeat");
  auto& registers = TmemAccess::registers(r);
  if constexpr (S == TmemShape::b32x32) {
    ::cuda::ptx::tcgen05_ld_32x32b(registers, t.address);
  } else if constexpr (S == TmemShape::b64x16) {
    ::cuda::ptx::tcgen05_ld_16x64b(registers, t.address);
  } else if constexpr (S == TmemShape::b128x16) {
    ::cuda::ptx::tcgen05_ld_16x128b(registers, t.address);
  } else {
    ::cuda::ptx::tcgen05_ld_16x256b(registers, t.address);
  }
}
template <TmemShape S, int Repeat, int N>
WW_FN void tcgen05_st(Tmem t, const TmemRegisters<N>& r, here = {}) {
  static_assert(N == tmem_registers(S, Repeat), "the register count follows from shape and repeat");
  const auto& registers = TmemAccess::registers(r);
  if constexpr (S == TmemShape::b32x32) {
    ::cuda::ptx::tcgen05_st_32x32b(t.address, registers);
  } else if constexpr (S == TmemShape::b64x16) {
    ::cuda::ptx::tcgen05_st_16x64b(t.address, registers);
  } else if constexpr (S == TmemShape::b128x16) {
    ::cuda::ptx::tcgen05_st_16x128b(t.address, registers);
  } else {
    ::cuda::ptx::tcgen05_st_16x256b(t.address, registers);
  }
}
WW_FN void tcgen05_wait_ld(here = {}) { ::cuda::ptx::tcgen05_wait_ld(); }
WW_FN void tcgen05_wait_st(here = {}) { ::cuda::ptx::tcgen05_wait_st(); }
WW_FN void tcgen05_fence_before(here = {}) { ::cuda::ptx::tcgen05_fence_before_thread_sync(); }
WW_FN void tcgen05_fence_after(here = {}) { ::cuda::ptx::tcgen05_fence_after_thread_sync(); }

}  // namespace warpwright::inline WW_WORLD::machine

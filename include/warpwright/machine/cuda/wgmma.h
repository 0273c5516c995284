// wgmma (sm_90a): asynchronous warpgroup matrix multiply. Accumulators and A fragments are machine types: nothing but
// these words names their registers.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/record.h"
#include "warpwright/machine/cuda/wgmma_instructions.h"

namespace warpwright::inline WW_WORLD::machine {

// D of m64nNkK, f32: N/2 registers a thread. Register i of lane l of warp w holds row 16w + l/4 + 8*((i/2)%2),
// column 8*(i/4) + 2*(l%4) + i%2. The empty volatile asm keeps reads below wgmma_wait and writes above wgmma_fence,
// with which they share no operand; it costs no instruction.
template <int N>
class Accumulator {
 public:
  static constexpr int kRegisters = N / 2;
  Accumulator() = default;
  Accumulator(const Accumulator&) = delete;
  Accumulator& operator=(const Accumulator&) = delete;
  WW_FN float get(int i, here = {}) const {
    float v = d_[i];
    asm volatile("" : "+f"(v));
    return v;
  }
  WW_FN void set(int i, float v, here = {}) {
    asm volatile("" : "+f"(v));
    d_[i] = v;
  }

 private:
  friend struct WgmmaAccess;
  float d_[kRegisters];
};

// A of m64k16 (16-bit) or m64k32 (8-bit): 4 registers a thread.
class AFragment {
 public:
  AFragment() = default;
  AFragment(const AFragment&) = delete;
  AFragment& operator=(const AFragment&) = delete;
  WW_FN void set(int i, uint32_t v, here = {}) {
    asm volatile("" : "+r"(v));
    r_[i] = v;
  }

 private:
  friend struct WgmmaAccess;
  uint32_t r_[4];
};

struct WgmmaAccess {
  template <class F>
  static WW_FN auto& registers(F& f) {
    if constexpr (requires { f.d_; }) {
      return f.d_;
    } else {
      return f.r_;
    }
  }
};

// K is 32 bytes of A: 16 elements of 16 bits, 32 of 8 bits.
WW_HD constexpr int wgmma_k(DType t) { return 256 / bits(t); }

WW_FN void wgmma_fence(here = {}) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
WW_FN void wgmma_commit(here at = {}) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  record::event(record::Kind::commit_wgmma, 0, 0, at);
}
template <int Pending>
WW_FN void wgmma_wait(here at = {}) {
  static_assert(Pending >= 0 && Pending <= 7, "wgmma.wait_group takes 0..7");
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_wgmma, 0, Pending, at);
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

namespace detail {
template <DType A, DType B>
struct WgmmaShape;  // no definition: wgmma does not multiply these types
#define WW_WGMMA_SHAPE(a, b, words)        \
  template <>                              \
  struct WgmmaShape<DType::a, DType::b> {  \
    static constexpr char shape[] = words; \
  };
WW_WGMMA_SHAPE(bf16, bf16, "k16.f32.bf16.bf16")
WW_WGMMA_SHAPE(fp16, fp16, "k16.f32.f16.f16")
WW_WGMMA_SHAPE(e4m3, e4m3, "k32.f32.e4m3.e4m3")
WW_WGMMA_SHAPE(e4m3, e5m2, "k32.f32.e4m3.e5m2")
WW_WGMMA_SHAPE(e5m2, e4m3, "k32.f32.e5m2.e4m3")
WW_WGMMA_SHAPE(e5m2, e5m2, "k32.f32.e5m2.e5m2")
#undef WW_WGMMA_SHAPE

// Only 16-bit types have transposition flags, and with A in registers there is only B's. A text operand goes into the
// instruction with its full length, so what is absent is blank.
WW_HD constexpr char wgmma_comma(DType t) { return bits(t) == 16 ? ',' : ' '; }
WW_HD constexpr char wgmma_flag(DType t, Major m) { return bits(t) != 16 ? ' ' : m == Major::K ? '0' : '1'; }
template <DType A, DType B, Major MA, Major MB>
struct WgmmaTextSs : WgmmaShape<A, B> {
  static_assert(bits(A) == 16 || (MA == Major::K && MB == Major::K), "8-bit operands of wgmma are K-major");
  static constexpr char tail[] = {wgmma_comma(A), wgmma_flag(A, MA), wgmma_comma(A), wgmma_flag(A, MB), '\0'};
};
template <DType A, DType B, Major MB>
struct WgmmaTextRs : WgmmaShape<A, B> {
  static_assert(bits(A) == 16 || MB == Major::K, "8-bit operands of wgmma are K-major");
  static constexpr char tail[] = {wgmma_comma(A), wgmma_flag(A, MB), '\0'};
};
}  // namespace detail

// D = A*B (+ D if accumulate); A and B by shared-memory descriptors (core/descriptor.h, sm90). T: bf16, fp16, e4m3,
// e5m2.
template <DType A, DType B = A, Major MA = Major::K, Major MB = Major::K, int N>
WW_FN void wgmma_ss(Accumulator<N>& d, uint64_t a_desc, uint64_t b_desc, bool accumulate, here = {}) {
  static_assert(N >= 8 && N <= 256 && N % 8 == 0, "wgmma N is 8..256 in steps of 8");
  detail::WgmmaInstruction<N>::template ss<detail::WgmmaTextSs<A, B, MA, MB>>(WgmmaAccess::registers(d), a_desc, b_desc,
                                                                              accumulate);
}
template <DType A, DType B = A, Major MB = Major::K, int N>
WW_FN void wgmma_rs(Accumulator<N>& d, AFragment& a, uint64_t b_desc, bool accumulate, here = {}) {
  static_assert(N >= 8 && N <= 256 && N % 8 == 0, "wgmma N is 8..256 in steps of 8");
  detail::WgmmaInstruction<N>::template rs<detail::WgmmaTextRs<A, B, MB>>(
      WgmmaAccess::registers(d), WgmmaAccess::registers(a), b_desc, accumulate);
}

}  // namespace warpwright::inline WW_WORLD::machine

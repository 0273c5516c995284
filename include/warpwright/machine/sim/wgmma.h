// wgmma (sm_90a): asynchronous warpgroup matrix multiply. Accumulators and A fragments are machine types: touching them
// before the wait that covers them is seen.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
struct FragmentState {      // shared by accumulators and A fragments
  FragmentState();          // fresh registers count as touched: a wgmma_fence must come first
  uint64_t used_by = 0;     // 1 + number of the last wgmma of this warpgroup that owns the registers, 0 = none
  uint64_t touched_at = 0;  // how many wgmma_fence the thread had executed when it last touched them
  uint64_t set[2] = {};     // which registers the thread has written itself
};
void fragment_read(const FragmentState&, int i, here at);
void fragment_write(FragmentState&, int i, here at);
void fragment_gone(const FragmentState&);
struct WgmmaOp {
  DType a, b;
  int n, k;
  Major a_major, b_major;
  float a_scale, b_scale;
};
void wgmma(const WgmmaOp& op, float* acc, FragmentState& acc_state, const uint32_t* a_regs, FragmentState* a_state,
           uint64_t a_desc, uint64_t b_desc, bool accumulate, here at);
void wgmma_wait(int pending, here at);
}  // namespace detail

// D of m64nNkK, f32: N/2 registers a thread. Register i of lane l of warp w holds row 16w + l/4 + 8*((i/2)%2),
// column 8*(i/4) + 2*(l%4) + i%2.
template <int N>
class Accumulator {
 public:
  static constexpr int kRegisters = N / 2;
  Accumulator() = default;
  Accumulator(const Accumulator&) = delete;
  Accumulator& operator=(const Accumulator&) = delete;
  ~Accumulator() { detail::fragment_gone(state_); }
  float get(int i, here at = {}) const {
    detail::fragment_read(state_, i, at);
    return d_[i];
  }
  void set(int i, float v, here at = {}) {
    detail::fragment_write(state_, i, at);
    d_[i] = v;
  }

 private:
  friend struct WgmmaAccess;
  float d_[kRegisters];
  detail::FragmentState state_;
};

// A of m64k16 (16-bit) or m64k32 (8-bit): 4 registers a thread.
class AFragment {
 public:
  AFragment() = default;
  AFragment(const AFragment&) = delete;
  AFragment& operator=(const AFragment&) = delete;
  ~AFragment() { detail::fragment_gone(state_); }
  void set(int i, uint32_t v, here at = {}) {
    detail::fragment_write(state_, i, at);
    r_[i] = v;
  }

 private:
  friend struct WgmmaAccess;
  uint32_t r_[4];
  detail::FragmentState state_;
};

struct WgmmaAccess {
  template <class F>
  static auto* registers(F& f) {
    if constexpr (requires { f.d_; }) {
      return f.d_;
    } else {
      return f.r_;
    }
  }
  template <class F>
  static detail::FragmentState& state(F& f) {
    return f.state_;
  }
};

// K is 32 bytes of A: 16 elements of 16 bits, 32 of 8 bits.
constexpr int wgmma_k(DType t) { return 256 / bits(t); }

void wgmma_fence(here at = {});
void wgmma_commit(here at = {});
template <int Pending>
void wgmma_wait(here at = {}) {
  detail::wgmma_wait(Pending, at);
}

// D = A*B (+ D if accumulate); A and B by shared-memory descriptors (core/descriptor.h, sm90). T: bf16, fp16, e4m3,
// e5m2.
template <DType A, DType B = A, Major MA = Major::K, Major MB = Major::K, int N>
void wgmma_ss(Accumulator<N>& d, uint64_t a_desc, uint64_t b_desc, bool accumulate, here at = {}) {
  static_assert(N >= 8 && N <= 256 && N % 8 == 0, "wgmma N is 8..256 in steps of 8");
  detail::wgmma({A, B, N, wgmma_k(A), MA, MB, 1.f, 1.f}, WgmmaAccess::registers(d), WgmmaAccess::state(d), nullptr,
                nullptr, a_desc, b_desc, accumulate, at);
}
template <DType A, DType B = A, Major MB = Major::K, int N>
void wgmma_rs(Accumulator<N>& d, AFragment& a, uint64_t b_desc, bool accumulate, here at = {}) {
  static_assert(N >= 8 && N <= 256 && N % 8 == 0, "wgmma N is 8..256 in steps of 8");
  detail::wgmma({A, B, N, wgmma_k(A), Major::K, MB, 1.f, 1.f}, WgmmaAccess::registers(d), WgmmaAccess::state(d),
                WgmmaAccess::registers(a), &WgmmaAccess::state(a), 0, b_desc, accumulate, at);
}

}  // namespace warpwright::inline WW_WORLD::machine

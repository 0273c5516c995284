// Five epilogues as functors, and the dense kernel for Hopper with each: `./warpwright check
// examples/own_epilogue/epilogues.cpp` runs them, nvcc compiles the same file for a GPU.
#pragma once
#include "warpwright/epilogue/own.h"
#include "warpwright/kernel/sm90/dense/dense_gemm.h"

namespace your {

namespace math = warpwright::epilogue::math;
using warpwright::epilogue::OwnValues;

struct QuickGelu {
  WW_FN float operator()(const OwnValues& v) const { return v.x / (1.f + math::exp(-1.702f * v.x)); }
};
struct SoftCap {
  WW_FN float operator()(const OwnValues& v) const { return 30.f * math::tanh(v.x / 30.f); }
};
struct SquaredRelu {
  WW_FN float operator()(const OwnValues& v) const { return v.x > 0.f ? v.x * v.x : 0.f; }
};
struct CausalMask {
  WW_FN float operator()(const OwnValues& v) const { return v.column <= v.row ? v.x : -math::kInfinity; }
};
struct Gate {
  WW_FN float operator()(const OwnValues& v) const { return v.x * math::sigmoid(v.x) * v.residual; }
};

// A tile of 64 x 64; the number stands for the functor in the configuration.
constexpr warpwright::DenseGemmConfig with_own(uint64_t own, bool residual = false) {
  warpwright::DenseGemmConfig c{.tile_m = 64, .tile_n = 64, .stages = 3};
  c.epilogue = {.alpha = true, .residual = residual, .own = own};
  return c;
}

}  // namespace your

template <>
struct warpwright::epilogue::Own<warpwright::own_id("quick gelu")> : your::QuickGelu {};
template <>
struct warpwright::epilogue::Own<warpwright::own_id("soft cap")> : your::SoftCap {};
template <>
struct warpwright::epilogue::Own<warpwright::own_id("squared relu")> : your::SquaredRelu {};
template <>
struct warpwright::epilogue::Own<warpwright::own_id("causal mask")> : your::CausalMask {};
template <>
struct warpwright::epilogue::Own<warpwright::own_id("gate")> : your::Gate {};

namespace your {

template <warpwright::DenseGemmConfig C>
using Gemm = warpwright::kernel::sm90::DenseGemm<C>;

using GemmQuickGelu = Gemm<with_own(warpwright::own_id("quick gelu"))>;
using GemmSoftCap = Gemm<with_own(warpwright::own_id("soft cap"))>;
using GemmSquaredRelu = Gemm<with_own(warpwright::own_id("squared relu"))>;
using GemmCausalMask = Gemm<with_own(warpwright::own_id("causal mask"))>;
using GemmGate = Gemm<with_own(warpwright::own_id("gate"), true)>;

}  // namespace your

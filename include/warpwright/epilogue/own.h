// A user-defined epilogue: a function of the values of one element. If you compile kernels yourself, you write it as a
// functor; the host API, the tool and Python make one from a formula (docs/own-epilogue.md).
//
//   struct SoftCap {
//     WW_FN float operator()(const warpwright::epilogue::OwnValues& v) const {
//       return 30.f * warpwright::epilogue::math::tanh(v.x / 30.f);
//     }
//   };
//   template <>
//   struct warpwright::epilogue::Own<warpwright::own_id("soft cap")> : SoftCap {};
//
//   constexpr warpwright::DenseGemmConfig config{.epilogue = {.alpha = true, .own = warpwright::own_id("soft cap")}};
//
// It sees only values, so there is nothing in it for the checker to look at.
#pragma once
#include "warpwright/epilogue/config.h"
#include "warpwright/epilogue/math.h"

namespace warpwright::inline WW_WORLD::epilogue {

// What the configuration does not load is 0.
struct OwnValues {
  float x = 0;                         // alpha times the sum, factors of operands included
  float c = 0;                         // EpilogueConfig::source
  float bias = 0;                      // per column or per row
  float residual = 0;                  // EpilogueConfig::residual
  float beta = 0;                      // the launch's number
  int row = 0, column = 0, batch = 0;  // where it lies in D; for groups docs/own-epilogue.md defines them
};

// Specialized for the number in EpilogueConfig::own. The result is multiplied by `scale`, where the list quantizes, and
// converted.
template <uint64_t Id>
struct Own {
  static_assert(Id == 0, "epilogue: there is no Own<config.own>; specialize it before the kernel is instantiated");
};

}  // namespace warpwright::inline WW_WORLD::epilogue

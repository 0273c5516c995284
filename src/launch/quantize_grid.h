// How the kernels that quantize cut a matrix: shared by the kernels and their launches.
#pragma once
#include "launch/quantize_rules.h"

namespace warpwright::inline WW_WORLD::quantizing {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kWarpColumns = 32 * kElements;
inline constexpr int kAtOnce = 4;  // rows of a warp whose loads are under way together
inline constexpr int kCtaRows = kWarps * kAtOnce;

}  // namespace warpwright::inline WW_WORLD::quantizing

// ldmatrix and stmatrix: 8x8 matrices of 16-bit elements between shared memory and a warp's registers. Each lane passes
// the address of one 16-byte row: lanes 8i..8i+7 those of matrix i.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
void stmatrix(uint32_t address, const uint32_t* r, int count, bool transpose, here at);
void ldmatrix(uint32_t address, uint32_t* r, int count, bool transpose, here at);
}  // namespace detail

template <bool Transpose = false, int N>
void stmatrix(Shared<Vec<uint32_t, 4>> row, const uint32_t (&r)[N], here at = {}) {
  static_assert(N == 1 || N == 2 || N == 4, "stmatrix moves 1, 2 or 4 matrices");
  detail::stmatrix(row.address, r, N, Transpose, at);
}
template <bool Transpose = false, int N>
void ldmatrix(uint32_t (&r)[N], Shared<Vec<uint32_t, 4>> row, here at = {}) {
  static_assert(N == 1 || N == 2 || N == 4, "ldmatrix moves 1, 2 or 4 matrices");
  detail::ldmatrix(row.address, r, N, Transpose, at);
}

}  // namespace warpwright::inline WW_WORLD::machine

// ldmatrix and stmatrix: 8x8 matrices of 16-bit elements between shared memory and a warp's registers. Each lane passes
// the address of one 16-byte row: lanes 8i..8i+7 those of matrix i.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
template <bool Transpose>
struct MatrixText {
  static constexpr char text[] = "";
};
template <>
struct MatrixText<true> {
  static constexpr char text[] = ".trans";
};
}  // namespace detail

template <bool Transpose = false, int N>
WW_FN void stmatrix(Shared<Vec<uint32_t, 4>> row, const uint32_t (&r)[N], here = {}) {
  static_assert(N == 1 || N == 2 || N == 4, "stmatrix moves 1, 2 or 4 matrices");
  using Text = detail::MatrixText<Transpose>;
  if constexpr (N == 1) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1%2.shared::cta.b16 [%0], {%1};" ::"r"(row.address), "r"(r[0]),
                 "C"(Text::text)
                 : "memory");
  } else if constexpr (N == 2) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2%3.shared::cta.b16 [%0], {%1, %2};" ::"r"(row.address), "r"(r[0]),
                 "r"(r[1]), "C"(Text::text)
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4%5.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.address),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "C"(Text::text)
                 : "memory");
  }
}
template <bool Transpose = false, int N>
WW_FN void ldmatrix(uint32_t (&r)[N], Shared<Vec<uint32_t, 4>> row, here = {}) {
  static_assert(N == 1 || N == 2 || N == 4, "ldmatrix moves 1, 2 or 4 matrices");
  using Text = detail::MatrixText<Transpose>;
  if constexpr (N == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1%2.shared::cta.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"(row.address), "C"(Text::text)
                 : "memory");
  } else if constexpr (N == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2%3.shared::cta.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(row.address), "C"(Text::text)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4%5.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row.address), "C"(Text::text)
                 : "memory");
  }
}

}  // namespace warpwright::inline WW_WORLD::machine

// mma.sync: a warp multiplies 16 rows of A by 8 columns of B along 32 bytes of K and adds to 16 x 8 sums. Lane l holds
// of A, as ldmatrix loads it: bytes 4*(l%4) .. +3 of rows l/4 and l/4 + 8 in a[0] and a[1], the same 16 bytes further
// along K in a[2] and a[3]; of B, stored by columns: bytes 4*(l%4) .. +3 of column l/4 in b[0], 16 bytes further in
// b[1]; of the sums: columns 2*(l%4) and +1 of row l/4 in d[0] and d[1], of row l/4 + 8 in d[2] and d[3].
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/machine/cuda/here.h"

namespace warpwright::inline WW_WORLD::machine {

#define WW_MMA_SYNC(instruction, constraint)                                                                      \
  asm volatile("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]), "+" constraint(d[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
// bf16, fp16; e4m3 and e5m2 from sm_89 on.
template <DType T>
WW_FN void mma_sync(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], here = {}) {
  static_assert(T == DType::bf16 || T == DType::fp16 || T == DType::e4m3 || T == DType::e5m2,
                "mma.sync with sums in fp32 takes bf16, fp16, e4m3 or e5m2");
  if constexpr (T == DType::bf16) {
    WW_MMA_SYNC("m16n8k16.row.col.f32.bf16.bf16.f32", "f");
  } else if constexpr (T == DType::fp16) {
    WW_MMA_SYNC("m16n8k16.row.col.f32.f16.f16.f32", "f");
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
    __trap();
#else
    if constexpr (T == DType::e4m3) {
      WW_MMA_SYNC("m16n8k32.row.col.f32.e4m3.e4m3.f32", "f");
    } else {
      WW_MMA_SYNC("m16n8k32.row.col.f32.e5m2.e5m2.f32", "f");
    }
#endif
  }
}
// s8; the sums wrap around.
template <DType T>
WW_FN void mma_sync(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], here = {}) {
  static_assert(T == DType::s8, "mma.sync with sums in s32 takes s8");
  WW_MMA_SYNC("m16n8k32.row.col.s32.s8.s8.s32", "r");
}
#undef WW_MMA_SYNC

}  // namespace warpwright::inline WW_WORLD::machine

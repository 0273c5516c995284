// mma.sync: a warp multiplies 16 rows of A by 8 columns of B along 32 bytes of K and adds to 16 x 8 sums. Lane l holds
// of A, as ldmatrix loads it: bytes 4*(l%4) .. +3 of rows l/4 and l/4 + 8 in a[0] and a[1], the same 16 bytes further
// along K in a[2] and a[3]; of B, stored by columns: bytes 4*(l%4) .. +3 of column l/4 in b[0], 16 bytes further in
// b[1]; of the sums: columns 2*(l%4) and +1 of row l/4 in d[0] and d[1], of row l/4 + 8 in d[2] and d[3].
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
void mma_sync(DType type, void* d, const uint32_t* a, const uint32_t* b, here at);
}  // namespace detail

// bf16, fp16; e4m3 and e5m2 from sm_89 on.
template <DType T>
void mma_sync(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], here at = {}) {
  static_assert(T == DType::bf16 || T == DType::fp16 || T == DType::e4m3 || T == DType::e5m2,
                "mma.sync with sums in fp32 takes bf16, fp16, e4m3 or e5m2");
  detail::mma_sync(T, d, a, b, at);
}
// s8; the sums wrap around.
template <DType T>
void mma_sync(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], here at = {}) {
  static_assert(T == DType::s8, "mma.sync with sums in s32 takes s8");
  detail::mma_sync(T, d, a, b, at);
}

}  // namespace warpwright::inline WW_WORLD::machine

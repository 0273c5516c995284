// Every word that only sm_100a has, one kernel each; check_words.py reads the PTX of each kernel.
#include "warpwright/machine/machine.h"

namespace warpwright::words {
using namespace machine;

struct Input {
  TensorMap map;
  uint32_t* words;
  uint64_t a, b;
  uint32_t address, value, idesc;
  uint16_t mask;
  bool flag;
};

#define WORD(name, ...) \
  extern "C" __global__ void name(const __grid_constant__ Input in) { __VA_ARGS__; }
#define SHARED(T) (Shared<T>{in.address})
#define BAR SHARED(Mbarrier)
#define TILE SHARED(uint16_t)
#define D (Tmem{in.value})

// tma in pair mode
WORD(word_tma_load_pair_2d, tma_load_pair(TILE, &in.map, Coords{1, 2}, map_to_leader(BAR)))
WORD(word_tma_load_pair_3d_evict_first,
     tma_load_pair<CacheHint::evict_first>(TILE, &in.map, Coords{1, 2, 3}, map_to_leader(BAR)))
WORD(word_tma_load_multicast_pair, tma_load_multicast<CacheHint::normal, 2>(TILE, &in.map, Coords{1, 2}, BAR, in.mask))
WORD(word_tma_load_multicast_pair_evict_last,
     tma_load_multicast<CacheHint::evict_last, 2>(TILE, &in.map, Coords{1, 2, 3, 4}, BAR, in.mask))

// rows by their numbers
WORD(word_tma_gather4, tma_gather4(TILE, &in.map, Coords{1, 2, 3, 4, 5}, BAR))
WORD(word_tma_gather4_pair, tma_gather4_pair(TILE, &in.map, Coords{1, 2, 3, 4, 5}, map_to_leader(BAR)))

// cluster launch control
WORD(word_clc_try_cancel, clc_try_cancel(SHARED(ClcResponse), BAR))
WORD(word_clc_try_cancel_multicast, clc_try_cancel_multicast(SHARED(ClcResponse), BAR))
WORD(word_clc_is_canceled, in.words[0] = clc_is_canceled(load(SHARED(ClcResponse))))
WORD(word_clc_first_ctaid, const Index3 i = clc_first_ctaid(load(SHARED(ClcResponse)));
     in.words[0] = i.x + i.y * 3 + i.z * 5)

// tensor memory
#define BOTH_GROUPS(name, call) \
  WORD(name##_1, call(1))       \
  WORD(name##_2, call(2))
#define ALLOC(g) tcgen05_alloc<g>(SHARED(uint32_t), 512)
#define DEALLOC(g) tcgen05_dealloc<g>(D, 512)
#define RELINQUISH(g) tcgen05_relinquish<g>()
#define COMMIT(g) tcgen05_commit<g>(BAR)
#define COMMIT_MULTICAST(g) tcgen05_commit_multicast<g>(BAR, in.mask)
BOTH_GROUPS(word_tcgen05_alloc, ALLOC)
BOTH_GROUPS(word_tcgen05_dealloc, DEALLOC)
BOTH_GROUPS(word_tcgen05_relinquish, RELINQUISH)
BOTH_GROUPS(word_tcgen05_commit, COMMIT)
BOTH_GROUPS(word_tcgen05_commit_multicast, COMMIT_MULTICAST)

#define MMA(kind)                                                                                                  \
  WORD(word_tcgen05_mma_##kind##_1, tcgen05_mma<MmaKind::kind, 1>(D, in.a, in.b, in.idesc, in.flag))               \
  WORD(word_tcgen05_mma_##kind##_2, tcgen05_mma<MmaKind::kind, 2>(D, in.a, in.b, in.idesc, in.flag))               \
  WORD(word_tcgen05_mma_ts_##kind##_1, tcgen05_mma_ts<MmaKind::kind, 1>(D, D.column(64), in.b, in.idesc, in.flag)) \
  WORD(word_tcgen05_mma_ts_##kind##_2, tcgen05_mma_ts<MmaKind::kind, 2>(D, D.column(64), in.b, in.idesc, in.flag))
MMA(f16)
MMA(tf32)
MMA(f8f6f4)
#define MMA_SCALED(kind)                                                                                   \
  WORD(word_tcgen05_mma_scaled_##kind##_1,                                                                 \
       tcgen05_mma_scaled<MmaKind::kind, 1>(D, in.a, in.b, in.idesc, D.column(32), D.column(64), in.flag)) \
  WORD(word_tcgen05_mma_scaled_##kind##_2,                                                                 \
       tcgen05_mma_scaled<MmaKind::kind, 2>(D, in.a, in.b, in.idesc, D.column(32), D.column(64), in.flag))
MMA_SCALED(mxf8f6f4)
MMA_SCALED(mxf4)
MMA_SCALED(mxf4nvf4)

#define COPY(shape)                                                             \
  WORD(word_tcgen05_cp_##shape##_1, tcgen05_cp<TmemCopy::s##shape, 1>(D, in.a)) \
  WORD(word_tcgen05_cp_##shape##_2, tcgen05_cp<TmemCopy::s##shape, 2>(D, in.a))
COPY(128x256b)
COPY(128x128b)
COPY(4x256b)
COPY(64x128b_warpx2)
COPY(32x128b_warpx4)

template <TmemShape S, int Repeat>
WW_FN void load_out(uint32_t* out, Tmem t) {
  TmemRegisters<tmem_registers(S, Repeat)> r;
  tcgen05_ld<S, Repeat>(r, t);
  tcgen05_wait_ld();
#pragma unroll
  for (int i = 0; i < tmem_registers(S, Repeat); ++i) out[i * 128 + int(thread_index())] = r.bits(i);
}
template <TmemShape S, int Repeat>
WW_FN void store_in(const uint32_t* from, Tmem t) {
  TmemRegisters<tmem_registers(S, Repeat)> r;
#pragma unroll
  for (int i = 0; i < tmem_registers(S, Repeat); ++i) r.set(i, from[i * 128 + int(thread_index())]);
  tcgen05_st<S, Repeat>(t, r);
  tcgen05_wait_st();
}
#define MOVE(shape, n)                                                             \
  WORD(word_tcgen05_ld_##shape##_x##n, load_out<TmemShape::shape, n>(in.words, D)) \
  WORD(word_tcgen05_st_##shape##_x##n, store_in<TmemShape::shape, n>(in.words, D))
#define MOVE_TO_32(shape) MOVE(shape, 1) MOVE(shape, 2) MOVE(shape, 4) MOVE(shape, 8) MOVE(shape, 16) MOVE(shape, 32)
MOVE_TO_32(b32x32)
MOVE(b32x32, 64)
MOVE(b32x32, 128)
MOVE_TO_32(b64x16)
MOVE(b64x16, 64)
MOVE(b64x16, 128)
MOVE_TO_32(b128x16)
MOVE(b128x16, 64)
MOVE_TO_32(b256x16)
WORD(word_tcgen05_wait_ld, tcgen05_wait_ld())
WORD(word_tcgen05_wait_st, tcgen05_wait_st())
WORD(word_tcgen05_fence_before, tcgen05_fence_before())
WORD(word_tcgen05_fence_after, tcgen05_fence_after())

}  // namespace warpwright::words

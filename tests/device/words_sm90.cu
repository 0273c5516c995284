// Every word of the machine vocabulary that sm_90a has, one kernel each; check_words.py reads the PTX of each kernel.
#include "warpwright/machine/machine.h"
#include "warpwright/machine/more_words.h"

namespace warpwright::words {
using namespace machine;

struct Input {
  TensorMap map;
  float* floats;
  uint32_t* words;
  uint64_t* longs;
  uint64_t a, b;
  uint32_t address, value, rank;
  uint16_t mask;
  bool flag;
};
// A fresh barrier is in phase 0: the producer's first wait passes, the consumer's does not, and both alternate.
constexpr bool phases_alternate() {
  Phase consumer = Phase::consumer(), producer = Phase::producer();
  bool good = consumer.parity() == 0 && producer.parity() == 1 && Phase::of_parity(1).parity() == 1;
  consumer.advance();
  producer.advance_if(true);
  good = good && consumer.parity() == 1 && producer.parity() == 0;
  consumer.advance();
  producer.advance_if(false);
  return good && consumer.parity() == 0 && producer.parity() == 0;
}
static_assert(phases_alternate());
static_assert(sizeof(Phase) == 4 && stdx::is_empty_v<here>,
              "on the GPU a phase is its parity and a location is nothing");

#define WORD(name, ...) \
  extern "C" __global__ void name(const __grid_constant__ Input in) { __VA_ARGS__; }
#define SHARED(T) (Shared<T>{in.address})
#define REMOTE(T) (ClusterShared<T>{in.address})
#define BAR SHARED(Mbarrier)
#define OUT in.words[thread_index()]

using Vec4 = Vec<uint32_t, 4>;
using Vec8h = Vec<uint16_t, 8>;

// identity
WORD(word_thread_index, in.words[0] = thread_index())
WORD(word_block_threads, in.words[0] = block_threads())
WORD(word_block_index, in.words[0] = block_index().x + block_index().y)
WORD(word_grid_size, in.words[0] = grid_size().x + grid_size().z)
WORD(word_cluster_rank, in.words[0] = cluster_rank())
WORD(word_cluster_size, in.words[0] = cluster_size())
WORD(word_cluster_index, in.words[0] = cluster_index())
WORD(word_cluster_count, in.words[0] = cluster_count())
WORD(word_shared_base, in.words[0] = shared_base())
WORD(word_lane_index, in.words[0] = lane_index())
WORD(word_warp_index, in.words[0] = warp_index())

// warp
WORD(word_elect_one, if (elect_one()) in.words[0] = 1)
WORD(word_sync_warp, sync_warp())
WORD(word_ballot, OUT = ballot(in.flag))
WORD(word_shuffle, OUT = uint32_t(shuffle(int(OUT), in.value)))
WORD(word_shuffle_up, OUT = shuffle_up(OUT, 1))
WORD(word_shuffle_down, OUT = shuffle_down(OUT, 16))
WORD(word_vote_any, OUT = vote_any(in.flag))
WORD(word_vote_all, OUT = vote_all(in.flag))
WORD(word_shuffle_xor, in.floats[thread_index()] = shuffle_xor(in.floats[thread_index()], 4))
WORD(word_warp_uniform, OUT = warp_uniform(warp_index()))

// memory
WORD(word_load_shared_1, OUT = load(SHARED(uint8_t)))
WORD(word_load_shared_2, OUT = load(SHARED(uint16_t)))
WORD(word_load_shared_4, in.floats[0] = load(SHARED(float)))
WORD(word_load_shared_8, in.longs[0] = load(SHARED(uint64_t)))
WORD(word_load_shared_16, OUT = load(SHARED(const Vec8h))[3])
WORD(word_store_shared_2, store(SHARED(uint16_t), uint16_t(in.mask)))
WORD(word_store_shared_4, store(SHARED(float), in.floats[0]))
WORD(word_store_shared_16, const uint16_t h = in.mask; store(SHARED(Vec8h), Vec8h{{h, 1, h, 2, h, 3, h, 4}}))
WORD(word_load_cluster_1, OUT = load(REMOTE(uint8_t)))
WORD(word_load_cluster_2, OUT = load(REMOTE(uint16_t)))
WORD(word_load_cluster_4, in.floats[0] = load(REMOTE(float)))
WORD(word_load_cluster_8, in.longs[0] = load(REMOTE(uint64_t)))
WORD(word_load_cluster_16, OUT = load(REMOTE(Vec4))[1])
WORD(word_store_cluster_1, store(REMOTE(uint8_t), uint8_t(in.value)))
WORD(word_store_cluster_2, store(REMOTE(uint16_t), in.mask))
WORD(word_store_cluster_4, store(REMOTE(float), in.floats[0]))
WORD(word_store_cluster_8, store(REMOTE(uint64_t), in.a))
WORD(word_store_cluster_16, store(REMOTE(Vec4), Vec4{{in.value, 1, 2, 3}}))
WORD(word_load_global_4, OUT = load(Global<const uint32_t>{in.words + 7}))
WORD(word_load_global_16, OUT = load(Global<Vec8h>{reinterpret_cast<Vec8h*>(in.longs)})[3])
// A pointer read through an argument, as in a table of groups.
WORD(word_load_global_of_table, OUT = load(*reinterpret_cast<const Global<uint32_t>*>(in.longs + 2)))
WORD(word_store_global_4, store(Global<float>{in.floats}, 1.f))
WORD(word_store_global_16, store(Global<Vec4>{reinterpret_cast<Vec4*>(in.longs)}, Vec4{{in.value, 1, 2, 3}}))
WORD(word_load_acquire_1, OUT = load_acquire(Global<uint8_t>{reinterpret_cast<uint8_t*>(in.words)}))
WORD(word_load_acquire_2, OUT = load_acquire(Global<uint16_t>{reinterpret_cast<uint16_t*>(in.words)}))
WORD(word_load_acquire_4, OUT = load_acquire(Global<uint32_t>{in.words}))
WORD(word_load_acquire_8, in.longs[1] = load_acquire(Global<uint64_t>{in.longs}))
WORD(word_load_acquire_16, OUT = load_acquire(Global<Vec4>{reinterpret_cast<Vec4*>(in.longs)})[2])
WORD(word_store_release_1, store_release(Global<uint8_t>{reinterpret_cast<uint8_t*>(in.words)}, uint8_t(in.value)))
WORD(word_store_release_2, store_release(Global<uint16_t>{reinterpret_cast<uint16_t*>(in.words)}, in.mask))
WORD(word_store_release_4, store_release(Global<float>{in.floats}, 2.f))
WORD(word_store_release_8, store_release(Global<uint64_t>{in.longs}, in.a))
WORD(word_store_release_16, store_release(Global<Vec4>{reinterpret_cast<Vec4*>(in.longs)}, Vec4{{in.value, 1, 2, 3}}))
WORD(word_atomic_add_u32, OUT = atomic_add(Global<uint32_t>{in.words}, 1))
WORD(word_atomic_add_s32, OUT = uint32_t(atomic_add<Order::acquire>(Global<int>{reinterpret_cast<int*>(in.words)}, 1)))
WORD(word_atomic_add_u64, in.longs[1] = atomic_add<Order::release>(Global<uint64_t>{in.longs}, 1))
WORD(word_atomic_add_f32, in.floats[1] = atomic_add<Order::acq_rel>(Global<float>{in.floats}, 1.f))
WORD(word_atomic_add_shared, OUT = atomic_add(SHARED(uint32_t), 1))
WORD(word_atomic_add_shared_u64, in.longs[0] = atomic_add<Order::acq_rel>(SHARED(uint64_t), 1))
WORD(word_atomic_exchange, OUT = atomic_exchange<Order::acquire>(Global<uint32_t>{in.words}, 1))
WORD(word_atomic_exchange_64, in.longs[1] = atomic_exchange(Global<uint64_t>{in.longs}, 1))
WORD(word_atomic_compare_swap, OUT = atomic_compare_swap<Order::acq_rel>(Global<uint32_t>{in.words}, 0, 1))
WORD(word_atomic_compare_swap_64, in.longs[1] = atomic_compare_swap(Global<uint64_t>{in.longs}, 0, 1))
WORD(word_atomic_min, OUT = uint32_t(atomic_min(Global<int>{reinterpret_cast<int*>(in.words)}, 1)))
WORD(word_atomic_min_shared, OUT = atomic_min(SHARED(uint32_t), 1))
WORD(word_atomic_max, OUT = atomic_max<Order::acquire>(Global<uint32_t>{in.words}, 1))
WORD(word_atomic_max_shared, in.longs[0] = atomic_max(SHARED(uint64_t), 1))
WORD(word_atomic_and, OUT = atomic_and<Order::release>(Global<uint32_t>{in.words}, 1))
WORD(word_atomic_and_shared, OUT = atomic_and(SHARED(uint32_t), 1))
WORD(word_atomic_or, in.longs[1] = atomic_or<Order::acq_rel>(Global<uint64_t>{in.longs}, 1))
WORD(word_atomic_or_shared, OUT = atomic_or(SHARED(uint32_t), 1))
WORD(word_atomic_xor, OUT = atomic_xor(Global<uint32_t>{in.words}, 1))
WORD(word_atomic_xor_shared, OUT = atomic_xor(SHARED(uint32_t), 1))
WORD(word_reduce_add, reduce_add(Global<float>{in.floats}, 1.f))
WORD(word_reduce_add_64, reduce_add(Global<uint64_t>{in.longs}, 1))
WORD(word_map_to_rank, OUT = map_to_rank(BAR, in.rank).address)
WORD(word_map_to_leader, OUT = map_to_leader(BAR).address)

// mbarrier
WORD(word_mbarrier_init, mbarrier_init(BAR, in.value))
WORD(word_mbarrier_invalidate, mbarrier_invalidate(BAR))
WORD(word_mbarrier_arrive, mbarrier_arrive(BAR))
WORD(word_mbarrier_arrive_count, mbarrier_arrive(BAR, 3))
WORD(word_mbarrier_arrive_relaxed, mbarrier_arrive_relaxed(BAR))
WORD(word_mbarrier_arrive_expect_tx, mbarrier_arrive_expect_tx(BAR, 4096))
WORD(word_mbarrier_expect_tx, mbarrier_expect_tx(BAR, 4096))
WORD(word_mbarrier_test_wait, OUT = mbarrier_test_wait(BAR, Phase::of_parity(in.value)))
WORD(word_mbarrier_try_wait, OUT = mbarrier_try_wait(BAR, Phase::consumer()))
WORD(word_mbarrier_wait, mbarrier_wait(BAR, Phase::producer()))
WORD(word_mbarrier_wait_no_hint, mbarrier_wait<Scope::cta, Suspend::none>(BAR, Phase::of_parity(in.value)))
WORD(word_mbarrier_wait_cluster, mbarrier_wait<Scope::cluster>(BAR, Phase::of_parity(in.value)))
WORD(word_mbarrier_wait_twice, Phase p = Phase::consumer(); mbarrier_wait(BAR, p); p.advance_if(in.flag); p.advance();
     mbarrier_wait(BAR + 1, p))
WORD(word_mbarrier_arrive_remote, mbarrier_arrive(REMOTE(Mbarrier)))
WORD(word_mbarrier_arrive_remote_cluster, mbarrier_arrive<Scope::cluster>(REMOTE(Mbarrier)))
WORD(word_mbarrier_arrive_remote_count, mbarrier_arrive(REMOTE(Mbarrier), 2))
WORD(word_mbarrier_arrive_expect_tx_remote, mbarrier_arrive_expect_tx(REMOTE(Mbarrier), 64))

// barrier
WORD(word_sync_block, sync_block())
WORD(word_named_barrier_sync, named_barrier_sync(1, 128))
WORD(word_named_barrier_arrive, named_barrier_arrive(2, 128))
WORD(word_named_barrier_sync_aligned, named_barrier_sync_aligned(3, 64))
WORD(word_cluster_arrive, cluster_arrive())
WORD(word_cluster_arrive_relaxed, cluster_arrive_relaxed())
WORD(word_cluster_wait, cluster_wait())
WORD(word_cluster_sync, cluster_sync())

// fence
WORD(word_fence_mbarrier_init, fence_mbarrier_init())
WORD(word_fence_proxy_async, fence_proxy_async())
WORD(word_fence_proxy_async_shared_cta, fence_proxy_async<ProxySpace::shared_cta>())
WORD(word_fence_proxy_async_shared_cluster, fence_proxy_async<ProxySpace::shared_cluster>())
WORD(word_fence_proxy_async_global, fence_proxy_async<ProxySpace::global>())
WORD(word_fence, fence())
WORD(word_fence_cta, fence<Order::acq_rel, Scope::cta>())
WORD(word_fence_cluster, fence<Order::acq_rel, Scope::cluster>())
WORD(word_fence_sys, fence<Order::acq_rel, Scope::sys>())
WORD(word_fence_acquire, fence<Order::acquire>())
WORD(word_fence_release, fence<Order::release>())
WORD(word_fence_tensormap_release, fence_tensormap_release())
WORD(word_fence_tensormap_acquire, fence_tensormap_acquire(reinterpret_cast<const TensorMap*>(in.longs)))

// tma
#define TILE SHARED(uint16_t)
WORD(word_tma_load_1d, tma_load(TILE, &in.map, Coords{1}, BAR))
WORD(word_tma_load_2d, tma_load(TILE, &in.map, Coords{1, 2}, BAR))
WORD(word_tma_load_3d, tma_load(TILE, &in.map, Coords{1, 2, 3}, BAR))
WORD(word_tma_load_4d, tma_load(TILE, &in.map, Coords{1, 2, 3, 4}, BAR))
WORD(word_tma_load_5d, tma_load(TILE, &in.map, Coords{1, 2, 3, 4, 5}, BAR))
WORD(word_tma_load_evict_first, tma_load<CacheHint::evict_first>(TILE, &in.map, Coords{1, 2}, BAR))
WORD(word_tma_load_evict_last, tma_load<CacheHint::evict_last>(TILE, &in.map, Coords{1, 2, 3}, BAR))
WORD(word_tma_load_multicast_1d, tma_load_multicast(TILE, &in.map, Coords{1}, BAR, in.mask))
WORD(word_tma_load_multicast_2d, tma_load_multicast(TILE, &in.map, Coords{1, 2}, BAR, in.mask))
WORD(word_tma_load_multicast_3d, tma_load_multicast(TILE, &in.map, Coords{1, 2, 3}, BAR, in.mask))
WORD(word_tma_load_multicast_4d, tma_load_multicast(TILE, &in.map, Coords{1, 2, 3, 4}, BAR, in.mask))
WORD(word_tma_load_multicast_5d, tma_load_multicast(TILE, &in.map, Coords{1, 2, 3, 4, 5}, BAR, in.mask))
WORD(word_tma_load_multicast_evict_last,
     tma_load_multicast<CacheHint::evict_last>(TILE, &in.map, Coords{1, 2}, BAR, in.mask))
WORD(word_tma_store_1d, tma_store(&in.map, Coords{1}, TILE))
WORD(word_tma_store_2d, tma_store(&in.map, Coords{1, 2}, TILE))
WORD(word_tma_store_3d, tma_store(&in.map, Coords{1, 2, 3}, TILE))
WORD(word_tma_store_4d, tma_store(&in.map, Coords{1, 2, 3, 4}, TILE))
WORD(word_tma_store_5d, tma_store(&in.map, Coords{1, 2, 3, 4, 5}, TILE))
WORD(word_tma_reduce_add_1d, tma_reduce_add(&in.map, Coords{1}, TILE))
WORD(word_tma_reduce_add_2d, tma_reduce_add(&in.map, Coords{1, 2}, TILE))
WORD(word_tma_reduce_add_3d, tma_reduce_add(&in.map, Coords{1, 2, 3}, TILE))
WORD(word_tma_reduce_add_4d, tma_reduce_add(&in.map, Coords{1, 2, 3, 4}, TILE))
WORD(word_tma_reduce_add_5d, tma_reduce_add(&in.map, Coords{1, 2, 3, 4, 5}, TILE))
WORD(word_tma_prefetch_map, tma_prefetch_map(&in.map))
WORD(word_tma_prefetch_1d, tma_prefetch(&in.map, Coords{1}))
WORD(word_tma_prefetch_2d, tma_prefetch(&in.map, Coords{1, 2}))
WORD(word_tma_prefetch_3d, tma_prefetch(&in.map, Coords{1, 2, 3}))
WORD(word_tma_prefetch_4d, tma_prefetch(&in.map, Coords{1, 2, 3, 4}))
WORD(word_tma_prefetch_5d, tma_prefetch(&in.map, Coords{1, 2, 3, 4, 5}))
WORD(word_bulk_load, bulk_load(SHARED(uint32_t), Global<const uint32_t>{in.words}, 256, BAR))
WORD(word_bulk_load_multicast,
     bulk_load_multicast(SHARED(uint32_t), Global<const uint32_t>{in.words}, 256, BAR, in.mask))
WORD(word_bulk_store, bulk_store(Global<uint32_t>{in.words}, SHARED(uint32_t), 256))
WORD(word_bulk_copy, bulk_copy(REMOTE(uint32_t), SHARED(uint32_t), 256, map_to_rank(BAR, in.rank)))
WORD(word_bulk_commit, bulk_commit())
WORD(word_bulk_wait, bulk_wait<1>())
WORD(word_bulk_wait_read, bulk_wait_read())
WORD(word_cp_async_16, cp_async_16(SHARED(uint32_t), Global<const uint32_t>{in.words}, in.value))
WORD(word_cp_async_4, cp_async_4(SHARED(uint32_t), Global<const uint32_t>{in.words}, in.value != 0))
WORD(word_cp_async_zeros_4, cp_async<4>(SHARED(uint32_t), Global<const uint32_t>{in.words}, in.value))
WORD(word_cp_async_zeros_8, cp_async<8>(SHARED(uint32_t), Global<const uint32_t>{in.words}, in.value))
WORD(word_cp_async_commit, cp_async_commit())
WORD(word_cp_async_wait, cp_async_wait<2>())
WORD(word_cp_async_mbarrier_arrive, cp_async_mbarrier_arrive(BAR))
WORD(word_cp_async_mbarrier_arrive_noinc, cp_async_mbarrier_arrive_noinc(BAR))

// matrix
#define ROW SHARED(Vec4)
#define LDMATRIX(n, ...)        \
  uint32_t r[n];                \
  ldmatrix __VA_ARGS__(r, ROW); \
  for (uint32_t v : r) in.words[v] = v
#define STMATRIX(n, ...)                          \
  uint32_t r[n];                                  \
  for (int i = 0; i < n; ++i) r[i] = in.words[i]; \
  stmatrix __VA_ARGS__(ROW, r)
WORD(word_ldmatrix_x1, LDMATRIX(1))
WORD(word_ldmatrix_x2, LDMATRIX(2))
WORD(word_ldmatrix_x4, LDMATRIX(4))
WORD(word_ldmatrix_x4_trans, LDMATRIX(4, <true>))
WORD(word_stmatrix_x1, STMATRIX(1))
WORD(word_stmatrix_x2, STMATRIX(2))
WORD(word_stmatrix_x4, STMATRIX(4))
WORD(word_stmatrix_x4_trans, STMATRIX(4, <true>))

// mma
#define MMA_SYNC(sum, type)                           \
  sum d[4] = {};                                      \
  uint32_t a[4], b[2];                                \
  for (int i = 0; i < 4; ++i) a[i] = in.words[i];     \
  for (int i = 0; i < 2; ++i) b[i] = in.words[4 + i]; \
  mma_sync<DType::type>(d, a, b);                     \
  for (int i = 0; i < 4; ++i) in.words[i] = __builtin_bit_cast(uint32_t, d[i])
WORD(word_mma_sync_bf16, MMA_SYNC(float, bf16))
WORD(word_mma_sync_fp16, MMA_SYNC(float, fp16))
WORD(word_mma_sync_e4m3, MMA_SYNC(float, e4m3))
WORD(word_mma_sync_e5m2, MMA_SYNC(float, e5m2))
WORD(word_mma_sync_s8, MMA_SYNC(int32_t, s8))

// control
#define BOUNDED_WORD(name, ...) \
  extern "C" __global__ void __launch_bounds__(256, 1) name(const __grid_constant__ Input) { __VA_ARGS__; }
BOUNDED_WORD(word_registers_increase, registers_increase<240>())
BOUNDED_WORD(word_registers_decrease, registers_decrease<40>())
WORD(word_grid_dependency_wait, grid_dependency_wait())
WORD(word_grid_dependency_launch, grid_dependency_launch())
WORD(word_clock_cycles, in.longs[0] = clock_cycles())
WORD(word_global_timer_ns, in.longs[0] = global_timer_ns())
WORD(word_trap, if (in.flag) trap("asked to"); in.words[0] = 1)

// wgmma, each between its fence, commit and wait
template <int N>
WW_FN void write_out(const Accumulator<N>& d, float* out) {
#pragma unroll
  for (int i = 0; i < N / 2; ++i) out[i * 128 + int(thread_index())] = d.get(i);
}
#define WGMMA_SS(name, n, ...)                                                                               \
  WORD(name, Accumulator<n> d; wgmma_fence(); wgmma_ss<__VA_ARGS__>(d, in.a, in.b, in.flag); wgmma_commit(); \
       wgmma_wait<0>(); write_out(d, in.floats))
#define WGMMA_RS(name, n, ...)                                                                                   \
  WORD(name, Accumulator<n> d; AFragment a; for (int i = 0; i < 4; ++i) a.set(i, in.words[i]);                   \
       for (int i = 0; i < n / 2; ++i) d.set(i, 0.f); wgmma_fence(); wgmma_rs<__VA_ARGS__>(d, a, in.b, in.flag); \
       wgmma_commit(); wgmma_wait<0>(); write_out(d, in.floats))
#define WGMMA_N(n)                             \
  WGMMA_SS(word_wgmma_ss_n##n, n, DType::bf16) \
  WGMMA_RS(word_wgmma_rs_n##n, n, DType::bf16)
#define WGMMA_N4(a, b, c, d) WGMMA_N(a) WGMMA_N(b) WGMMA_N(c) WGMMA_N(d)
WGMMA_N4(8, 16, 24, 32)
WGMMA_N4(40, 48, 56, 64)
WGMMA_N4(72, 80, 88, 96)
WGMMA_N4(104, 112, 120, 128)
WGMMA_N4(136, 144, 152, 160)
WGMMA_N4(168, 176, 184, 192)
WGMMA_N4(200, 208, 216, 224)
WGMMA_N4(232, 240, 248, 256)
#define WGMMA_TYPE(n, a, b)                                       \
  WGMMA_SS(word_wgmma_ss_n##n##_##a##_##b, n, DType::a, DType::b) \
  WGMMA_RS(word_wgmma_rs_n##n##_##a##_##b, n, DType::a, DType::b)
#define WGMMA_MAJOR(n, t)                                                                \
  WGMMA_SS(word_wgmma_ss_n##n##_##t##_KMN, n, DType::t, DType::t, Major::K, Major::MN)   \
  WGMMA_SS(word_wgmma_ss_n##n##_##t##_MNK, n, DType::t, DType::t, Major::MN, Major::K)   \
  WGMMA_SS(word_wgmma_ss_n##n##_##t##_MNMN, n, DType::t, DType::t, Major::MN, Major::MN) \
  WGMMA_RS(word_wgmma_rs_n##n##_##t##_MN, n, DType::t, DType::t, Major::MN)
#define WGMMA_TYPES(n)      \
  WGMMA_TYPE(n, fp16, fp16) \
  WGMMA_TYPE(n, e4m3, e4m3) \
  WGMMA_TYPE(n, e4m3, e5m2) \
  WGMMA_TYPE(n, e5m2, e4m3) WGMMA_TYPE(n, e5m2, e5m2) WGMMA_MAJOR(n, bf16) WGMMA_MAJOR(n, fp16)
WGMMA_TYPES(64)
WGMMA_TYPES(128)
WGMMA_TYPES(256)

}  // namespace warpwright::words

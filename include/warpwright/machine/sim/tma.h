// Asynchronous bulk copies: cp.async.bulk and cp.async.bulk.tensor, and their completion mechanisms.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
void tma_load(uint32_t dst, const TensorMap* map, const int32_t* coords, int rank, uint32_t bar, uint16_t mask,
              bool multicast, int cta_group, CacheHint hint, here at);
void tma_gather4(uint32_t dst, const TensorMap* map, const int32_t* column_and_rows, uint32_t bar, int cta_group,
                 here at);
void tma_store(const TensorMap* map, const int32_t* coords, int rank, uint32_t src, bool reduce_add, here at);
void bulk_load(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar, uint16_t mask, bool multicast, here at);
void bulk_store(void* dst, uint32_t src, uint32_t bytes, here at);
void bulk_copy_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar, here at);
void bulk_wait(int pending, bool read_only, here at);
void cp_async(uint32_t dst, const void* src, uint32_t bytes, uint32_t valid_bytes, here at);
void cp_async_wait(int pending, here at);
}  // namespace detail

template <int R>
struct Coords {
  int32_t c[R];
};
template <class... I>
Coords(I...) -> Coords<int(sizeof...(I))>;

// Global -> shared, one box; completes `bytes of the box` on the barrier. Issued by one thread.
// CtaGroup 2: the barrier may be the leader's (map_to_leader), as pair mode wants.
template <CacheHint H = CacheHint::normal, int R, class T>
void tma_load(Shared<T> dst, const TensorMap* map, Coords<R> at_element, Shared<Mbarrier> bar, here at = {}) {
  detail::tma_load(dst.address, map, at_element.c, R, bar.address, 0, false, 1, H, at);
}
template <CacheHint H = CacheHint::normal, int R, class T>
void tma_load_pair(Shared<T> dst, const TensorMap* map, Coords<R> at_element, ClusterShared<Mbarrier> bar,
                   here at = {}) {
  detail::tma_load(dst.address, map, at_element.c, R, bar.address, 0, false, 2, H, at);
}
// The same offset, and the same barrier offset, in every CTA of the mask.
template <CacheHint H = CacheHint::normal, int CtaGroup = 1, int R, class T>
void tma_load_multicast(Shared<T> dst, const TensorMap* map, Coords<R> at_element, Shared<Mbarrier> bar, uint16_t mask,
                        here at = {}) {
  detail::tma_load(dst.address, map, at_element.c, R, bar.address, mask, true, CtaGroup, H, at);
}
// Global -> shared on Blackwell: the part from `column` on of four rows of a matrix, whose map has boxes of one row;
// row i of them goes to the i-th line from dst on, swizzled by where that is. A row that the matrix does not have is
// zeros, and its bytes count. _pair: as tma_load_pair.
template <class T>
void tma_gather4(Shared<T> dst, const TensorMap* map, Coords<5> column_and_rows, Shared<Mbarrier> bar, here at = {}) {
  detail::tma_gather4(dst.address, map, column_and_rows.c, bar.address, 1, at);
}
template <class T>
void tma_gather4_pair(Shared<T> dst, const TensorMap* map, Coords<5> column_and_rows, ClusterShared<Mbarrier> bar,
                      here at = {}) {
  detail::tma_gather4(dst.address, map, column_and_rows.c, bar.address, 2, at);
}
// Shared -> global; completion by bulk groups of the issuing thread.
template <int R, class T>
void tma_store(const TensorMap* map, Coords<R> at_element, Shared<T> src, here at = {}) {
  detail::tma_store(map, at_element.c, R, src.address, false, at);
}
template <int R, class T>
void tma_reduce_add(const TensorMap* map, Coords<R> at_element, Shared<T> src, here at = {}) {
  detail::tma_store(map, at_element.c, R, src.address, true, at);
}
void tma_prefetch_map(const TensorMap* map, here at = {});
template <int R>
void tma_prefetch(const TensorMap*, Coords<R>, here = {}) {}  // into L2: no effect on results

template <class T>
void bulk_load(Shared<T> dst, Global<const T> src, uint32_t bytes, Shared<Mbarrier> bar, here at = {}) {
  detail::bulk_load(dst.address, pointer_of(src), bytes, bar.address, 0, false, at);
}
template <class T>
void bulk_load_multicast(Shared<T> dst, Global<const T> src, uint32_t bytes, Shared<Mbarrier> bar, uint16_t mask,
                         here at = {}) {
  detail::bulk_load(dst.address, pointer_of(src), bytes, bar.address, mask, true, at);
}
template <class T>
void bulk_store(Global<T> dst, Shared<T> src, uint32_t bytes, here at = {}) {
  detail::bulk_store(pointer_of(dst), src.address, bytes, at);
}
template <class T>
void bulk_copy(ClusterShared<T> dst, Shared<T> src, uint32_t bytes, ClusterShared<Mbarrier> bar, here at = {}) {
  detail::bulk_copy_to_cluster(dst.address, src.address, bytes, bar.address, at);
}
void bulk_commit(here at = {});
template <int Pending = 0>
void bulk_wait(here at = {}) {  // sources read and destinations written
  detail::bulk_wait(Pending, false, at);
}
template <int Pending = 0>
void bulk_wait_read(here at = {}) {  // sources may be overwritten
  detail::bulk_wait(Pending, true, at);
}

// Non-bulk cp.async (sm_80): 16 bytes a thread, `valid_bytes` of them copied, the rest zero.
template <class T>
void cp_async_16(Shared<T> dst, Global<const T> src, uint32_t valid_bytes = 16, here at = {}) {
  detail::cp_async(dst.address, pointer_of(src), 16, valid_bytes, at);
}
// The same for 4 bytes; all of them or none.
template <class T>
void cp_async_4(Shared<T> dst, Global<const T> src, bool valid = true, here at = {}) {
  detail::cp_async(dst.address, pointer_of(src), 4, valid ? 4 : 0, at);
}
// The same for any size of cp.async: 4, 8 or 16 bytes.
template <int Bytes, class T>
void cp_async(Shared<T> dst, Global<const T> src, uint32_t valid_bytes, here at = {}) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  detail::cp_async(dst.address, pointer_of(src), Bytes, valid_bytes, at);
}
void cp_async_commit(here at = {});
template <int Pending = 0>
void cp_async_wait(here at = {}) {
  detail::cp_async_wait(Pending, at);
}
void cp_async_mbarrier_arrive(Shared<Mbarrier> b, here at = {});        // adds one pending arrival, arrives later
void cp_async_mbarrier_arrive_noinc(Shared<Mbarrier> b, here at = {});  // the arrival was counted at init

}  // namespace warpwright::inline WW_WORLD::machine

// Asynchronous bulk copies: cp.async.bulk and cp.async.bulk.tensor, and their completion mechanisms.
#pragma once
#include <cuda/ptx>

#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/record.h"

namespace warpwright::inline WW_WORLD::machine {

template <int R>
struct Coords {
  int32_t c[R];
};
template <class... I>
Coords(I...) -> Coords<int(sizeof...(I))>;

namespace detail {
// What createpolicy.fractional returns for the whole access: the policy word is a constant, so no instruction makes it.
template <CacheHint H>
inline constexpr uint64_t kCachePolicy = H == CacheHint::evict_first ? 0x12F0'0000'0000'0000 : 0x14F0'0000'0000'0000;

// cta_group::2 lets the barrier be the leader's; sm_90 does not know the qualifier.
template <int CtaGroup>
struct TmaGroupText {
  static constexpr char text[] = "";
};
template <>
struct TmaGroupText<2> {
  static constexpr char text[] = ".cta_group::2";
};

// One statement per rank; `operands` are those from %3 on, `tail` names the ones that follow the barrier. Coordinates
// come after the three addresses and the group's text, so that their numbers do not depend on the variant.
#define WW_TMA_LOAD(rank, coords, qualifiers, tail, ...)                                                            \
  asm volatile("cp.async.bulk.tensor." rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" qualifiers \
               " [%0], [%1, {" coords "}], [%2]" tail ";" ::"r"(dst),                                               \
               "l"(map), "r"(bar), "C"(TmaGroupText<CtaGroup>::text), "h"(mask), "l"(kCachePolicy<H>), __VA_ARGS__  \
               : "memory")
#define WW_TMA_LOAD_RANK(qualifiers, tail)                                                                            \
  if constexpr (R == 1) {                                                                                             \
    WW_TMA_LOAD("1", "%6", qualifiers, tail, "r"(c[0]));                                                              \
  } else if constexpr (R == 2) {                                                                                      \
    WW_TMA_LOAD("2", "%6, %7", qualifiers, tail, "r"(c[0]), "r"(c[1]));                                               \
  } else if constexpr (R == 3) {                                                                                      \
    WW_TMA_LOAD("3", "%6, %7, %8", qualifiers, tail, "r"(c[0]), "r"(c[1]), "r"(c[2]));                                \
  } else if constexpr (R == 4) {                                                                                      \
    WW_TMA_LOAD("4", "%6, %7, %8, %9", qualifiers, tail, "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));                 \
  } else {                                                                                                            \
    WW_TMA_LOAD("5", "%6, %7, %8, %9, %10", qualifiers, tail, "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])); \
  }
template <CacheHint H, int CtaGroup, bool Multicast, int R>
WW_FN void tma_load(uint32_t dst, const TensorMap* map, const int32_t (&c)[R], uint32_t bar, uint16_t mask) {
  static_assert(R >= 1 && R <= 5, "a tensor map has 1 to 5 dimensions");
  static_assert(CtaGroup == 1 || CtaGroup == 2, "cta_group is 1 or 2");
  if constexpr (!Multicast && H == CacheHint::normal) {
    WW_TMA_LOAD_RANK("%3", "")
  } else if constexpr (!Multicast) {
    WW_TMA_LOAD_RANK("%3.L2::cache_hint", ", %5")
  } else if constexpr (H == CacheHint::normal) {
    WW_TMA_LOAD_RANK(".multicast::cluster%3", ", %4")
  } else {
    WW_TMA_LOAD_RANK(".multicast::cluster%3.L2::cache_hint", ", %4, %5")
  }
}
#undef WW_TMA_LOAD_RANK
#undef WW_TMA_LOAD

// Four rows that a table names: %3 is the group's text, then the column and the rows.
template <int CtaGroup>
WW_FN void tma_gather4(uint32_t dst, const TensorMap* map, const int32_t (&c)[5], uint32_t bar) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "cta_group is 1 or 2");
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes%3 [%0], [%1, {%4, %5, "
      "%6, %7, %8}], [%2];" ::"r"(dst),
      "l"(map), "r"(bar), "C"(TmaGroupText<CtaGroup>::text), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])
      : "memory");
}

// The forms that have only the map, the coordinates and perhaps a shared address.
#define WW_TMA_BOX(head, middle, tail, ...)                                                                      \
  if constexpr (R == 1) {                                                                                        \
    asm volatile(head "1d" middle " [%0, {%1}]" tail("%2") ";" ::"l"(map), "r"(c[0])__VA_ARGS__ : "memory");     \
  } else if constexpr (R == 2) {                                                                                 \
    asm volatile(head "2d" middle " [%0, {%1, %2}]" tail("%3") ";" ::"l"(map), "r"(c[0]), "r"(c[1])__VA_ARGS__   \
                 : "memory");                                                                                    \
  } else if constexpr (R == 3) {                                                                                 \
    asm volatile(head "3d" middle " [%0, {%1, %2, %3}]" tail("%4") ";" ::"l"(map), "r"(c[0]), "r"(c[1]),         \
                 "r"(c[2])__VA_ARGS__                                                                            \
                 : "memory");                                                                                    \
  } else if constexpr (R == 4) {                                                                                 \
    asm volatile(head "4d" middle " [%0, {%1, %2, %3, %4}]" tail("%5") ";" ::"l"(map), "r"(c[0]), "r"(c[1]),     \
                 "r"(c[2]), "r"(c[3])__VA_ARGS__                                                                 \
                 : "memory");                                                                                    \
  } else {                                                                                                       \
    asm volatile(head "5d" middle " [%0, {%1, %2, %3, %4, %5}]" tail("%6") ";" ::"l"(map), "r"(c[0]), "r"(c[1]), \
                 "r"(c[2]), "r"(c[3]), "r"(c[4])__VA_ARGS__                                                      \
                 : "memory");                                                                                    \
  }
#define WW_TMA_SOURCE(operand) ", [" operand "]"
#define WW_TMA_NO_SOURCE(operand) ""
template <int R>
WW_FN void tma_store(const TensorMap* map, const int32_t (&c)[R], uint32_t src) {
  static_assert(R >= 1 && R <= 5, "a tensor map has 1 to 5 dimensions");
  WW_TMA_BOX("cp.async.bulk.tensor.", ".global.shared::cta.tile.bulk_group", WW_TMA_SOURCE, , "r"(src))
}
template <int R>
WW_FN void tma_reduce_add(const TensorMap* map, const int32_t (&c)[R], uint32_t src) {
  static_assert(R >= 1 && R <= 5, "a tensor map has 1 to 5 dimensions");
  WW_TMA_BOX("cp.reduce.async.bulk.tensor.", ".global.shared::cta.add.tile.bulk_group", WW_TMA_SOURCE, , "r"(src))
}
template <int R>
WW_FN void tma_prefetch(const TensorMap* map, const int32_t (&c)[R]) {
  static_assert(R >= 1 && R <= 5, "a tensor map has 1 to 5 dimensions");
  WW_TMA_BOX("cp.async.bulk.prefetch.tensor.", ".L2.global.tile", WW_TMA_NO_SOURCE)
}
#undef WW_TMA_NO_SOURCE
#undef WW_TMA_SOURCE
#undef WW_TMA_BOX
}  // namespace detail

// Global -> shared, one box; completes `bytes of the box` on the barrier. Issued by one thread.
// CtaGroup 2: the barrier may be the leader's (map_to_leader), as pair mode wants.
template <CacheHint H = CacheHint::normal, int R, class T>
WW_FN void tma_load(Shared<T> dst, const TensorMap* map, Coords<R> at_element, Shared<Mbarrier> bar, here at = {}) {
  record::load(record::Kind::load, dst.address, bar.address, at);
  detail::tma_load<H, 1, false>(dst.address, map, at_element.c, bar.address, 0);
}
template <CacheHint H = CacheHint::normal, int R, class T>
WW_FN void tma_load_pair(Shared<T> dst, const TensorMap* map, Coords<R> at_element, ClusterShared<Mbarrier> bar,
                         here at = {}) {
  record::load(record::Kind::load, dst.address, bar.address, at);
  detail::tma_load<H, 2, false>(dst.address, map, at_element.c, bar.address, 0);
}
// The same offset, and the same barrier offset, in every CTA of the mask.
template <CacheHint H = CacheHint::normal, int CtaGroup = 1, int R, class T>
WW_FN void tma_load_multicast(Shared<T> dst, const TensorMap* map, Coords<R> at_element, Shared<Mbarrier> bar,
                              uint16_t mask, here at = {}) {
  record::load(record::Kind::load_multicast, dst.address, bar.address, at);
  detail::tma_load<H, CtaGroup, true>(dst.address, map, at_element.c, bar.address, mask);
}
// Global -> shared on Blackwell: the part from `column` on of four rows of a matrix, whose map has boxes of one row;
// row i of them goes to the i-th line from dst on, swizzled by where that is. A row that the matrix does not have is
// zeros, and its bytes count. _pair: as tma_load_pair.
template <class T>
WW_FN void tma_gather4(Shared<T> dst, const TensorMap* map, Coords<5> column_and_rows, Shared<Mbarrier> bar,
                       here at = {}) {
  record::load(record::Kind::load, dst.address, bar.address, at);
  detail::tma_gather4<1>(dst.address, map, column_and_rows.c, bar.address);
}
template <class T>
WW_FN void tma_gather4_pair(Shared<T> dst, const TensorMap* map, Coords<5> column_and_rows, ClusterShared<Mbarrier> bar,
                            here at = {}) {
  record::load(record::Kind::load, dst.address, bar.address, at);
  detail::tma_gather4<2>(dst.address, map, column_and_rows.c, bar.address);
}
// Shared -> global; completion by bulk groups of the issuing thread.
template <int R, class T>
WW_FN void tma_store(const TensorMap* map, Coords<R> at_element, Shared<T> src, here at = {}) {
  record::event(record::Kind::store, src.address, 0, at);
  detail::tma_store(map, at_element.c, src.address);
}
template <int R, class T>
WW_FN void tma_reduce_add(const TensorMap* map, Coords<R> at_element, Shared<T> src, here at = {}) {
  record::event(record::Kind::store, src.address, 0, at);
  detail::tma_reduce_add(map, at_element.c, src.address);
}
WW_FN void tma_prefetch_map(const TensorMap* map, here = {}) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
template <int R>
WW_FN void tma_prefetch(const TensorMap* map, Coords<R> at_element, here = {}) {  // into L2: no effect on results
  detail::tma_prefetch(map, at_element.c);
}

template <class T>
WW_FN void bulk_load(Shared<T> dst, Global<const T> src, uint32_t bytes, Shared<Mbarrier> bar, here at = {}) {
  record::load(record::Kind::load, dst.address, bar.address, at);
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst.address),
      "l"(__cvta_generic_to_global(pointer_of(src))), "r"(bytes), "r"(bar.address)
      : "memory");
}
template <class T>
WW_FN void bulk_load_multicast(Shared<T> dst, Global<const T> src, uint32_t bytes, Shared<Mbarrier> bar, uint16_t mask,
                               here at = {}) {
  record::load(record::Kind::load_multicast, dst.address, bar.address, at);
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
      "%4;" ::"r"(dst.address),
      "l"(__cvta_generic_to_global(pointer_of(src))), "r"(bytes), "r"(bar.address), "h"(mask)
      : "memory");
}
template <class T>
WW_FN void bulk_store(Global<T> dst, Shared<T> src, uint32_t bytes, here at = {}) {
  record::event(record::Kind::store, src.address, 0, at);
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(pointer_of(dst))),
      "r"(src.address), "r"(bytes)
      : "memory");
}
template <class T>
WW_FN void bulk_copy(ClusterShared<T> dst, Shared<T> src, uint32_t bytes, ClusterShared<Mbarrier> bar, here = {}) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst.address),
      "r"(src.address), "r"(bytes), "r"(bar.address)
      : "memory");
}
WW_FN void bulk_commit(here at = {}) {
  record::event(record::Kind::commit_bulk, 0, 0, at);
  ::cuda::ptx::cp_async_bulk_commit_group();
}
template <int Pending = 0>
WW_FN void bulk_wait(here at = {}) {  // sources read and destinations written
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_bulk, 0, Pending, at);
  ::cuda::ptx::cp_async_bulk_wait_group(::cuda::ptx::n32_t<Pending>{});
}
template <int Pending = 0>
WW_FN void bulk_wait_read(here at = {}) {  // sources may be overwritten
  [[maybe_unused]] const record::Wait wait(record::Kind::wait_bulk, 0, Pending, at);
  ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<Pending>{});
}

// Non-bulk cp.async (sm_80): 16 bytes a thread, `valid_bytes` of them copied, the rest zero.
template <class T>
WW_FN void cp_async_16(Shared<T> dst, Global<const T> src, uint32_t valid_bytes = 16, here = {}) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst.address),
               "l"(__cvta_generic_to_global(pointer_of(src))), "r"(valid_bytes)
               : "memory");
}
// The same for 4 bytes; all of them or none.
template <class T>
WW_FN void cp_async_4(Shared<T> dst, Global<const T> src, bool valid = true, here = {}) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(dst.address),
               "l"(__cvta_generic_to_global(pointer_of(src))), "r"(valid ? 4u : 0u)
               : "memory");
}
// The same for any size of cp.async: 4, 8 or 16 bytes.
template <int Bytes, class T>
WW_FN void cp_async(Shared<T> dst, Global<const T> src, uint32_t valid_bytes, here at = {}) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  if constexpr (Bytes == 16) {
    cp_async_16(dst, src, valid_bytes, at);
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(dst.address),
                 "l"(__cvta_generic_to_global(pointer_of(src))), "n"(Bytes), "r"(valid_bytes)
                 : "memory");
  }
}
WW_FN void cp_async_commit(here = {}) { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending = 0>
WW_FN void cp_async_wait(here = {}) {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}
WW_FN void cp_async_mbarrier_arrive(Shared<Mbarrier> b, here = {}) {  // adds one pending arrival, arrives later
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(b.address) : "memory");
}
WW_FN void cp_async_mbarrier_arrive_noinc(Shared<Mbarrier> b, here = {}) {  // the arrival was counted at init
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(b.address) : "memory");
}

}  // namespace warpwright::inline WW_WORLD::machine

// Loads, stores and atomics through typed addresses. In the simulator each is an event that the race checker sees.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
void load_shared(uint32_t address, void* to, uint32_t bytes, here at);
void store_shared(uint32_t address, const void* from, uint32_t bytes, here at);
void load_cluster(uint32_t address, void* to, uint32_t bytes, here at);
void store_cluster(uint32_t address, const void* from, uint32_t bytes, here at);
void load_global(const void* p, void* to, uint32_t bytes, Order order, Scope scope, here at);
void store_global(void* p, const void* from, uint32_t bytes, Order order, Scope scope, here at);
// Applies `op` (0 add, 1 exchange, 2 compare-and-swap, 3 max) to 4 or 8 bytes; T is 'u' unsigned, 'i' signed, 'f'
// float.
void atomic(void* p, uint32_t shared_address, bool is_shared, char type, uint32_t bytes, int op, const void* value,
            const void* compare, void* old, Order order, Scope scope, here at);
template <class T>
constexpr char type_letter() {
  return stdx::is_floating_point_v<T> ? 'f' : stdx::is_signed_v<T> ? 'i' : 'u';
}
}  // namespace detail

template <class T>
concept Loadable = stdx::is_trivially_copyable_v<T> &&
    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);

template <Loadable T>
stdx::remove_const_t<T> load(Shared<T> p, here at = {}) {
  stdx::remove_const_t<T> v;
  detail::load_shared(p.address, &v, sizeof(T), at);
  return v;
}
template <Loadable T>
void store(Shared<T> p, stdx::type_identity_t<T> v, here at = {}) {
  detail::store_shared(p.address, &v, sizeof(T), at);
}
template <Loadable T>
stdx::remove_const_t<T> load(ClusterShared<T> p, here at = {}) {
  stdx::remove_const_t<T> v;
  detail::load_cluster(p.address, &v, sizeof(T), at);
  return v;
}
template <Loadable T>
void store(ClusterShared<T> p, stdx::type_identity_t<T> v, here at = {}) {
  detail::store_cluster(p.address, &v, sizeof(T), at);
}
template <Loadable T>
stdx::remove_const_t<T> load(Global<T> p, here at = {}) {
  stdx::remove_const_t<T> v;
  detail::load_global(pointer_of(p), &v, sizeof(T), Order::relaxed, Scope::cta, at);
  return v;
}
template <Loadable T>
void store(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {
  detail::store_global(pointer_of(p), &v, sizeof(T), Order::relaxed, Scope::cta, at);
}
template <Loadable T>
T load_acquire(Global<T> p, here at = {}) {  // ld.acquire.gpu
  T v;
  detail::load_global(pointer_of(p), &v, sizeof(T), Order::acquire, Scope::gpu, at);
  return v;
}
template <Loadable T>
void store_release(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {  // st.release.gpu
  detail::store_global(pointer_of(p), &v, sizeof(T), Order::release, Scope::gpu, at);
}

// Scope gpu on global memory, cta on shared memory.
template <Order O = Order::relaxed, class T>
T atomic_add(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {
  T old;
  detail::atomic(pointer_of(p), 0, false, detail::type_letter<T>(), sizeof(T), 0, &v, nullptr, &old, O, Scope::gpu, at);
  return old;
}
template <Order O = Order::relaxed, class T>
T atomic_add(Shared<T> p, stdx::type_identity_t<T> v, here at = {}) {
  T old;
  detail::atomic(nullptr, p.address, true, detail::type_letter<T>(), sizeof(T), 0, &v, nullptr, &old, O, Scope::cta,
                 at);
  return old;
}
template <Order O = Order::relaxed, class T>
T atomic_exchange(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {
  T old;
  detail::atomic(pointer_of(p), 0, false, detail::type_letter<T>(), sizeof(T), 1, &v, nullptr, &old, O, Scope::gpu, at);
  return old;
}
template <Order O = Order::relaxed, class T>
T atomic_compare_swap(Global<T> p, stdx::type_identity_t<T> expected, stdx::type_identity_t<T> v, here at = {}) {
  T old;
  detail::atomic(pointer_of(p), 0, false, detail::type_letter<T>(), sizeof(T), 2, &v, &expected, &old, O, Scope::gpu,
                 at);
  return old;
}
template <class T>
void reduce_add(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {  // red.relaxed.gpu.add
  T old;
  detail::atomic(pointer_of(p), 0, false, detail::type_letter<T>(), sizeof(T), 0, &v, nullptr, &old, Order::relaxed,
                 Scope::gpu, at);
}

// mapa: the same variable in the CTA of that rank.
template <class T>
ClusterShared<T> map_to_rank(Shared<T> p, uint32_t rank) {
  return {(p.address & kSharedOffsetMask) | (rank << kSharedRankShift)};
}
// The even CTA of the pair (cta_group::2), without mapa.
template <class T>
ClusterShared<T> map_to_leader(Shared<T> p) {
  return {p.address & kPairLeaderMask};
}

}  // namespace warpwright::inline WW_WORLD::machine
